package api

import (
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A ReplyFormat is how a route answers: in one piece, or event by event.
type ReplyFormat interface {
	wire.Framing

	IDPrefix() string

	// Whole returns the answer for a reply whose choices have ended.
	Whole(*Reply) any

	// Stream returns Events that write the reply to out while it is generated. A reply without
	// choices has failed, maybe before it had a model. Such Events get no call.
	Stream(rep *Reply, out *wire.EventStream) Events
}

// Events receive a reply while it is generated. The calls for one choice come in order, on its
// goroutine. The goroutines of several choices call at once.
type Events interface {
	// Begin reports that the engine reads the prompt of a choice. It may come several times, or not
	// at all. From here on a failure is an event.
	Begin(c *Choice)

	// Add reports what a token brought: no parts, one, or more. toks holds that token, or is empty
	// if the parts were held back until the end. The choice's answer has the parts already. Both
	// slices are valid until Add returns.
	Add(c *Choice, toks []engine.Token, parts []dialect.Part)

	// End reports that a choice has ended.
	End(c *Choice)

	// Finish comes after the last choice's end. Its last act before the client can know of the end
	// is to release the reply.
	Finish()
}

// A WaitingFormat tells a client that waits for the model, or in the queue, in events of its own. Wait
// is called before there is a model. It sets out.Wait.
type WaitingFormat interface {
	Wait(rep *Reply, out *wire.EventStream)
}

// kept are the Events of a reply in one piece. They keep its tokens.
type kept struct{}

func (kept) Begin(*Choice) {}

func (kept) Add(c *Choice, toks []engine.Token, _ []dialect.Part) {
	c.Tokens = append(c.Tokens, toks...)
}
func (kept) End(*Choice) {}
func (kept) Finish()     {}
