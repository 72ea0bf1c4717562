package server

import (
	"context"
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
	out := newHeartbeatStream(w)
	return s.to.api.Stream(r, out, func(ctx context.Context) error {
		var f feed
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			event, err := f.next(s.to.state())
			if err != nil || event != nil && !out.Send(event) || ctx.Err() != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// newHeartbeatStream returns a stream that is silent for long.
func newHeartbeatStream(w http.ResponseWriter) *wire.EventStream {
	out := wire.NewEventStream(w)
	out.First, out.Next = heartbeat, heartbeat
	return out
}

// A feed makes events of states.
type feed struct {
	whole []byte // without rev; nil before the first
	rev   int64
}

// next returns the event for a state, or nil if the state has not changed.
func (f *feed) next(st control.State) ([]byte, error) {
	st.Rev = 0
	whole := wire.ClipErrors(wire.Encode(st))
	if f.whole == nil {
		f.whole, f.rev = whole, 1
		st.Rev = f.rev
		return wire.ClipErrors(wire.Encode(st)), nil
	}
	patch, err := control.NewPatch(f.whole, whole)
	if err != nil || patch == nil {
		return nil, err
	}
	f.whole = whole
	f.rev++
	return append(fmt.Appendf(nil, `{"rev":%d,`, f.rev), patch[1:]...), nil
}
