package server

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"tandem/app/anthropic"
	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/ollama"
	"tandem/app/openai"
	"tandem/app/responses"
	"tandem/app/wire"
)

// Options configure a Server. The zero value is a careful endpoint for this
// machine alone.
type Options struct {
	Logger *slog.Logger // nil discards

	// Rules of the door until SetRules.
	Rules Rules

	// Pages is the interface: index.html and what lies under assets. Where
	// it has no index.html, or is nil, the built-in page is served.
	Pages fs.FS
}

// A Server answers requests by asking its services. It owns no listener: see HTTP. Its
// methods may be called by many goroutines at once.
type Server struct {
	*api.API
	services Services
	door     atomic.Pointer[door]
	sessions sessions
	pages    fs.FS              // nil = the built-in page
	drain    context.CancelFunc // ends what the Exchange calls draining

	openAI    openai.Routes
	anthropic anthropic.Routes
	responses responses.Routes
	ollama    ollama.Routes
}

// New returns a Server that asks these services.
func New(to Services, o Options) *Server {
	s := &Server{services: to}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	draining, drain := context.WithCancel(context.Background())
	s.drain = drain
	s.SetRules(o.Rules)
	if o.Pages != nil {
		if _, err := fs.Stat(o.Pages, "index.html"); err == nil {
			s.pages = o.Pages
		}
	}
	readers := map[string]api.ReadBody{}
	s.API = api.New(wire.NewExchange(log, draining), api.Services{Pool: to.Pool, Runs: to.Runs, Texts: to.Texts, Models: to.Library, Status: to.Status}, readers)
	s.openAI = openai.Routes{API: s.API}
	s.anthropic = anthropic.Routes{API: s.API}
	s.responses = responses.Routes{API: s.API, Kept: to.Responses, Resumed: openai.ChatForm()}
	s.ollama = ollama.Routes{API: s.API, Residents: to.Residents, Settings: to.Settings}
	for _, more := range []map[string]api.ReadBody{openai.Readers(), anthropic.Readers(), s.responses.Readers(), ollama.Readers()} {
		maps.Copy(readers, more)
	}
	return s
}

// Endpoint is the handler for TCP.
func (s *Server) Endpoint() http.Handler {
	mux := s.mux(s.exchangeCode)
	return s.wrap(mux, func(w http.ResponseWriter, r *http.Request) error {
		door := s.door.Load()
		if done, err := door.Check(w, r); done || err != nil {
			return err
		}
		if isControl(r.URL.Path) {
			if err := s.checkControl(r); err != nil {
				return err
			}
			mux.ServeHTTP(w, r)
			return nil
		}
		client, err := s.checkKey(door, r)
		if err != nil {
			return err
		}
		mux.ServeHTTP(w, wire.Called(r, client))
		return nil
	})
}

// Socket is the handler for the Unix socket: the same routes, nothing asked.
func (s *Server) Socket() http.Handler {
	mux := s.mux(s.issueCode)
	return s.wrap(mux, func(w http.ResponseWriter, r *http.Request) error {
		mux.ServeHTTP(w, r)
		return nil
	})
}

// mux serves the routes; session is what POST /app/session does at this door.
func (s *Server) mux(session wire.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	s.routes(session, func(pattern string, methods map[string]wire.Handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			method := r.Method
			if method == http.MethodHead && methods[method] == nil {
				method = http.MethodGet
			}
			h := methods[method]
			if h == nil {
				h = methodNotAllowed(methods)
			}
			if err := h(w, r); err != nil {
				s.Fail(w, r, err)
			}
		})
	})
	return mux
}

// routes lays out all there are.
func (s *Server) routes(session wire.Handler, route wire.AddRoute) {
	get := func(pattern string, h wire.Handler) { route(pattern, map[string]wire.Handler{http.MethodGet: h}) }
	post := func(pattern string, h wire.Handler) { route(pattern, map[string]wire.Handler{http.MethodPost: h}) }

	if s.pages != nil {
		get("/{$}", s.serveFile)
		get("/assets/{file...}", s.serveFile)
	} else {
		get("/{$}", servePage)
		get("/page.js", servePage)
		get("/page.css", servePage)
	}
	get("/health", s.health)
	get("/metrics", s.Scrape)

	s.openAI.AddRoutes(route)
	get("/v1/models", s.ListModels)
	get("/v1/models/{id...}", s.GetModel)
	s.anthropic.AddRoutes(route)
	s.responses.AddRoutes(route)
	s.ollama.AddRoutes(route)
	get(openAPIPath, s.openAPI)

	get("/app/state", s.state)
	post("/app/session", session)
	post("/app/load", call(s, s.load))
	post("/app/unload", call(s, s.unload))
	post("/app/drafter", call(s, s.drafter))
	post("/app/pull", s.pull)
	post("/app/downloads", call(s, s.download))
	post("/app/downloads/pause", call(s, s.pauseDownload))
	post("/app/downloads/drop", call(s, s.dropDownload))
	route("/app/models", map[string]wire.Handler{http.MethodGet: ask(s, s.registry), http.MethodPost: call(s, s.addModel)})
	route("/app/models/{id...}", map[string]wire.Handler{http.MethodDelete: call(s, s.removeModel)})
	get("/app/found", ask(s, s.found))
	get("/app/catalogue", call(s, s.catalogue))
	get("/app/memory", ask(s, s.memory))
	route("/app/model-settings", map[string]wire.Handler{http.MethodGet: call(s, s.modelSettings), http.MethodPost: call(s, s.setModelSettings)})
	get("/app/runs", call(s, s.history))
	get("/app/runs/values", ask(s, s.runValues))
	get("/app/runs/{id}", call(s, s.oneRun))
	get("/app/runs/{id}/report", call(s, s.report))
	post("/app/runs/{id}/cancel", call(s, s.cancel))
	post("/app/runs/{id}/resume", s.Resume)
	post("/app/runs/{id}/verify", s.VerifyRun)
	get("/app/checkpoints", call(s, s.checkpoints))
	get("/app/checkpoint-titles", call(s, s.checkpointTitles))
	route("/app/checkpoints/{name}", map[string]wire.Handler{http.MethodGet: call(s, s.oneCheckpoint), http.MethodPost: call(s, s.changeCheckpoint), http.MethodDelete: call(s, s.deleteCheckpoint)})
	get("/app/checkpoints/{name}/deletion", call(s, s.wouldDelete))
	post("/app/checkpoints/{name}/verify", call(s, s.verifyCheckpoint))
	post("/app/checkpoints/{name}/branch", s.openAI.Branch)
	route("/app/forget", map[string]wire.Handler{http.MethodGet: call(s, s.wouldForget), http.MethodPost: call(s, s.forget)})
	post("/app/welcome", call(s, s.welcome))
	get("/app/storage", ask(s, s.storage))
	get("/app/removal", call(s, s.removal))
	route("/app/benches", map[string]wire.Handler{http.MethodGet: ask(s, s.benches), http.MethodPost: s.runBench})
	post("/app/benches/cancel", call(s, s.cancelBench))
	route("/app/benches/{id}", map[string]wire.Handler{http.MethodDelete: call(s, s.deleteBench)})
	route("/app/keys", map[string]wire.Handler{http.MethodGet: ask(s, s.keys), http.MethodPost: s.addKey})
	route("/app/keys/{id}", map[string]wire.Handler{http.MethodDelete: call(s, s.deleteKey)})
	post("/app/port", call(s, s.port))
	get("/app/log", s.logRoute)
	get("/app/machine", ask(s, s.machine))
	route("/app/report", map[string]wire.Handler{http.MethodGet: ask(s, s.diagnosis), http.MethodPost: ask(s, s.saveReport)})
	route("/app/updates", map[string]wire.Handler{http.MethodGet: ask(s, s.updates), http.MethodPost: ask(s, s.checkUpdates)})
	route("/app/command-line", map[string]wire.Handler{http.MethodGet: ask(s, s.commandLine), http.MethodPost: ask(s, s.linkCommandLine)})
	post("/app/settings/export", ask(s, s.exportSettings))
	route("/app/settings", map[string]wire.Handler{http.MethodGet: ask(s, s.settings), http.MethodPost: s.changeSettings, http.MethodPut: s.changeSettings})
	s.chatRoutes(route)
	get("/app/connect", ask(s, s.connect))
	post("/app/connect/{id}", call(s, s.writeConnection))

	route("/", map[string]wire.Handler{"": nil})
}

// methodNotAllowed answers for a route that exists; the route that has no
// methods stands for all that do not.
func methodNotAllowed(methods map[string]wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for m, h := range methods {
			if h != nil {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			return control.Errorf(wire.CodeNoRoute, "There is no %s here; the routes begin at /v1/models.", wire.Clip(r.URL.Path))
		}
		slices.Sort(allow)
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return control.Errorf(wire.CodeMethod, "%s takes %s, not %s.", wire.Clip(r.URL.Path), strings.Join(allow, " or "), wire.Clip(r.Method))
	}
}

// wrap does what every answer needs: an id, the safe headers, one spelling of
// the path, and an answer even if we panic.
func (s *Server) wrap(mux *http.ServeMux, h wire.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = canonical(mux, r.URL.Path), ""
		header := w.Header()
		header.Set("X-Request-Id", wire.NewID("req_"))
		if wire.ProtocolOf(r) == (wire.Anthropic{}) {
			header.Set("Request-Id", header.Get("X-Request-Id"))
		}
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		began := &beganWriter{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.Log.Error("panic while answering", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
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
			s.Fail(began, r, err)
		}
	})
}

// A beganWriter remembers whether a status line is out.
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

// canonical forgives what base URLs get wrong: a missing /v1 or one too many, and
// slashes too many. What it returns is what the door looks at and what the routes
// match.
func canonical(mux *http.ServeMux, p string) string {
	p = path.Clean("/" + p)
	if routed(mux, p) {
		return p
	}
	// However many there are, as a client may send a head full of them.
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

// routed reports whether there is a route of its own for a path.
func routed(mux *http.ServeMux, p string) bool {
	_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: p}})
	return pattern != "/"
}

// Drain ends downloads, and gives bodies that have not arrived a moment.
// Requests in flight go on.
func (s *Server) Drain() { s.drain() }
