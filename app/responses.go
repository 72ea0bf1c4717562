package app

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/storage"
)

// KeepResponse implements server.Responses.
func (a *App) KeepResponse(ctx context.Context, k control.KeptResponse) error {
	return responseError(a.db.AddResponse(ctx, storage.Response{ID: k.ID, Owner: k.Owner, Run: k.Run, Previous: k.Previous, Input: k.Input, Output: k.Output, Response: k.Response}))
}

// Response implements server.Responses.
func (a *App) Response(ctx context.Context, owner, id string) (control.KeptResponse, error) {
	r, err := a.db.Response(ctx, owner, id)
	return keptResponse(r), responseError(err)
}

func keptResponse(r storage.Response) control.KeptResponse {
	return control.KeptResponse{ID: r.ID, Owner: r.Owner, Run: r.Run, Previous: r.Previous, Input: r.Input, Output: r.Output, Response: r.Response}
}

// ResponseChain implements server.Responses.
func (a *App) ResponseChain(ctx context.Context, owner, id string) ([]control.KeptResponse, error) {
	rows, err := a.db.ResponseChain(ctx, owner, id)
	list := make([]control.KeptResponse, len(rows))
	for i, r := range rows {
		list[i] = keptResponse(r)
	}
	return list, responseError(err)
}

// DeleteResponse implements server.Responses.
func (a *App) DeleteResponse(ctx context.Context, owner, id string) error {
	return responseError(copiesError(a.db.DeleteResponse(context.WithoutCancel(ctx), owner, id)))
}

// responseError tells the client what the database has not, or refuses.
func responseError(err error) error {
	e, ok := errors.AsType[*storage.Error](err)
	switch {
	case ok && e.Code == storage.NotFound:
		return control.ErrNoResponse
	case ok && e.Code == storage.Invalid:
		return &control.Error{Code: control.CodeInvalid, Message: fmt.Sprintf("The conversation cannot go on: %s; begin a new one.", e.Message), Err: err}
	}
	return err
}

// sweepResponses removes those whose time is over.
func (a *App) sweepResponses(ctx context.Context) {
	n, err := a.db.SweepResponses(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.Warn("sweeping responses", "error", err)
	case n > 0:
		a.log.Info("responses were removed for their age", "responses", n)
	}
}
