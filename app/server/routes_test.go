package server

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// Other machines need a key for these routes too.
func TestRoutesOfLocalProvidersAreKeyed(t *testing.T) {
	for _, path := range []string{"/props", "/tokenize", "/detokenize", "/completion", "/infill",
		"/api/v0/models", "/api/v0/chat/completions", "/v2/rerank"} {
		if !isStandard(path) || !isShared(path) {
			t.Errorf("%s is not among the routes that need a key", path)
		}
	}
}

// standardRoutes returns the methods of each route that programs call, by its path.
func standardRoutes(s *Server) map[string][]string {
	routes := map[string][]string{}
	s.routes(s.issueCode, func(pattern string, methods map[string]wire.Handler) {
		if !isStandard(pattern) {
			return
		}
		for method := range methods {
			routes[pattern] = append(routes[pattern], method)
		}
	})
	return routes
}

// TestNoWebSocketIs426: a program that asks for a WebSocket where a route has none hears so at once, and
// goes on without. Without that header the method is what is wrong.
func TestNoWebSocketIs426(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for _, c := range []struct {
		path, upgrade string
		status        int
	}{
		{"/v1/responses", "websocket", 426}, {"/responses", "WebSocket", 426}, {"/v1/v1/responses/", "websocket", 426},
		{"/v1/chat/completions", "websocket", 426}, {"/v1/messages", "websocket", 426}, {"/api/chat", "websocket", 426},
		{"/v1/responses", "", 405}, {"/v1/responses", "h2c", 405}, {"/v1/realtime", "websocket", 404},
		{"/v1/models", "websocket", 200},
	} {
		r := roomtest.LocalRequest(http.MethodGet, c.path, nil)
		r.Host = "localhost"
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", c.upgrade)
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Upgrade") != "" {
			t.Errorf("%s, Upgrade %q: %d %v %s", c.path, c.upgrade, w.Code, w.Header(), w.Body)
		}
		if c.status == 426 && !strings.Contains(w.Body.String(), "has no WebSocket; send POST") {
			t.Errorf("%s: %s", c.path, w.Body)
		}
	}
}

// TestOllamasChangesOfModelsNameTheCommands: a program that would change the models hears which
// commands do.
func TestOllamasChangesOfModelsNameTheCommands(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for path, method := range map[string]string{"/api/delete": "DELETE", "/api/push": "POST",
		"/api/create": "POST", "/api/copy": "POST"} {
		r := roomtest.LocalRequest(method, path, strings.NewReader(`{"model":"tandem"}`))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if text := roomtest.DecodeOllama(t, w); w.Code != 404 || !strings.Contains(text, "There is no "+path) ||
			!strings.Contains(text, "`tandem pull ORG/NAME`") || !strings.Contains(text, "`tandem rm NAME`") {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
}

// Each route is found with /v1 and without, with one /v1 too many, and with extra slashes.
func TestBaseURLSpellingsFindTheirRoute(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for pattern := range standardRoutes(s) {
		p := strings.ReplaceAll(pattern, "{id...}", "acme/coder")
		for _, spelled := range []string{p, p + "/", p + "//", "/" + p,
			strings.TrimPrefix(p, "/v1"), strings.TrimPrefix(p, "/v1") + "/", "/v1" + p, "/v1/v1" +
				p, "/./v1/../" + p} {
			w := roomtest.Send(s.Endpoint(), "WIBBLE", spelled)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
				t.Errorf("%s: %d %s", spelled, w.Code, w.Body)
			}
		}
	}
	for _, p := range []string{"/v1", "/v1/", "/v1/wibble", strings.Repeat("/v1", 20_000) +
		"/wibble", "/wibble/completions", "/chat", "/api", "/v1/app/state", "/v1/v1/app/state",
		"/v1/health"} {
		if w := roomtest.Get(s.Endpoint(), p); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", p, w.Code, w.Body)
		}
	}
}

// However its address is spelled, a request is answered and counts for one route, in the history and
// among the figures.
func TestBaseURLSpellingsCountForOneRoute(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	for route, body := range map[string]string{
		"/v1/completions":      `{"model":"tandem","prompt":"x"}`,
		"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
	} {
		short := strings.TrimPrefix(route, "/v1")
		spellings := []string{route, route + "/", short, short + "/", "/" + short, "/v1" + route}
		for _, spelled := range spellings {
			if w := roomtest.Post(s.Endpoint(), spelled, body); w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", spelled, w.Code, w.Body)
			}
			if r := fake.LastRun(); r.Endpoint != route {
				t.Errorf("%s: the history has a run of %s", spelled, r.Endpoint)
			}
		}
		line := fmt.Sprintf("tandem_requests_total{code=\"200\",endpoint=%q} %d\n", route,
			len(spellings))
		if w := roomtest.Get(s.Endpoint(), "/metrics"); !strings.Contains(w.Body.String(), line) {
			t.Errorf("the figures lack %s", line)
		}
	}
}

// Claude Code sends this request first.
func TestHeadOfPageNeedsNoKey(t *testing.T) {
	srv := httptest.NewServer(New(services(roomtest.NewBackend()),
		Options{Rules: Rules{RequireKey: true}}).Endpoint())
	defer srv.Close()
	resp, err := http.Head(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s", resp.Status)
	}
}

// The server has each route of the table in package control, and no other control route.
func TestServerHasControlRoutesOfTheTable(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../control/routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]string{"get": http.MethodGet, "post": http.MethodPost, "put": http.MethodPut,
		"remove": http.MethodDelete}
	table := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			path, err := strconv.Unquote(lit.Elts[1].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			table[methods[lit.Elts[0].(*ast.Ident).Name]+" "+path] = true
		}
		return true
	})
	if len(table) < 70 {
		t.Errorf("the table has %d routes", len(table))
	}
	s := New(services(roomtest.NewBackend()), Options{})
	s.routes(s.issueCode, func(pattern string, methods map[string]wire.Handler) {
		if !isControl(pattern) {
			return
		}
		for method := range methods {
			if route := method + " " + pattern; !table[route] {
				t.Errorf("%s is not in the table", route)
			} else {
				delete(table, route)
			}
		}
	})
	for route := range table {
		t.Errorf("%s has no handler", route)
	}
}
