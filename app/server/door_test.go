package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDoor(t *testing.T) {
	type h = map[string]string
	for _, c := range []struct {
		method, path, host string
		headers            h
		want               int
	}{
		// Host: the names only this machine has.
		{"GET", "/v1/models", "127.0.0.1:8263", nil, 200},
		{"GET", "/v1/models", "localhost:8263", nil, 200},
		{"GET", "/v1/models", "LOCALHOST.", nil, 200},
		{"GET", "/v1/models", "tandem.localhost", nil, 200},
		{"GET", "/v1/models", "[::1]:8263", nil, 200},
		{"GET", "/v1/models", "127.0.0.1:9999", nil, 200},   // a forwarded port
		{"GET", "/v1/models", "192.168.7.5:8263", nil, 200}, // the address that was reached
		{"GET", "/v1/models", "192.168.7.6:8263", nil, 403},
		{"GET", "/v1/models", "mac.example:8263", nil, 200}, // on the allow list
		{"GET", "/v1/models", "evil.example:8263", nil, 403},
		{"GET", "/v1/models", "localhost.evil.example", nil, 403},
		{"GET", "/v1/models", "127.0.0.1.evil.example", nil, 403},
		{"GET", "/v1/models", "", nil, 403},
		{"GET", "/", "evil.example", nil, 403},
		{"GET", "/health", "evil.example", nil, 403},
		{"GET", "/metrics", "evil.example", nil, 403},
		{"GET", "/nowhere", "evil.example", nil, 403},
		{"GET", "/app/state", "evil.example", nil, 403},

		// Origin: our own page, and the list.
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

		// Sec-Fetch-Site: only our page can be opened from elsewhere.
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "cross-site"}, 403},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "same-origin"}, 200},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "none"}, 200},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"GET", "/", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"GET", "/v1/models", "localhost:8263", h{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"POST", "/v1/completions", "localhost:8263", h{"Sec-Fetch-Site": "cross-site"}, 403},

		// The control routes, also by their other spellings.
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
		s := New(newFake(), Options{Rules: Rules{AllowedHosts: []string{"Mac.example:8263"}, AllowedOrigins: []string{"app://obsidian.md"}}})
		body := ""
		if c.method == http.MethodPost {
			body = `{"model":"tandem","prompt":"x"}`
		}
		r := localRequest(c.method, "/", strings.NewReader(body))
		r.URL.Path, r.Host, r.RemoteAddr = c.path, c.host, "127.0.0.1:50000"
		r.Header.Set("Content-Type", "application/json")
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		local := &net.TCPAddr{IP: net.IPv4(192, 168, 7, 5), Port: 8263}
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local))))
		if w.Code != c.want {
			t.Errorf("%s %s at %q with %v: %d, want %d: %s", c.method, c.path, c.host, c.headers, w.Code, c.want, w.Body)
		}
		if w.Code >= 400 {
			decodeError(t, w)
		}
		header := w.Header()
		if header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, header)
		}
		if allow := header.Get("Access-Control-Allow-Origin"); (allow != "") != (c.headers["Origin"] == "app://obsidian.md" && w.Code < 300) {
			t.Errorf("%s %s with %v: Access-Control-Allow-Origin %q", c.method, c.path, c.headers, allow)
		}
	}
}

// TestControlPeers: a session opens the control routes to this machine only.
func TestControlPeers(t *testing.T) {
	s := New(newFake(), Options{Rules: Rules{Network: true}})
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
		r := localRequest(http.MethodGet, "/app/state", nil)
		r.Host, r.RemoteAddr = "localhost", peer
		r.Header.Set("Authorization", "Bearer "+session)
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", peer, w.Code, want, w.Body)
		}
	}
}
