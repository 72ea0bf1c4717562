package api

import (
	"context"
	"net/http"

	"tandem/app/wire"
)

// CountPrompt returns the number of tokens of a complete conversation's prompt. It is no run,
// because nothing is generated.
func (a *API) CountPrompt(r *http.Request, c *Conversation) (int, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(a.Draining, func() { cancel(wire.ErrStopping) })()
	m, err := a.Acquire(ctx, c.Model, false)
	if err != nil {
		return 0, err
	}
	defer m.Release()
	if err := Generates(m); err != nil {
		return 0, err
	}
	text, err := c.Rendered(ctx, m)
	if err != nil {
		return 0, err
	}
	ids, err := EncodeChat(m, c.PromptParam, text)
	return len(ids), err
}
