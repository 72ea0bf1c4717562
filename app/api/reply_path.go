package api

import (
	"net/http"

	"tandem/app/wire"
)

// replyWhole writes the answer in one piece.
func (a *API) replyWhole(w http.ResponseWriter, rep *Reply) error {
	defer a.free(rep)
	if err := a.acquireChoices(rep); err != nil {
		return err
	}
	if err := a.runChoices(rep, kept{}); err != nil {
		return err
	}
	rep.ID = wire.NewID(rep.format.IDPrefix())
	whole := wire.Encode(rep.format.Whole(rep))
	rep.Release()
	rep.Run.began = true
	return wire.WriteAnswer(w, whole)
}

// replyInEvents writes the answer in events. A client that waits long for the model gets events
// that say so. Before the first event a failure is an answer of its own.
func (a *API) replyInEvents(w http.ResponseWriter, rep *Reply) error {
	out := wire.NewEventStream(w)
	out.Framing = rep.format
	if f, ok := rep.format.(WaitingFormat); ok {
		rep.ID = wire.NewID(rep.format.IDPrefix())
		f.Wait(rep, out)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.End(a.Survive(func() error { return a.sendEvents(rep, out) }))
	}()
	began, err := out.Serve(rep.Run.Ctx)
	rep.Run.began = began
	if err != nil {
		rep.Run.cancel(err)
	}
	<-done
	return err
}

// sendEvents generates a reply and queues its events. It never waits for the client.
func (a *API) sendEvents(rep *Reply, out *wire.EventStream) error {
	defer a.free(rep)
	err := a.Survive(func() error { return a.acquireChoices(rep) })
	if rep.ID == "" {
		rep.ID = wire.NewID(rep.format.IDPrefix())
	}
	events := rep.format.Stream(rep, out) // after a failure too: some forms send a failed reply
	if err != nil {
		return err
	}
	if err := a.runChoices(rep, events); err != nil {
		return err
	}
	events.Finish()
	return nil
}
