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

	"tandem/app/control"
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
	*API
	services Services
	door     atomic.Pointer[door]
	sessions sessions
	pages    fs.FS              // nil = the built-in page
	drain    context.CancelFunc // ends what the Exchange calls draining

	openAI    openAIRoutes
	anthropic anthropicRoutes
	responses responsesRoutes
	ollama    ollamaRoutes
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
	readers := map[string]readBody{}
	s.API = newAPI(newExchange(log, draining), APIServices{Pool: to.Pool, Runs: to.Runs, Texts: to.Texts, Models: to.Library, Status: to.Status}, readers)
	s.openAI = openAIRoutes{s.API}
	s.anthropic = anthropicRoutes{s.API}
	s.responses = responsesRoutes{s.API, to.Responses, chatForm()}
	s.ollama = ollamaRoutes{s.API, to.Residents, to.Settings}
	for _, more := range []map[string]readBody{openAIReaders(), anthropicReaders(), s.responses.readers(), ollamaReaders()} {
		maps.Copy(readers, more)
	}
	return s
}

// Endpoint is the handler for TCP.
func (s *Server) Endpoint() http.Handler {
	mux := s.mux(s.exchangeCode)
	return s.wrap(mux, func(w http.ResponseWriter, r *http.Request) error {
		door := s.door.Load()
		if done, err := door.check(w, r); done || err != nil {
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
		mux.ServeHTTP(w, called(r, client))
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
func (s *Server) mux(session handler) *http.ServeMux {
	mux := http.NewServeMux()
	s.routes(session, func(pattern string, methods map[string]handler) {
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
				s.fail(w, r, err)
			}
		})
	})
	return mux
}

// routes lays out all there are.
func (s *Server) routes(session handler, route addRoute) {
	get := func(pattern string, h handler) { route(pattern, map[string]handler{http.MethodGet: h}) }
	post := func(pattern string, h handler) { route(pattern, map[string]handler{http.MethodPost: h}) }

	if s.pages != nil {
		get("/{$}", s.serveFile)
		get("/assets/{file...}", s.serveFile)
	} else {
		get("/{$}", servePage)
		get("/page.js", servePage)
		get("/page.css", servePage)
	}
	get("/health", s.health)
	get("/metrics", s.scrape)

	s.openAI.addRoutes(route)
	get("/v1/models", s.listModels)
	get("/v1/models/{id...}", s.getModel)
	s.anthropic.addRoutes(route)
	s.responses.addRoutes(route)
	s.ollama.addRoutes(route)
	get(openAPIPath, s.openAPI)

	get("/app/state", s.state)
	post("/app/session", session)
	post("/app/load", s.load)
	post("/app/unload", s.unload)
	post("/app/drafter", s.drafter)
	post("/app/pull", s.pull)
	post("/app/downloads", s.download)
	post("/app/downloads/pause", s.pauseDownload)
	post("/app/downloads/drop", s.dropDownload)
	route("/app/models", map[string]handler{http.MethodGet: s.registry, http.MethodPost: s.addModel})
	route("/app/models/{id...}", map[string]handler{http.MethodDelete: s.removeModel})
	get("/app/found", s.found)
	get("/app/catalogue", s.catalogue)
	get("/app/memory", s.memory)
	route("/app/model-settings", map[string]handler{http.MethodGet: s.modelSettings, http.MethodPost: s.setModelSettings})
	get("/app/runs", s.history)
	get("/app/runs/values", s.runValues)
	get("/app/runs/{id}", s.oneRun)
	get("/app/runs/{id}/report", s.report)
	post("/app/runs/{id}/cancel", s.cancel)
	post("/app/runs/{id}/resume", s.resume)
	post("/app/runs/{id}/verify", s.verifyRun)
	get("/app/checkpoints", s.checkpoints)
	get("/app/checkpoint-titles", s.checkpointTitles)
	route("/app/checkpoints/{name}", map[string]handler{http.MethodGet: s.oneCheckpoint, http.MethodPost: s.changeCheckpoint, http.MethodDelete: s.deleteCheckpoint})
	get("/app/checkpoints/{name}/deletion", s.wouldDelete)
	post("/app/checkpoints/{name}/verify", s.verifyCheckpoint)
	post("/app/checkpoints/{name}/branch", s.openAI.branch)
	route("/app/forget", map[string]handler{http.MethodGet: s.wouldForget, http.MethodPost: s.forget})
	post("/app/welcome", s.welcome)
	get("/app/storage", s.storage)
	get("/app/removal", s.removal)
	route("/app/benches", map[string]handler{http.MethodGet: s.benches, http.MethodPost: s.runBench})
	post("/app/benches/cancel", s.cancelBench)
	route("/app/benches/{id}", map[string]handler{http.MethodDelete: s.deleteBench})
	route("/app/keys", map[string]handler{http.MethodGet: s.keys, http.MethodPost: s.addKey})
	route("/app/keys/{id}", map[string]handler{http.MethodDelete: s.deleteKey})
	post("/app/port", s.port)
	get("/app/log", s.logRoute)
	get("/app/machine", ask(s, s.services.Machine.Machine))
	route("/app/report", map[string]handler{http.MethodGet: s.diagnosis, http.MethodPost: ask(s, s.services.Help.SaveReport)})
	route("/app/updates", map[string]handler{http.MethodGet: s.updates, http.MethodPost: ask(s, s.services.Help.CheckUpdates)})
	route("/app/command-line", map[string]handler{http.MethodGet: ask(s, s.services.Help.CommandLine), http.MethodPost: ask(s, s.services.Help.LinkCommandLine)})
	post("/app/settings/export", ask(s, s.services.Help.ExportSettings))
	route("/app/settings", map[string]handler{http.MethodGet: s.settings, http.MethodPost: s.changeSettings, http.MethodPut: s.changeSettings})
	s.chatRoutes(route)
	get("/app/connect", s.connect)
	post("/app/connect/{id}", s.writeConnection)

	route("/", map[string]handler{"": nil})
}

// methodNotAllowed answers for a route that exists; the route that has no
// methods stands for all that do not.
func methodNotAllowed(methods map[string]handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for m, h := range methods {
			if h != nil {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			return control.Errorf(codeNoRoute, "There is no %s here; the routes begin at /v1/models.", clip(r.URL.Path))
		}
		slices.Sort(allow)
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return control.Errorf(codeMethod, "%s takes %s, not %s.", clip(r.URL.Path), strings.Join(allow, " or "), clip(r.Method))
	}
}

// wrap does what every answer needs: an id, the safe headers, one spelling of
// the path, and an answer even if we panic.
func (s *Server) wrap(mux *http.ServeMux, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = canonical(mux, r.URL.Path), ""
		header := w.Header()
		header.Set("X-Request-Id", newID("req_"))
		if protocolOf(r) == (anthropic{}) {
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
				s.log.Error("panic while answering", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				if began.began {
					panic(http.ErrAbortHandler)
				}
				failureOf(errPanic).write(w, protocolOf(r))
			}
		}()
		limitUnread(w, r)
		if crowded(r) {
			header.Set("Connection", "close")
			failureOf(errCrowded).write(began, protocolOf(r))
			return
		}
		if err := h(began, r); err != nil {
			s.fail(began, r, err)
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
