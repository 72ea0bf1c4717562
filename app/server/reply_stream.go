package server

import (
	"net/http"
)

// stream answers in events. The client is told of a long wait for the model, too, whose
// failure is an answer of its own until then. equip runs what it is given with all that
// the reply needs.
func (a *API) stream(w http.ResponseWriter, rep *reply, equip func(generate func() error) error) error {
	out := newEventStream(w)
	out.framing = rep.form
	done := make(chan struct{})
	go func() {
		defer close(done)
		var pieces events
		begin := func() {
			rep.id = newID(rep.form.idPrefix())
			pieces = rep.form.stream(rep, out)
		}
		err := a.survive(func() error {
			return equip(func() error {
				begin()
				if err := a.generateAll(rep, pieces); err != nil {
					return err
				}
				pieces.finish()
				return nil
			})
		})
		if pieces == nil { // some forms tell of a failure as that of a reply
			begin()
		}
		out.end(err)
	}()
	began, err := out.serve(rep.run.ctx)
	rep.run.began = began
	if err != nil {
		rep.run.cancel(err)
	}
	<-done
	return err
}
