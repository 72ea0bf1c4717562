package server

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// An everyRoute is a route with one of its methods.
type everyRoute struct {
	method, path string
}

// reads reports whether the route takes a body.
func (e everyRoute) reads() bool {
	return e.method == http.MethodPost || e.method == http.MethodPut
}

// guarded is a server whose routes the tests call one by one.
type guarded struct {
	*Server
	fake    *roomtest.Backend
	session string
}

// places matches the wildcards of a route's pattern.
var places = regexp.MustCompile(`\{[^}]+\}`)

// everywhere calls f for each method of each route, with a new server each time. It does so with
// the built-in page and with an interface. The server has a key, and everything that the paths
// name.
func everywhere(t *testing.T, rules Rules, f func(t *testing.T, g guarded, e everyRoute)) {
	t.Helper()
	built := fstest.MapFS{"index.html": {Data: []byte("built")}, "assets/1": {Data: []byte("1")}}
	seen := map[everyRoute]bool{}
	for _, o := range []Options{{Rules: rules}, {Rules: rules, Pages: built}} {
		fresh := func() guarded {
			g := guarded{fake: roomtest.NewBackend()}
			g.fake.Keyed, g.fake.OnDisk.ID = true, "1"
			g.fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/completions", EndedAt: time.Now()}}
			g.fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: g.fake.Model.Name,
				Request: json.RawMessage(`{"model":"tandem","prompt":"x"}`),
				Replay:  json.RawMessage("{}")}}
			g.fake.OnBench = func(context.Context, func(control.BenchProgress)) (b control.Bench,
				err error) {
				return b, nil
			}
			g.Server = New(services(g.fake), o)
			session, ok := g.sessions.exchange(g.NewCode().Code)
			if !ok {
				t.Fatal("a fresh code buys nothing")
			}
			g.session = session
			return g
		}
		g := fresh()
		g.routes(g.exchangeCode, func(pattern string, methods map[string]wire.Handler) {
			path := places.ReplaceAllString(strings.TrimSuffix(pattern, "{$}"), "1")
			for method, h := range methods {
				if h == nil { // if there is no route
					method = http.MethodGet
				}
				if e := (everyRoute{method, path}); !seen[e] {
					seen[e] = true
					f(t, fresh(), e)
				}
			}
		})
	}
	if len(seen) < 60 {
		t.Errorf("%d routes were asked for", len(seen))
	}
}

// Request returns a request for a route as a program on this machine sends it, with a session if
// the route needs one.
func (g guarded) Request(e everyRoute) *http.Request {
	body := ""
	if e.reads() {
		body = "{}"
	}
	r := roomtest.LocalRequest(e.method, e.path, strings.NewReader(body))
	r.Host = "localhost:8263"
	r.Header.Set("Content-Type", "application/json")
	if isControl(e.path) {
		r.Header.Set("Authorization", "Bearer "+g.session)
	}
	reached := &net.TCPAddr{IP: net.IPv4(192, 168, 7, 5), Port: 8263}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
		net.Addr(reached)))
}

// ask sends a request over TCP.
func (g guarded) ask(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	g.Endpoint().ServeHTTP(w, r)
	h := w.Header()
	if h.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
		h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: headers %v", r.Method, r.URL.Path, h)
	}
	if w.Code == http.StatusInternalServerError {
		t.Errorf("%s %s: %d %s", r.Method, r.URL.Path, w.Code, w.Body)
	}
	return w
}

// refused checks that a request was refused and did nothing.
func (g guarded) refused(t *testing.T, why string, r *http.Request, want int) {
	t.Helper()
	if w := g.ask(t, r); w.Code != want || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s: %s %s: %d, want %d: %.200s", why, r.Method, r.URL.Path, w.Code, want, w.Body)
	}
	if len(g.fake.Rows) > 1 && want != http.StatusUnsupportedMediaType &&
		want != http.StatusBadRequest && want != http.StatusRequestEntityTooLarge {
		t.Errorf("%s: %s %s: it has a run", why, r.Method, r.URL.Path)
	}
}

// The same requests as in the tests below are answered if nothing is wrong with them.
func TestEveryRouteAnswersGoodRequest(t *testing.T) {
	everywhere(t, Rules{}, func(t *testing.T, g guarded, e everyRoute) {
		r := g.Request(e)
		if r.URL.Path == "/metrics" {
			r.Header.Set("Authorization", "Bearer "+roomtest.Key)
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		w := g.ask(t, r.WithContext(ctx))
		if slices.Contains([]int{401, 403, 405, 413, 415}, w.Code) && e.path != "/app/session" {
			t.Errorf("%s %s: %d %.200s", e.method, e.path, w.Code, w.Body)
		}
	})
}

// A page whose name points to this machine only after it was loaded reaches nothing. It does not
// learn which routes exist.
func TestEveryRouteRefusesForeignHost(t *testing.T) {
	everywhere(t, Rules{AllowedHosts: []string{"mac.example"}},
		func(t *testing.T, g guarded, e everyRoute) {
			for _, host := range []string{"evil.example:8263", "mac.example.evil.example",
				"192.168.7.6:8263", "localhost:8263@evil.example", "0.0.0.0:8263", ""} {
				for _, method := range []string{e.method, http.MethodHead, http.MethodOptions} {
					r := g.Request(everyRoute{method, e.path})
					r.Host = host
					g.refused(t, "as "+host, r, http.StatusForbidden)
				}
			}
		})
}

// TestEveryRouteRefusesForeignPages: no page of another origin reaches a route, with or without a
// preflight. A link from elsewhere opens our page and nothing else.
func TestEveryRouteRefusesForeignPages(t *testing.T) {
	everywhere(t, Rules{AllowedOrigins: []string{"app://obsidian.md"}},
		func(t *testing.T, g guarded, e everyRoute) {
			for _, origin := range []string{"http://evil.example", "null", "", "http://localhost:3000",
				"https://localhost:8263", "app://obsidian.md.evil.example", "APP://obsidian.md"} {
				for _, method := range []string{e.method, http.MethodOptions} {
					r := g.Request(everyRoute{method, e.path})
					r.Header["Origin"] = []string{origin}
					r.Header.Set("Access-Control-Request-Method", e.method)
					g.refused(t, "from "+origin, r, http.StatusForbidden)
				}
			}
			two := g.Request(e)
			two.Header["Origin"] = []string{"app://obsidian.md", "http://evil.example"}
			g.refused(t, "from two origins", two, http.StatusForbidden)

			crossing := g.Request(e)
			crossing.Header.Set("Sec-Fetch-Site", "cross-site")
			g.refused(t, "across sites", crossing, http.StatusForbidden)
			link := g.Request(e)
			for k, v := range map[string]string{"Sec-Fetch-Site": "cross-site",
				"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"} {
				link.Header.Set(k, v)
			}
			if page := e.path == "/" && e.method == http.MethodGet; !page {
				g.refused(t, "by a link", link, http.StatusForbidden)
			}
			// The control routes are closed to programs in a browser.
			if isControl(e.path) {
				r := g.Request(e)
				r.Header.Set("Origin", "app://obsidian.md")
				g.refused(t, "from an origin on the list", r, http.StatusForbidden)
				if e.method != http.MethodGet {
					r = g.Request(e)
					r.Header.Set("Sec-Fetch-Site", "same-site")
					g.refused(t, "from another port of this machine", r, http.StatusForbidden)
				}
			}
		})
}

// Neither a key nor the code that bought a session opens a control route.
func TestEveryControlRouteNeedsASession(t *testing.T) {
	everywhere(t, Rules{Network: true}, func(t *testing.T, g guarded, e everyRoute) {
		if !isControl(e.path) || e.path == "/app/session" {
			return
		}
		for _, shown := range []string{"", "Bearer ", "Bearer x", "Bearer " + roomtest.Key, "Bearer " +
			g.NewCode().Code, "Basic " + g.session, g.session, "Bearer" + g.session} {
			r := g.Request(e)
			r.Header.Set("Authorization", shown)
			g.refused(t, "with "+shown, r, http.StatusUnauthorized)
		}
		r := g.Request(e)
		r.Header.Del("Authorization")
		r.Header.Set("X-Api-Key", g.session)
		r.Header.Set("Cookie", "session="+g.session)
		r.URL.RawQuery = "session=" + g.session
		g.refused(t, "with a session elsewhere", r, http.StatusUnauthorized)
	})
}

// TestOtherMachinesReachOnlyKeyedRoutes: other machines reach the routes that programs call, with a
// key and where the settings allow it. They learn nothing about the rest.
func TestOtherMachinesReachOnlyKeyedRoutes(t *testing.T) {
	for _, network := range []bool{false, true} {
		everywhere(t, Rules{Network: network}, func(t *testing.T, g guarded, e everyRoute) {
			for _, peer := range []string{"192.168.7.9:50000", "[fe80::1%eth0]:50000",
				"[::ffff:192.168.7.9]:50000", "8.8.8.8:50000", "@", ""} {
				for _, shown := range []string{"", roomtest.Key, g.session} {
					r := g.Request(e)
					r.RemoteAddr = peer
					r.Header.Set("Authorization", "Bearer "+shown)
					for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
						r.Header.Set(name, "127.0.0.1")
					}
					switch {
					case !network:
						g.refused(t, "from "+peer, r, http.StatusForbidden)
					case !isShared(e.path):
						g.refused(t, "from "+peer, r, http.StatusNotFound)
					case shown != roomtest.Key:
						g.refused(t, "from "+peer, r, http.StatusUnauthorized)
					}
				}
			}
		})
	}
}

// If the settings require a key, this machine needs one too.
func TestEveryStandardRouteAsksForTheKey(t *testing.T) {
	everywhere(t, Rules{RequireKey: true}, func(t *testing.T, g guarded, e everyRoute) {
		if !isStandard(e.path) && e.path != "/metrics" {
			return
		}
		for _, shown := range []string{"", "anything", roomtest.Key + "x", roomtest.Key[:len(roomtest.Key)-1],
			strings.ToUpper(roomtest.Key)} {
			r := g.Request(e)
			r.Header.Set("Authorization", "Bearer "+shown)
			g.refused(t, "with the key "+shown, r, http.StatusUnauthorized)
		}
	})
}

// TestEveryBodyMustBeSmallJSON: a body that any page's form can write without a preflight is
// refused. So is a body that takes too much to read.
func TestEveryBodyMustBeSmallJSON(t *testing.T) {
	everywhere(t, Rules{}, func(t *testing.T, g guarded, e everyRoute) {
		if !e.reads() {
			return
		}
		for _, ct := range []string{"text/plain", "text/plain;charset=UTF-8",
			"multipart/form-data; boundary=x",
			"application/jsonp", "application/+json", "application/json; charset=utf-16"} {
			r := g.Request(e)
			r.Header.Set("Content-Type", ct)
			g.refused(t, "a body of type "+ct, r, http.StatusUnsupportedMediaType)
		}
		packed := g.Request(e)
		packed.Header.Set("Content-Encoding", "br")
		g.refused(t, "a packed body of another kind", packed, http.StatusUnsupportedMediaType)
		packed = g.Request(e)
		packed.Header.Set("Content-Encoding", "gzip")
		g.refused(t, "a body that is not packed", packed, http.StatusBadRequest)

		for why, body := range map[string]string{
			"lists in lists": `{"x":` + strings.Repeat("[", 1_000_000) +
				strings.Repeat("]", 1_000_000) + `}`,
			"objects in objects": strings.Repeat(`{"x":`, 100_000) + "1" +
				strings.Repeat("}", 100_000),
			"an open list":   `{"x":` + strings.Repeat("[", 1_000_000),
			"twice the same": `{"model":"tandem","model":"tandem"}`,
			"no JSON":        `{"model":"tandem`,
			"a list":         `[]`,
		} {
			r := roomtest.Request(e.path, body)
			r.Method, r.Header["Authorization"] = e.method, g.Request(e).Header["Authorization"]
			g.refused(t, why, r, http.StatusBadRequest)
		}
		large := g.Request(e)
		large.ContentLength = wire.MaxBody + 1
		g.refused(t, "a large body", large, http.StatusRequestEntityTooLarge)
	})
}

// TestEveryBodyWithoutATypeIsJSON: programs leave Content-Type out, curl declares a form by itself,
// and aiohttp declares octets.
func TestEveryBodyWithoutATypeIsJSON(t *testing.T) {
	everywhere(t, Rules{}, func(t *testing.T, g guarded, e everyRoute) {
		if !e.reads() {
			return
		}
		for _, ct := range [][]string{nil, {""}, {"application/x-www-form-urlencoded"},
			{"application/octet-stream"}, {"text/json"}, {"application/vnd.api+json"}} {
			ctx, cancel := context.WithCancel(t.Context())
			declared, silent := g.Request(e).WithContext(ctx), g.Request(e).WithContext(ctx)
			silent.Header["Content-Type"] = ct
			want, got := g.ask(t, declared), g.ask(t, silent)
			if cancel(); got.Code != want.Code {
				t.Errorf("%s %s with the type %q: %d, want %d: %.200s",
					e.method, e.path, ct, got.Code, want.Code, got.Body)
			}
		}
	})
}

// TestEveryRouteRefusesPagesOfAnyType: what a page sends without a preflight names its origin or
// its site, whatever the type of its body. No route works for it.
func TestEveryRouteRefusesPagesOfAnyType(t *testing.T) {
	everywhere(t, Rules{}, func(t *testing.T, g guarded, e everyRoute) {
		if !e.reads() {
			return
		}
		for _, ct := range [][]string{nil, {""}, {"text/plain;charset=UTF-8"},
			{"application/x-www-form-urlencoded"}, {"multipart/form-data; boundary=x"},
			{"application/octet-stream"}, {"application/json"}, {"text/json"},
			{"application/problem+json"}} {
			for name, values := range map[string][]string{
				"Origin":         {"http://evil.example", "null", "http://localhost:3000"},
				"Sec-Fetch-Site": {"cross-site", "same-site"},
			} {
				for _, value := range values {
					r := g.Request(e)
					r.Header["Content-Type"] = ct
					r.Header.Set(name, value)
					g.refused(t, name+" "+value, r, http.StatusForbidden)
				}
			}
		}
	})
}

// TestEveryNameInAPathIsLookedUpOnly: a name in a path is known or unknown. It never leads to
// another place.
func TestEveryNameInAPathIsLookedUpOnly(t *testing.T) {
	names := []string{
		"..", "../..", "../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e",
		`..\..`, "C:", "~", "$HOME", "a/../../b",
		"\x00", "a\nb", "\xff", "-1", "0", "99999999999999999999", "1e3", "1'--", "%", "*", "?",
		"con", strings.Repeat("x", 8000),
	}
	for _, o := range []Options{{}, {Pages: fstest.MapFS{"index.html": {Data: []byte("built")},
		"treasure.txt": {Data: []byte("treasure")}}}} {
		fake := roomtest.NewBackend()
		fake.OnBench = func(context.Context, func(control.BenchProgress)) (b control.Bench,
			err error) {
			return b, nil
		}
		s := New(services(fake), o)
		session, _ := s.sessions.exchange(s.NewCode().Code)
		s.routes(s.exchangeCode, func(pattern string, methods map[string]wire.Handler) {
			if !places.MatchString(pattern) || strings.HasSuffix(pattern, "{$}") {
				return
			}
			for method := range methods {
				for _, name := range names {
					r := roomtest.Request("/", "{}")
					r.Method, r.URL.Path = method, places.ReplaceAllLiteralString(pattern, name)
					r.Header.Set("Authorization", "Bearer "+session)
					w := httptest.NewRecorder()
					s.Endpoint().ServeHTTP(w, r)
					// A name with .. leads to another route.
					if w.Code == 500 || w.Code < 400 && !strings.Contains(name, "..") ||
						strings.Contains(w.Body.String(), "treasure") {
						t.Errorf("%s %s of %.40q: %d %.200s", method, pattern, name, w.Code, w.Body)
					}
				}
			}
		})
		if len(fake.Unloaded) != 0 || len(fake.Downloads) != 0 || fake.Own != (control.ModelSettings{}) {
			t.Errorf("something was done: %+v", fake)
		}
	}
}
