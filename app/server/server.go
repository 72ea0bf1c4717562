package server

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"tandem/app/anthropic"
	"tandem/app/api"
	"tandem/app/llamacpp"
	"tandem/app/ollama"
	"tandem/app/openai"
	"tandem/app/responses"
	"tandem/app/wire"
)

// Options configure a Server. The zero value serves this machine alone.
type Options struct {
	Logger *slog.Logger // nil discards

	// Rules apply until SetRules is called.
	Rules Rules

	// Pages is the interface: index.html and the files under assets. If it is nil or has no
	// index.html, the server answers with the built-in page.
	Pages fs.FS
}

// A Server answers requests by asking its services. It owns no listener: see wire.HTTP. Its methods
// may be called by many goroutines at once.
type Server struct {
	api      *api.API
	services Services
	door     atomic.Pointer[door]
	sessions sessions
	pages    fs.FS
	drain    context.CancelFunc // ends what the Exchange calls draining

	llamaCPP  llamacpp.Routes
	openAI    openai.Routes
	anthropic anthropic.Routes
	responses responses.Routes
	ollama    ollama.Routes
}

// New returns a Server on top of these services.
func New(to Services, o Options) *Server {
	s := &Server{services: to}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	draining, drain := context.WithCancel(context.Background())
	s.drain = drain
	s.SetRules(o.Rules)
	s.pages = pagesOf(o.Pages)
	s.api = api.New(wire.NewExchange(log, draining), api.Services{
		Pool: to.Pool, Runs: to.Runs, Texts: to.Texts, Thoughts: to.Thoughts,
		Models: to.Library, Status: to.Status,
	})
	s.llamaCPP = llamacpp.Routes{API: s.api}
	s.openAI = openai.Routes{API: s.api}
	s.anthropic = anthropic.Routes{API: s.api}
	s.responses = responses.Routes{API: s.api, Kept: to.Responses, Resumed: openai.ChatFormat()}
	s.ollama = ollama.Routes{API: s.api, Residents: to.Residents, Settings: to.Settings}
	return s
}

// Close cancels the requests in flight.
func (s *Server) Close() { s.api.Close() }

// wrap gives every answer an id and the safe headers. It brings the path to one spelling, and
// answers even if a handler panics.
func (s *Server) wrap(mux *http.ServeMux, h wire.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = canonical(mux, r.URL.Path), ""
		header := w.Header()
		wire.SetID(header, r)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		began := &beganWriter{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.api.Log.Error("panic while answering", "path", r.URL.Path, "panic", p, "stack",
					string(debug.Stack()))
				if began.began {
					panic(http.ErrAbortHandler)
				}
				wire.FailureOf(wire.ErrPanic).Write(w, wire.ProtocolOf(r))
			}
		}()
		wire.LimitUnread(w, r)
		if wire.Crowded(r) {
			header.Set("Connection", "close")
			wire.FailureOf(wire.ErrCrowded).Write(began, wire.ProtocolOf(r))
			return
		}
		if err := h(began, r); err != nil {
			s.api.Fail(began, r, err)
		}
	})
}

// A beganWriter records whether a status line was sent.
type beganWriter struct {
	http.ResponseWriter
	began bool
}

func (w *beganWriter) WriteHeader(status int) {
	w.began = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *beganWriter) Write(b []byte) (int, error) {
	w.began = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *beganWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// canonical corrects what base URLs get wrong: a missing /v1, one /v1 too many, and extra slashes.
// The door checks the path that it returns, and the routes match it.
func canonical(mux *http.ServeMux, p string) string {
	p = path.Clean("/" + p)
	if routed(mux, p) {
		return p
	}
	// This removes any number of them, as a client may send a head full of them.
	rest := p
	for strings.HasPrefix(rest, "/v1/") {
		rest = rest[len("/v1"):]
	}
	for _, spelled := range []string{"/v1" + rest, rest} {
		if isStandard(spelled) && routed(mux, spelled) {
			return spelled
		}
	}
	return p
}

// routed reports whether a path has a route of its own.
func routed(mux *http.ServeMux, p string) bool {
	_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: p}})
	return pattern != "/"
}

// Drain ends downloads, and gives unfinished request bodies a moment. Requests in flight continue.
func (s *Server) Drain() { s.drain() }
