package api

import (
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A Form is how a route answers, in one piece or event by event.
type Form interface {
	wire.Framing

	IDPrefix() string

	// whole returns the reply, whose choices have come to their end.
	Whole(*Reply) []byte

	// stream returns what writes the reply to out while it is generated. A reply without
	// choices, and maybe without a model, has failed, and nothing else is told of it.
	Stream(rep *Reply, out *wire.EventStream) Events
}

// Events hears of a reply while it is generated: of each choice in order, on the
// choice's goroutine, of several choices at once.
type Events interface {
	// add tells what a token brought: no parts, one, or more. toks holds the
	// token alone, or none where parts were held back until the end. The
	// choice's answer has the parts already. Both are good until add returns.
	Add(c *Choice, toks []engine.Token, parts []dialect.Part)

	// end tells that a choice has come to its end.
	End(c *Choice)

	// Finish comes after the last choice's end. The last thing it does before
	// the client can know of the end is to release the reply.
	Finish()
}

// kept are the events of a reply in one piece, which needs its tokens.
type kept struct{}

func (kept) Add(c *Choice, toks []engine.Token, _ []dialect.Part) {
	c.Tokens = append(c.Tokens, toks...)
}
func (kept) End(*Choice) {}
func (kept) Finish()     {}
