package history

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/storage"
)

// KeepResponse implements responses.Store.
func (h *History) KeepResponse(ctx context.Context, k control.KeptResponse) error {
	return responseError(h.db.Responses.Add(ctx, k))
}

// Response implements responses.Store.
func (h *History) Response(ctx context.Context, owner, id string) (control.KeptResponse, error) {
	r, err := h.db.Responses.Get(ctx, owner, id)
	return r, responseError(err)
}

// ResponseChain implements responses.Store.
func (h *History) ResponseChain(ctx context.Context,
	owner, id string) ([]control.KeptResponse, error) {
	list, err := h.db.Responses.Chain(ctx, owner, id)
	return list, responseError(err)
}

// DeleteResponse implements responses.Store.
func (h *History) DeleteResponse(ctx context.Context, owner, id string) error {
	return responseError(readOnlyError(h.db.Responses.Delete(context.WithoutCancel(ctx), owner, id)))
}

// responseError returns an error of the database as a client is told of it.
func responseError(err error) error {
	e, ok := errors.AsType[*storage.Error](err)
	switch {
	case ok && e.Code == storage.NotFound:
		return control.ErrNoResponse
	case ok && e.Code == storage.Invalid:
		return &control.Error{Code: control.CodeInvalid,
			Message: fmt.Sprintf("The conversation cannot go on: %s; begin a new one.", e.Message),
			Err:     err}
	}
	return err
}
