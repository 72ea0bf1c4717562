package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

const (
	watchEvery = 500 * time.Millisecond // between two looks at the state
	heartbeat  = 15 * time.Second       // of silence until a comment
)

// Status reports the state of the program.
type Status interface {
	api.Status
	// Welcomed records whether the user has finished the first steps.
	Welcomed(ctx context.Context, done bool) error
}

// stateRoutes answer for Status.
type stateRoutes struct {
	Status
	to *controlRoutes
}

func addStatus(to *controlRoutes, of Status) {
	s := stateRoutes{of, to}
	stream(to, control.GetState, s.get)
	handle(to, control.SetWelcome, thenState(to, s.welcome))
}

func (s stateRoutes) get(w http.ResponseWriter, r *http.Request, _ control.None) error {
	if strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		return s.watch(w, r)
	}
	return wire.WriteJSON(w, s.to.state())
}

func (s stateRoutes) welcome(ctx context.Context, q control.WelcomeRequest) error {
	return s.Welcomed(ctx, q.Done)
}

// watch streams the state. The whole state comes at once, and a merge patch with the next rev
// follows each change. The stream ends when the server drains, after the last state.
func (s stateRoutes) watch(w http.ResponseWriter, r *http.Request) error {
	out := wire.NewEventStream(w)
	out.First, out.Next = heartbeat, heartbeat
	ctx := r.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var f feed
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			event, err := f.next(s.to.state())
			if err != nil || event != nil && !out.Send(event) {
				out.End(err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				out.End(nil)
				return
			case <-s.to.api.Draining.Done():
				if event, err = f.next(s.to.state()); event != nil {
					out.Send(event)
				}
				out.End(err)
				return
			}
		}
	}()
	began, err := out.Serve(ctx)
	<-done
	if began {
		return nil // the client left, or has the error
	}
	return err
}

// A feed makes events of states.
type feed struct {
	whole []byte // without rev; nil before the first
	rev   int64
}

// next returns the event for a state, or nil if the state has not changed.
func (f *feed) next(st control.State) ([]byte, error) {
	st.Rev = 0
	whole, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	whole = wire.ClipErrors(whole)
	if f.whole == nil {
		f.whole, f.rev = whole, 1
		st.Rev = f.rev
		first, err := json.Marshal(st)
		return wire.ClipErrors(first), err
	}
	patch, err := control.NewPatch(f.whole, whole)
	if err != nil || patch == nil {
		return nil, err
	}
	f.whole = whole
	f.rev++
	return append(fmt.Appendf(nil, `{"rev":%d,`, f.rev), patch[1:]...), nil
}
