package api

import (
	"net/http"
	"tandem/app/wire"
)

// stream answers in events. The client is told of a long wait for the model, too, whose
// failure is an answer of its own until then. equip runs what it is given with all that
// the reply needs.
func (a *API) stream(w http.ResponseWriter, rep *Reply, equip func(generate func() error) error) error {
	out := wire.NewEventStream(w)
	out.Framing = rep.form
	done := make(chan struct{})
	go func() {
		defer close(done)
		var pieces Events
		begin := func() {
			rep.Id = wire.NewID(rep.form.IDPrefix())
			pieces = rep.form.Stream(rep, out)
		}
		err := a.Survive(func() error {
			return equip(func() error {
				begin()
				if err := a.generateAll(rep, pieces); err != nil {
					return err
				}
				pieces.Finish()
				return nil
			})
		})
		if pieces == nil { // some forms tell of a failure as that of a reply
			begin()
		}
		out.End(err)
	}()
	began, err := out.Serve(rep.Run.Ctx)
	rep.Run.began = began
	if err != nil {
		rep.Run.cancel(err)
	}
	<-done
	return err
}
