package server

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

func TestDoorChecksHostAndOrigin(t *testing.T) {
	type h = map[string]string
	for _, c := range []struct {
		method, path, host string
		headers            h
		want               int
	}{
		// Host: names that only this machine has.
		{"GET", "/v1/models", "127.0.0.1:8263", nil, 200},
		{"GET", "/v1/models", "localhost:8263", nil, 200},
		{"GET", "/v1/models", "LOCALHOST.", nil, 200},
		{"GET", "/v1/models", "tandem.localhost", nil, 200},
		{"GET", "/v1/models", "[::1]:8263", nil, 200},
		{"GET", "/v1/models", "127.0.0.1:9999", nil, 200},   // a forwarded port
		{"GET", "/v1/models", "192.168.7.5:8263", nil, 200}, // the address that the client reached
		{"GET", "/v1/models", "192.168.7.6:8263", nil, 403},
		{"GET", "/v1/models", "mac.example:8263", nil, 200}, // on the allow list
		{"GET", "/v1/models", "evil.example:8263", nil, 403},
		{"GET", "/v1/models", "localhost.evil.example", nil, 403},
		{"GET", "/v1/models", "127.0.0.1.evil.example", nil, 403},
		{"GET", "/v1/models", "", nil, 403},
		{"GET", "/v1/models", ".", nil, 403},
		{"GET", "/v1/models", ":8263", nil, 403},
		{"GET", "/v1/models", "[]", nil, 403},
		// A container's names for its host.
		{"GET", "/v1/models", "host.docker.internal:8263", nil, 200},
		{"GET", "/v1/models", "Host.Containers.Internal", nil, 200},
		{"GET", "/v1/models", "gateway.docker.internal.:8263", nil, 200},
		{"GET", "/v1/models", "host.lima.internal", nil, 200},
		{"POST", "/v1/completions", "host.docker.internal:8263", nil, 200},
		{"POST", "/v1/completions", "host.docker.internal:8263", h{"Origin": "http://evil.example"}, 403},
		{"POST", "/v1/completions", "host.docker.internal:8263", h{"Origin": "http://host.docker.internal:8263"}, 403},
		{"GET", "/v1/models", "host.docker.internal:8263", h{"Sec-Fetch-Site": "same-origin"}, 403},
		{"POST", "/v1/completions", "llm.internal:8263", h{"Origin": "http://llm.internal:8263"}, 200}, // on the list
		{"GET", "/v1/models", "llm.internal:8263", h{"Sec-Fetch-Site": "same-origin"}, 200},
		{"GET", "/app/state", "host.docker.internal:8263", nil, 401},
		{"GET", "/v1/models", "internal", nil, 403},
		{"GET", "/v1/models", ".internal", nil, 403},
		{"GET", "/v1/models", ".internal:8263", nil, 403},
		{"GET", "/v1/models", "x..internal", nil, 403},
		{"GET", "/v1/models", ".x.internal", nil, 403},
		{"GET", "/v1/models", "x.internal..", nil, 403},
		{"GET", "/v1/models", "-x.internal", nil, 403},
		{"GET", "/v1/models", "x y.internal", nil, 403},
		{"GET", "/v1/models", "x/y.internal", nil, 403},
		{"GET", "/v1/models", strings.Repeat("x", 64) + ".internal", nil, 403},
		{"GET", "/v1/models", "my_host-2.internal", nil, 200},
		{"GET", "/v1/models", ".localhost", nil, 403},
		{"GET", "/v1/models", "x..localhost", nil, 403},
		{"GET", "/v1/models", "evil-internal", nil, 403},
		{"GET", "/v1/models", "host.docker.internal.evil.example", nil, 403},
		{"GET", "/", "evil.example", nil, 403},
		{"GET", "/health", "evil.example", nil, 403},
		{"GET", "/metrics", "evil.example", nil, 403},
		{"GET", "/nowhere", "evil.example", nil, 403},
		{"GET", "/app/state", "evil.example", nil, 403},

		// Origin: our own page, and the allow list.
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "http://localhost:8263"}, 200},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "http://localhost:3000"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "https://localhost:8263"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "http://evil.example"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "null"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": ""}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Origin": "app://obsidian.md", "Sec-Fetch-Site": "cross-site"}, 200},
		{"OPTIONS", "/v1/completions", "localhost:8263", h{"Origin": "app://obsidian.md"}, 204},
		{"OPTIONS", "/v1/completions", "localhost:8263", h{"Origin": "http://evil.example"}, 403},
		{"GET", "/app/state", "localhost:8263", h{"Origin": "app://obsidian.md"}, 403},
		{"OPTIONS", "/app/state", "localhost:8263", h{"Origin": "app://obsidian.md"}, 403},

		// Sec-Fetch-Site: other sites can open only our page.
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "cross-site"}, 403},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "same-origin"}, 200},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "none"}, 200},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Sec-Fetch-Site": "cross-site"}, 403},

		// The control routes, also in other spellings.
		{"GET", "/app/state/", "localhost:8263", nil, 401},
		{"GET", "//app/state", "localhost:8263", nil, 401},
		{"GET", "/v1/../app/state", "localhost:8263", nil, 401},
		{"GET", "/./app/./state", "localhost:8263", nil, 401},
		{"GET", "/app", "localhost:8263", nil, 401},
		{"GET", "/v1/app/state", "localhost:8263", nil, 404},
		{"GET", "/APP/state", "localhost:8263", nil, 404},
		{"POST", "/app/load", "localhost:8263", h{"Sec-Fetch-Site": "same-site"}, 403},
		{"POST", "/app/session", "localhost:8263", h{"Sec-Fetch-Site": "same-site"}, 403},
	} {
		s := New(services(roomtest.NewBackend()),
			Options{Rules: Rules{AllowedHosts: []string{"Mac.example:8263", "llm.internal", ".", "", ":80"},
				AllowedOrigins: []string{"app://obsidian.md"}}})
		body := ""
		if c.method == http.MethodPost {
			body = `{"model":"tandem","prompt":"x"}`
		}
		r := roomtest.LocalRequest(c.method, "/", strings.NewReader(body))
		r.URL.Path, r.Host, r.RemoteAddr = c.path, c.host, "127.0.0.1:50000"
		r.Header.Set("Content-Type", "application/json")
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		local := &net.TCPAddr{IP: net.IPv4(192, 168, 7, 5), Port: 8263}
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(),
			http.LocalAddrContextKey, net.Addr(local))))
		if w.Code != c.want {
			t.Errorf("%s %s at %q with %v: %d, want %d: %s",
				c.method, c.path, c.host, c.headers, w.Code, c.want, w.Body)
		}
		if w.Code >= 400 {
			roomtest.DecodeError(t, w)
		}
		header := w.Header()
		if header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, header)
		}
		if allow := header.Get("Access-Control-Allow-Origin"); (allow != "") != (c.headers["Origin"] == "app://obsidian.md" &&
			w.Code < 300) {
			t.Errorf("%s %s with %v: Access-Control-Allow-Origin %q",
				c.method, c.path, c.headers, allow)
		}
	}
}

// An allowed page may call every method that the standard routes have.
func TestPreflightAllowsTheMethodsOfTheRoutes(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{Rules: Rules{AllowedOrigins: []string{"app://x"}}})
	r := roomtest.LocalRequest(http.MethodOptions, "/v1/responses/resp_1", nil)
	r.Host = "localhost"
	r.Header.Set("Origin", "app://x")
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	allowed := strings.Split(w.Header().Get("Access-Control-Allow-Methods"), ", ")
	s.routes(s.exchangeCode, func(pattern string, methods map[string]wire.Handler) {
		for method := range methods {
			if isStandard(pattern) && !slices.Contains(allowed, method) {
				t.Errorf("%s of %s is not among %q", method, pattern, allowed)
			}
		}
	})
	if w.Code != http.StatusNoContent || !slices.Contains(allowed, http.MethodDelete) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestControlRoutesNeedLoopbackPeer: a session opens the control routes to this machine only.
func TestControlRoutesNeedLoopbackPeer(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{Rules: Rules{Network: true}})
	code := s.NewCode().Code
	session, ok := s.sessions.exchange(code)
	if !ok {
		t.Fatal("a fresh code buys nothing")
	}
	for peer, want := range map[string]int{
		"127.0.0.1:50000":          200,
		"[::1]:50000":              200,
		"[::ffff:127.0.0.1]:50000": 200,
		"192.168.7.9:50000":        404,
		"[fe80::1%eth0]:50000":     404,
		"@":                        404,
	} {
		r := roomtest.LocalRequest(http.MethodGet, "/app/state", nil)
		r.Host, r.RemoteAddr = "localhost", peer
		r.Header.Set("Authorization", "Bearer "+session)
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", peer, w.Code, want, w.Body)
		}
	}
}

// TestSessionOpensForOwnPageOnly: a session opens the control routes to our own page and to
// programs that have it. It opens nothing to a page of another port, name or site, nor to a browser
// that sends it by itself.
func TestSessionOpensForOwnPageOnly(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	code := s.NewCode().Code
	// ask sends a request with headers, which are given in pairs.
	ask := func(method, path, host, body string, headers ...string) *httptest.ResponseRecorder {
		r := roomtest.LocalRequest(method, path, strings.NewReader(body))
		r.Host, r.RemoteAddr = host, "127.0.0.1:50000"
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if cookies := w.Header().Values("Set-Cookie"); len(cookies) > 0 {
			t.Errorf("%s %s sets the cookies %q", method, path, cookies)
		}
		return w
	}
	const own = "127.0.0.1:8263"
	bought := ask(http.MethodPost, "/app/session", own, `{"code":"`+code+`"}`, "Origin",
		"http://"+own, "Sec-Fetch-Site", "same-origin")
	var session control.Session
	if err := json.Unmarshal(bought.Body.Bytes(), &session); err != nil || session.Session == "" {
		t.Fatalf("%d %s", bought.Code, bought.Body)
	}
	ask(http.MethodGet, "/", own, "")
	bearer := "Bearer " + session.Session
	for _, c := range []struct {
		name, host string
		headers    []string
		want       int
	}{
		{"our page", own, []string{"Authorization", bearer, "Origin", "http://" + own, "Sec-Fetch-Site", "same-origin"}, 200},
		{"a program", own, []string{"Authorization", bearer}, 200},
		{"a program, in small letters", own, []string{"Authorization", "bearer " + session.Session}, 200},
		{"another port", own, []string{"Authorization", bearer, "Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"}, 403},
		{"another name of this machine", own, []string{"Authorization", bearer, "Origin", "http://localhost:8263", "Sec-Fetch-Site", "cross-site"}, 403},
		{"another site", own, []string{"Authorization", bearer, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a page without an origin", own, []string{"Authorization", bearer, "Origin", "null", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a name that leads here", "evil.example:8263", []string{"Authorization", bearer, "Origin", "http://evil.example:8263", "Sec-Fetch-Site", "same-origin"}, 403},
		{"a cookie", own, []string{"Cookie", "tandem-session=" + session.Session + "; session=" + session.Session, "Sec-Fetch-Site", "same-origin"}, 401},
		{"another scheme", own, []string{"Authorization", "Basic " + session.Session}, 401},
		{"a key's header", own, []string{"X-Api-Key", session.Session}, 401},
	} {
		if w := ask(http.MethodGet, "/app/state", c.host, "", c.headers...); w.Code != c.want {
			t.Errorf("%s reads: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
		if w := ask(http.MethodPost, "/app/unload", c.host, "{}", c.headers...); w.Code != c.want {
			t.Errorf("%s changes: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
	if w := ask(http.MethodGet, "/app/state?session="+session.Session, own, ""); w.Code != 401 {
		t.Errorf("an address with it reads: %d", w.Code)
	}
}
