package api_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/engine"
	"tandem/engine/enginetest"
)

// A departure is a client that leaves while its request is in a given phase.
type departure struct {
	t     *testing.T
	phase string
	alike int // continuations that are in the phase at the same time
	leave context.CancelFunc

	there atomic.Int32 // continuations that reached the phase
	gone  atomic.Bool
	after atomic.Int32 // pieces of work that began after the client had left
}

// reach makes the client leave once all continuations are in the phase. It then waits until the
// server knows.
func (d *departure) reach(ctx context.Context) {
	if d.there.Add(1) == int32(d.alike) {
		d.leave()
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		d.t.Errorf("%s: the server does not see that the client left", d.phase)
	}
	d.gone.Store(true)
}

// begin counts the start of a forward pass or of the making of a grammar.
func (d *departure) begin() {
	if d.gone.Load() {
		d.after.Add(1)
	}
}

func (d *departure) model(m model.Model, run func() context.Context) model.Model {
	return worker{
		Model: m,
		generate: func(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				defer r.Done(engine.Stats{})
				for n := 0; ctx.Err() == nil; n++ { // as the engine does before each round
					d.begin()
					if d.phase == "prompt" && n == 0 || d.phase == "decode" && n == 3 {
						d.reach(ctx)
						continue
					}
					if !yield(engine.Token{ID: 'x', Text: "x"}, nil) {
						return
					}
				}
				yield(engine.Token{}, ctx.Err())
			}
		},
		read: func(ctx context.Context, r engine.EncodeRequest) error {
			if ctx.Err() == nil {
				d.begin()
				d.reach(ctx)
			}
			return ctx.Err()
		},
		match: func() {
			if d.begin(); d.phase == "grammar" && !d.gone.Load() {
				d.reach(run())
			}
		},
	}
}

// After a client has left, no more work begins for its request, in whatever phase that is. Nothing
// of the request stays.
func TestNothingBeginsAfterClientLeft(t *testing.T) {
	leaves := func(a asking, phase, more string, alike int, stream bool) {
		t.Run(fmt.Sprintf("%s, %s, %s, stream %t", a.path, phase, more, stream),
			func(t *testing.T) {
				fake := roomtest.NewBackendOf(a.kind)
				fake.Model.Context = 4096
				d := &departure{t: t, phase: phase, alike: alike}
				var s *roomtest.Served
				run := func() context.Context {
					for _, u := range s.API.InFlight() {
						return u.Ctx
					}
					return nil
				}
				s = serve(fake.Lend(func(ctx context.Context) (model.Model, error) {
					if phase == "load" {
						d.reach(ctx) // then it goes on, for the next one
					}
					m, err := fake.Acquire(context.Background(), control.Alias)
					return d.model(m, run), err
				}))
				srv := httptest.NewServer(s)
				defer srv.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				d.leave = cancel
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+a.path,
					strings.NewReader(a.with(more, stream)))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				resp, err := srv.Client().Do(r)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil {
					t.Errorf("it was answered: %s", resp.Status)
				}
				if end := fake.LastRun(); end.FinishReason != "cancel" || end.Error != "" {
					t.Errorf("the history has %+v", end)
				}
				enginetest.Await(t, "nothing is in flight", func() bool { return len(s.API.Active()) == 0 })
				srv.Close() // the handlers have ended
				if n := d.there.Load(); n != int32(alike) {
					t.Errorf("%d continuations reached the phase, want %d", n, alike)
				}
				if n := d.after.Load(); n != 0 {
					t.Errorf("%d pieces of work began after the client had left", n)
				}
				if fake.Held != 0 || fake.Model.OpenMatchers != 0 || s.API.BytesTaken() != 0 {
					t.Errorf("%d models are held, %d grammars open, %d places taken",
						fake.Held, fake.Model.OpenMatchers, s.API.BytesTaken())
				}
			})
	}
	for _, a := range askings {
		for _, stream := range a.streams() {
			leaves(a, "load", "", 1, stream)
			if a.kind != "" {
				leaves(a, "read", "", 1, stream)
				continue
			}
			alike := max(1, strings.Count(a.body, `"x","y","z"`)*3)
			for _, phase := range []string{"prompt", "decode"} {
				leaves(a, phase, "", alike, stream)
				if a.several != "" {
					leaves(a, phase, a.several, 3, stream)
				}
			}
			if a.formed != "" {
				leaves(a, "grammar", a.formed, 1, stream)
				if a.several != "" {
					leaves(a, "grammar", a.formed+","+a.several, 1, stream)
				}
			}
		}
	}
}
