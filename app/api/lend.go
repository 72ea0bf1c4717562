package api

import (
	"context"
	"net/http"

	"tandem/app/model"
	"tandem/app/wire"
)

// Lend lends use the model of that name, or the alias, for a request that is no run: nothing is
// generated. held is the reservation of its body. ctx ends with the request, and when the server
// drains.
func (a *API) Lend(r *http.Request, held *wire.Reservation, name string,
	use func(ctx context.Context, m model.Model) error) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(a.Draining, func() { cancel(wire.ErrStopping) })()
	m, err := a.Acquire(ctx, name, false)
	if err != nil {
		return err
	}
	defer m.Release()
	return a.inTurn(ctx, held, func() error { return use(ctx, m) })
}

// inTurn calls use in the turn of a body. The turn ends even if use panics, so that others get theirs.
func (a *API) inTurn(ctx context.Context, held *wire.Reservation, use func() error) error {
	end, err := a.WaitTurn(ctx, held)
	if err != nil {
		return err
	}
	defer end()
	return use()
}

// CountPrompt returns the tokens of a complete conversation's prompt, as a request with the same limits
// reads it.
func (a *API) CountPrompt(r *http.Request, held *wire.Reservation, c *Conversation) (n int, err error) {
	if err := a.checkTools(r.Context(), &c.Tools); err != nil {
		return 0, err
	}
	err = a.Lend(r, held, c.Model, func(ctx context.Context, m model.Model) error {
		if err := Generates(m); err != nil {
			return err
		}
		c.thoughts = a.thoughtsOf(new(wire.CallerID(r.Context())))
		_, ids, err := c.encoded(ctx, m)
		n = len(ids)
		return err
	})
	return n, err
}
