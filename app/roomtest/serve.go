package roomtest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// Served are a vendor's routes on top of a Backend. Nothing refuses a request before they get it.
type Served struct {
	API    *api.API
	Routes map[string][]string // methods by pattern, of the routes that were added

	backend *Backend
	mux     *http.ServeMux
	drain   context.CancelFunc
}

// Serve serves the routes that add adds, together with the routes by which a run is resumed and
// computed again.
func (f *Backend) Serve(add func(*api.API, wire.AddRoute)) *Served {
	draining, drain := context.WithCancel(context.Background())
	s := &Served{backend: f, Routes: map[string][]string{}, mux: http.NewServeMux(),
		drain: drain}
	log := cmp.Or(f.Logger, slog.New(slog.DiscardHandler))
	s.API = api.New(wire.NewExchange(log, draining), f.To)
	route := wire.AddRoute(func(pattern string, methods map[string]wire.Handler) {
		for method, h := range methods {
			s.Routes[pattern] = append(s.Routes[pattern], method)
			s.mux.HandleFunc(method+" "+pattern, func(w http.ResponseWriter, r *http.Request) {
				if err := h(w, r); err != nil {
					s.API.Fail(w, r, err)
				}
			})
		}
	})
	add(s.API, route)
	route.Post("/app/runs/{id}/resume", s.API.Resume)
	route.Post("/app/runs/{id}/verify", s.API.VerifyRun)
	return s
}

// ServeHTTP answers in the name of the key that the request shows, with an id.
func (s *Served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wire.SetID(w.Header(), r)
	if key, ok := s.backend.FindKey(strings.TrimPrefix(r.Header.Get("Authorization"),
		"Bearer ")); ok {
		r = wire.Called(r, key)
	}
	s.mux.ServeHTTP(w, r)
}

// Close cancels the requests in flight.
func (s *Served) Close() { s.API.Close() }

// Drain ends what waits for a model, as the end of the program does.
func (s *Served) Drain() { s.drain() }
