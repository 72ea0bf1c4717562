package server

import (
	"tandem/app/dialect"
	"tandem/engine"
)

// A form is how a route answers, in one piece or event by event.
type form interface {
	framing

	idPrefix() string

	// whole returns the reply, whose choices have come to their end.
	whole(*reply) []byte

	// stream returns what writes the reply to out while it is generated. A reply without
	// choices, and maybe without a model, has failed, and nothing else is told of it.
	stream(rep *reply, out *eventStream) events
}

// events hears of a reply while it is generated: of each choice in order, on the
// choice's goroutine, of several choices at once.
type events interface {
	// add tells what a token brought: no parts, one, or more. toks holds the
	// token alone, or none where parts were held back until the end. The
	// choice's answer has the parts already. Both are good until add returns.
	add(c *choice, toks []engine.Token, parts []dialect.Part)

	// end tells that a choice has come to its end.
	end(c *choice)

	// finish comes behind the last choice's end. The last thing it does before
	// the client can know of the end is to release the reply.
	finish()
}

// kept are the events of a reply in one piece, which needs its tokens.
type kept struct{}

func (kept) add(c *choice, toks []engine.Token, _ []dialect.Part) { c.toks = append(c.toks, toks...) }
func (kept) end(*choice)                                          {}
func (kept) finish()                                              {}
