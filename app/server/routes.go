package server

import (
	"net/http"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

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
		mux.ServeHTTP(w, wire.Called(r, client))
		return nil
	})
}

// Socket is the handler for the Unix socket. It has the same routes, and asks for no session or
// key.
func (s *Server) Socket() http.Handler {
	mux := s.mux(s.issueCode)
	return s.wrap(mux, func(w http.ResponseWriter, r *http.Request) error {
		mux.ServeHTTP(w, r)
		return nil
	})
}

// mux serves the routes. session handles POST /app/session at this door.
func (s *Server) mux(session wire.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	s.routes(session, func(pattern string, methods map[string]wire.Handler) {
		refuse := methodNotAllowed(methods)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			method := r.Method
			if method == http.MethodHead && methods[method] == nil {
				method = http.MethodGet
			}
			h := methods[method]
			if h == nil {
				h = refuse
			}
			if err := h(w, r); err != nil {
				s.api.Fail(w, r, err)
			}
		})
	})
	return mux
}

// routes adds every route.
func (s *Server) routes(session wire.Handler, route wire.AddRoute) {
	get := route.Get
	if s.pages != nil {
		get("/{$}", root(s.serveFile))
		get("/assets", s.serveFile) // otherwise the mux redirects to the path with a slash
		get("/assets/{file...}", s.serveFile)
	} else {
		get("/{$}", root(servePage))
		get("/page.js", servePage)
		get("/page.css", servePage)
	}
	get("/health", s.health)
	get("/metrics", s.api.Scrape)

	s.openAI.AddRoutes(route)
	s.llamaCPP.AddRoutes(route)
	get("/v1/models", s.ListModels)
	get("/v1/models/{id...}", s.GetModel)
	s.anthropic.AddRoutes(route)
	s.responses.AddRoutes(route)
	s.ollama.AddRoutes(route)
	get(openAPIPath, s.openAPI)

	s.controlRoutes(session, route)
}

// controlRoutes adds the routes of the menu, the window and the command line. session handles POST
// /app/session.
func (s *Server) controlRoutes(session wire.Handler, route wire.AddRoute) {
	get, post := route.Get, route.Post

	get("/app/state", s.state)
	post("/app/session", session)
	post("/app/load", call(s, s.load))
	post("/app/unload", call(s, s.unload))
	post("/app/drafter", call(s, s.drafter))
	post("/app/pull", s.pull)
	post("/app/downloads", call(s, s.download))
	post("/app/downloads/pause", call(s, s.pauseDownload))
	post("/app/downloads/drop", call(s, s.dropDownload))
	route("/app/models", map[string]wire.Handler{http.MethodGet: ask(s, s.registry),
		http.MethodPost: call(s, s.addModel)})
	route("/app/models/{id...}", map[string]wire.Handler{http.MethodDelete: call(s, s.removeModel)})
	get("/app/found", ask(s, s.found))
	get("/app/catalogue", call(s, s.catalogue))
	get("/app/memory", ask(s, s.memory))
	route("/app/model-settings", map[string]wire.Handler{http.MethodGet: call(s, s.modelSettings),
		http.MethodPost: call(s, s.setModelSettings)})
	get("/app/runs", call(s, s.history))
	get("/app/runs/values", ask(s, s.runValues))
	get("/app/activity", call(s, s.activity))
	get("/app/insights", ask(s, s.insights))
	get("/app/runs/{id}", call(s, s.oneRun))
	get("/app/runs/{id}/report", call(s, s.report))
	post("/app/runs/{id}/cancel", call(s, s.cancel))
	post("/app/runs/{id}/resume", s.api.Resume)
	post("/app/runs/{id}/verify", s.api.VerifyRun)
	get("/app/checkpoints", call(s, s.checkpoints))
	get("/app/checkpoint-titles", call(s, s.checkpointTitles))
	route("/app/checkpoints/{name}", map[string]wire.Handler{
		http.MethodGet:    call(s, s.oneCheckpoint),
		http.MethodPost:   call(s, s.changeCheckpoint),
		http.MethodDelete: call(s, s.deleteCheckpoint),
	})
	get("/app/checkpoints/{name}/deletion", call(s, s.wouldDelete))
	post("/app/checkpoints/{name}/verify", call(s, s.verifyCheckpoint))
	post("/app/checkpoints/{name}/branch", s.openAI.Branch)
	route("/app/forget", map[string]wire.Handler{http.MethodGet: call(s, s.wouldForget),
		http.MethodPost: call(s, s.forget)})
	post("/app/welcome", call(s, s.welcome))
	get("/app/storage", ask(s, s.storage))
	get("/app/removal", call(s, s.removal))
	post("/app/reveal", call(s, s.reveal))
	route("/app/benches", map[string]wire.Handler{http.MethodGet: ask(s, s.benches),
		http.MethodPost: s.runBench})
	post("/app/benches/cancel", call(s, s.cancelBench))
	route("/app/benches/{id}", map[string]wire.Handler{http.MethodDelete: call(s, s.deleteBench)})
	route("/app/keys", map[string]wire.Handler{http.MethodGet: ask(s, s.keys),
		http.MethodPost: s.addKey})
	route("/app/keys/{id}", map[string]wire.Handler{http.MethodDelete: call(s, s.deleteKey)})
	route("/app/texts/{id}", map[string]wire.Handler{http.MethodDelete: call(s, s.forgetTexts)})
	post("/app/port", call(s, s.port))
	get("/app/log", s.logRoute)
	get("/app/machine", ask(s, s.machine))
	route("/app/report", map[string]wire.Handler{http.MethodGet: ask(s, s.diagnosis),
		http.MethodPost: ask(s, s.saveReport)})
	route("/app/updates", map[string]wire.Handler{http.MethodGet: ask(s, s.updates),
		http.MethodPost: ask(s, s.checkUpdates)})
	route("/app/command-line", map[string]wire.Handler{http.MethodGet: ask(s, s.commandLine),
		http.MethodPost: ask(s, s.linkCommandLine)})
	post("/app/settings/export", ask(s, s.exportSettings))
	route("/app/settings", map[string]wire.Handler{http.MethodGet: ask(s, s.settings),
		http.MethodPost: s.changeSettings, http.MethodPut: s.changeSettings})
	s.chatRoutes(route)
	get("/app/connect", ask(s, s.connect))
	post("/app/connect/{id}", call(s, s.writeConnection))

	route("/", map[string]wire.Handler{"": nil})
}

// methodNotAllowed answers with CodeMethod for other methods of a route. The route without methods
// matches all other paths, and gets CodeNoRoute.
func methodNotAllowed(methods map[string]wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for m, h := range methods {
			if h != nil {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 {
			return control.Errorf(wire.CodeNoRoute,
				"There is no %s here; the routes begin at /v1/models.", wire.Clip(r.URL.Path))
		}
		slices.Sort(allow)
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return control.Errorf(wire.CodeMethod, "%s takes %s, not %s.", wire.Clip(r.URL.Path),
			strings.Join(allow, " or "), wire.Clip(r.Method))
	}
}
