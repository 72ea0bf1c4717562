package server

import (
	"net/http"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/ollama"
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
		refuse := methodNotAllowed(mux, methods)
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
	get("/{$}", root(s.serveFile))
	get("/assets", s.serveFile) // otherwise the mux redirects to the path with a slash
	get("/assets/{file...}", s.serveFile)
	get("/page.js", s.serveFile) // of the built-in page, and so is the next
	get("/page.css", s.serveFile)
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

	for pattern, methods := range s.controlRoutes(session).patterns {
		route(pattern, methods)
	}
	route("/", map[string]wire.Handler{"": nil})
}

// controlRoutes returns the routes of the menu, the window and the command line. session handles
// POST /app/session.
func (s *Server) controlRoutes(session wire.Handler) *controlRoutes {
	to := &controlRoutes{s.api, s.State, map[string]map[string]wire.Handler{}}
	raw(to, control.IssueCode, session)
	raw(to, control.ResumeRun, s.api.Resume)
	raw(to, control.VerifyRun, s.api.VerifyRun)
	raw(to, control.BranchCheckpoint, s.openAI.Branch)
	of := s.services
	mount(to, of.Status, addStatus)
	mount(to, of.Residents, addResidents)
	mount(to, of.Library, addLibrary)
	mount(to, of.Runs, addHistory)
	mount(to, of.Checkpoints, addCheckpoints)
	mount(to, of.Chats, addChats)
	mount(to, of.Benches, addBenches)
	mount(to, of.Settings, func(to *controlRoutes, of Settings) { addSettings(to, of, s.NewCode) })
	mount(to, of.Keys, addKeys)
	mount(to, of.Connections, addConnections)
	mount(to, of.Machine, addMachine)
	mount(to, of.Help, addHelp)
	return to
}

// methodNotAllowed answers with CodeMethod for other methods of a route. The route without methods
// matches all other paths, and gets CodeNoRoute.
func methodNotAllowed(mux *http.ServeMux, methods map[string]wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for m, h := range methods {
			if h != nil {
				allow = append(allow, m)
			}
		}
		if slices.Contains(ollama.Unserved, r.URL.Path) {
			return control.Errorf(wire.CodeNoRoute,
				"There is no %s here: programs cannot change the models.", wire.Clip(r.URL.Path)).
				Advise(control.ToChangeModels)
		}
		if len(allow) == 0 {
			for _, folder := range []string{"/v1/", "/api/"} { // a base URL with another one before it
				i := strings.LastIndex(r.URL.Path, folder)
				if i > 0 && routed(mux, canonical(mux, r.URL.Path[i:])) {
					return control.Errorf(wire.CodeNoRoute, "There is no %s here; send it to %s.",
						wire.Clip(r.URL.Path), wire.Clip(r.URL.Path[i:]))
				}
			}
			return noRoute(r.URL.Path)
		}
		slices.Sort(allow)
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") { // programs then do without
			return control.Errorf(wire.CodeUpgrade, "%s has no WebSocket; send %s.",
				wire.Clip(r.URL.Path), strings.Join(allow, " or "))
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return control.Errorf(wire.CodeMethod, "%s takes %s, not %s.", wire.Clip(r.URL.Path),
			strings.Join(allow, " or "), wire.Clip(r.Method))
	}
}

// noRoute refuses a path that has no route.
func noRoute(path string) error {
	return control.Errorf(wire.CodeNoRoute, "There is no %s here; GET %s lists the routes.", wire.Clip(path),
		control.Word(openAPIPath))
}
