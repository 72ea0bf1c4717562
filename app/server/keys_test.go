package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// A key opens the standard routes for a client that needs one. It never opens the control routes.
func TestKeyDoorOpensStandardRoutesOnly(t *testing.T) {
	const local, other = "127.0.0.1:50000", "192.168.7.9:50000"
	var (
		alone    = Rules{}
		network  = Rules{Network: true}
		required = Rules{RequireKey: true}
	)
	type h = map[string]string
	bearer := h{"Authorization": "Bearer " + roomtest.Key}
	for _, c := range []struct {
		name    string
		rules   Rules
		keyed   bool // there is a key
		peer    string
		path    string
		headers h
		want    int
	}{
		{"no key is needed here", alone, false, local, "/v1/models", nil, 200},
		{"nor where there are some", network, true, local, "/v1/models", nil, 200},
		{"whatever an editor sends will do", alone, true, local, "/v1/models", h{"Authorization": "Bearer anything"}, 200},
		{"a key does no harm", alone, true, local, "/v1/models", bearer, 200},

		{"elsewhere, off", alone, true, other, "/v1/models", nil, 403},
		{"elsewhere, off, with a key", alone, true, other, "/v1/models", bearer, 403},
		{"elsewhere, without a key", network, true, other, "/v1/models", nil, 401},
		{"elsewhere, with another", network, true, other, "/v1/models", h{"Authorization": "Bearer " + roomtest.Key + "x"}, 401},
		{"elsewhere, with none left", network, false, other, "/v1/models", bearer, 401},
		{"elsewhere, with a key", network, true, other, "/v1/models", bearer, 200},
		{"elsewhere, with a key as Anthropic's clients send it", network, true, other, "/v1/models", h{"X-Api-Key": roomtest.Key}, 200},
		{"elsewhere, with a key as some editors send it", network, true, other, "/v1/models", h{"Api-Key": roomtest.Key}, 200},
		{"elsewhere, in small letters", network, true, other, "/v1/models", h{"Authorization": "bearer " + roomtest.Key}, 200},
		{"elsewhere, in capitals", network, true, other, "/v1/models", h{"Authorization": "BEARER  " + roomtest.Key}, 200},
		{"elsewhere, without a scheme", network, true, other, "/v1/models", h{"Authorization": roomtest.Key}, 200},
		{"elsewhere, beside a placeholder", network, true, other, "/v1/messages/count_tokens", h{"Authorization": "Bearer anything", "X-Api-Key": roomtest.Key}, 405},
		{"elsewhere, before a placeholder", network, true, other, "/v1/models", h{"Authorization": "Bearer " + roomtest.Key, "X-Api-Key": "anything"}, 200},
		{"elsewhere, beside two placeholders", network, true, other, "/api/tags", h{"Authorization": "Basic eDp5", "X-Api-Key": "x", "Api-Key": roomtest.Key}, 200},
		{"elsewhere, with three placeholders", network, true, other, "/v1/models", h{"Authorization": "bearer x", "X-Api-Key": "y", "Api-Key": "z"}, 401},
		{"elsewhere, the description of the routes", network, true, other, "/openapi.json", nil, 401},
		{"elsewhere, the description with a key", network, true, other, "/openapi.json", bearer, 200},
		{"elsewhere, Ollama's routes", network, true, other, "/api/tags", nil, 401},
		{"elsewhere, Ollama's routes with a key", network, true, other, "/api/tags", bearer, 200},
		{"elsewhere, another spelling", network, true, other, "//models", nil, 401},
		{"elsewhere, health", network, true, other, "/health", nil, 401},
		{"elsewhere, health with a key", network, true, other, "/health", bearer, 200},
		{"elsewhere, the page", network, true, other, "/", bearer, 404},
		{"elsewhere, a file of it", network, true, other, "/page.js", bearer, 404},
		{"elsewhere, the state", network, true, other, "/app/state", bearer, 404},
		{"elsewhere, a session", network, true, other, "/app/session", bearer, 404},
		{"elsewhere, the state in disguise", network, true, other, "/v1/../app/state", bearer, 404},
		{"a peer without an address", network, true, "@", "/v1/models", nil, 401},

		{"a key is asked for here", required, true, local, "/v1/models", nil, 401},
		{"and given", required, true, local, "/v1/models", bearer, 200},
		{"and given beside a placeholder", required, true, local, "/v1/models", h{"Authorization": "Bearer x", "X-Api-Key": roomtest.Key}, 200},
		{"the page stays", required, true, local, "/", nil, 200},
		{"health stays", required, true, local, "/health", nil, 200},

		{"figures without keys", alone, false, local, "/metrics", nil, 200},
		{"figures with a key required", alone, true, local, "/metrics", nil, 401},
		{"figures with the key", alone, true, local, "/metrics", bearer, 200},
		{"figures elsewhere", network, true, other, "/metrics", nil, 401},
		{"figures elsewhere with the key", network, true, other, "/metrics", bearer, 200},

		{"a key is no session", alone, true, local, "/app/state", bearer, 401},
	} {
		fake := roomtest.NewBackend()
		fake.Keyed = c.keyed
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.Host, r.RemoteAddr = c.path, "192.168.7.5:8263", c.peer
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		reached := &net.TCPAddr{IP: net.IPv4(192, 168, 7, 5), Port: 8263}
		w := httptest.NewRecorder()
		New(services(fake), Options{Rules: c.rules}).Endpoint().ServeHTTP(w,
			r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
				net.Addr(reached))))
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
		switch {
		case w.Code < 400:
		case strings.HasPrefix(c.path, "/api/"):
			roomtest.DecodeOllama(t, w)
		default:
			roomtest.DecodeError(t, w)
		}
	}
}

// The page needs no key, also if programs do.
func TestSessionReplacesKey(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.Keyed = true
	s := New(services(fake), Options{Rules: Rules{RequireKey: true, Network: true}})
	session, _ := s.sessions.exchange(s.NewCode().Code)
	for peer, want := range map[string]int{"127.0.0.1:50000": 200, "192.168.7.9:50000": 401} {
		for _, scheme := range []string{"Bearer ", "bearer "} {
			r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
			r.Host, r.RemoteAddr = "localhost", peer
			r.Header.Set("Authorization", scheme+session)
			w := httptest.NewRecorder()
			s.Endpoint().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s: %d, want %d: %s", peer, w.Code, want, w.Body)
			}
		}
	}
}

// A run has the name of the key in its request. Neither the history nor the log has the key.
func TestKeyNamesClient(t *testing.T) {
	for key, want := range map[string]string{roomtest.Key: "zed", "anything": "curl/8.0"} {
		fake := roomtest.NewBackend()
		fake.Keyed = true
		var log strings.Builder
		s := New(services(fake), Options{Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug}))})
		r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
			strings.NewReader(`{"model":"tandem","prompt":"x"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "curl/8.0")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		if run := fake.LastRun(); w.Code != 200 || run.Client != want {
			t.Errorf("%s: %d, the client is %q, want %q", key, w.Code, run.Client, want)
		}
		if strings.Contains(log.String(), key) {
			t.Errorf("the log has the key: %s", &log)
		}
	}
}

// The header is preferred to the User-Agent, because the page's own requests have a User-Agent too.
// No name breaks a table.
func TestClientHeaderBeatsUserAgent(t *testing.T) {
	for header, want := range map[string]string{"Tandem": "Tandem", "": "Mozilla/5.0 (X11)",
		"a\tb\xff": "ab", "\x1b[2Jred\u009b31m": "[2Jred31m", "ab\u202edc": "abdc",
		strings.Repeat("x", 1000): strings.Repeat("x", 80) + "..."} {
		fake := roomtest.NewBackend()
		r := roomtest.LocalRequest(http.MethodPost, "/v1/completions",
			strings.NewReader(`{"model":"tandem","prompt":"x"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11)")
		r.Header.Set(wire.ClientHeader, header)
		w := httptest.NewRecorder()
		New(services(fake), Options{}).Endpoint().ServeHTTP(w, r)
		if run := fake.LastRun(); w.Code != 200 || run.Client != want {
			t.Errorf("%q: %d, the client is %q, want %q", header, w.Code, run.Client, want)
		}
	}
	fake := roomtest.NewBackend()
	if w := roomtest.Post(New(services(fake), Options{}).Endpoint(), "/v1/completions",
		`{"model":"\u001b[2Jred\u009b31m\u202e","prompt":"x"}`); w.Code != 404 ||
		fake.LastRun().Model != "[2Jred31m" {
		t.Errorf("%d, the model is %q", w.Code, fake.LastRun().Model)
	}
}

// New rules apply from the next request on.
func TestNewRulesApplyFromNextRequest(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	ask := func(host string) int {
		r := roomtest.LocalRequest(http.MethodGet, "/v1/models", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.Endpoint().ServeHTTP(w, r)
		return w.Code
	}
	if got := ask("mac.example"); got != 403 {
		t.Errorf("before: %d", got)
	}
	s.SetRules(Rules{AllowedHosts: []string{"mac.example"}})
	if got := ask("mac.example"); got != 200 {
		t.Errorf("after: %d", got)
	}
}

// Only the answer that makes a key has its secret.
func TestKeySecretIsShownOnce(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	ask := func(method, path, body string) (int, string) {
		r := roomtest.LocalRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/app/keys", "", 200, `{"keys":[]}`},
		{"POST", "/app/keys", `{"name":"zed"}`, 200, `"secret":"` + roomtest.Key + `"`},
		{"GET", "/app/keys", "", 200, `"name":"zed"`},
		{"POST", "/app/keys", `{"name":5}`, 400, "name must be a string"},
		{"DELETE", "/app/texts/7", "", 200, `"tokens":7`},
		{"DELETE", "/app/texts/none", "", 200, `"tokens":0`},
		{"DELETE", "/app/texts/0", "", 404, string(control.CodeKeyNotFound)},
		{"DELETE", "/app/texts/x", "", 404, string(control.CodeKeyNotFound)},
		{"DELETE", "/app/keys/7", "", 404, string(control.CodeKeyNotFound)},
		{"DELETE", "/app/keys/x", "", 404, string(control.CodeKeyNotFound)},
		{"DELETE", "/app/keys/1", "", 200, "{}"},
		{"POST", "/app/port", `{"port":80}`, 409, string(control.CodePortTaken)},
		{"POST", "/app/port", `{"port":0}`, 400, "port must be between 1 and 65535"},
		{"POST", "/app/port", `{}`, 200, `"phase":"ready"`},
	} {
		status, body := ask(c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
		if c.method == "GET" && strings.Contains(body, roomtest.Key) {
			t.Errorf("a later answer has the secret: %s", body)
		}
	}
}

// A key counts in either header. If no key is required, any value will do.
func TestMessageKeyCountsInEitherHeader(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		for _, c := range []struct {
			name, value string
			status      int
		}{
			{"X-Api-Key", roomtest.Key, 200}, {"Authorization", "Bearer " + roomtest.Key, 200}, {"X-Api-Key", "sk-no", 401}, {"Authorization", "Bearer sk-no", 401}, {"Anthropic-Beta", "x", 401},
		} {
			fake := roomtest.Speaking("ok")
			fake.Keyed = true
			for _, rules := range []Rules{{RequireKey: true}, {}} {
				r := roomtest.Request(path+"?beta=true", roomtest.MessageBody(`"top_k":1`))
				r.Header.Set(c.name, c.value)
				r.Header.Set("Anthropic-Version", "2023-06-01")
				r.Header.Set("Anthropic-Beta", "a,b")
				w := httptest.NewRecorder()
				New(services(fake), Options{Rules: rules}).Endpoint().ServeHTTP(w, r)
				if want := map[bool]int{true: c.status,
					false: 200}[rules.RequireKey]; w.Code != want {
					t.Errorf("%s with %s %s: %d %s", path, c.name, c.value, w.Code, w.Body)
				}
			}
		}
	}
}
