package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

func getFrom(s *Server, method, path string) *httptest.ResponseRecorder {
	r := roomtest.LocalRequest(method, path, nil)
	r.Host = "localhost:8263"
	if path == "/" {
		r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8") // as browsers do
	}
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	return w
}

// Programs look at / to learn whether Ollama runs. Browsers get the page there.
func TestRootIsOllamaForProgramsAndThePageForBrowsers(t *testing.T) {
	built := fstest.MapFS{"index.html": {Data: []byte("<title>built</title>")}}
	for _, o := range []Options{{}, {Pages: built}} {
		s := New(services(roomtest.NewBackend()), o)
		for accept, browser := range map[string]bool{
			"": false, "*/*": false, "application/json": false, "text/plain": false,
			"text/html": true, "application/xhtml+xml,Text/HTML;q=0.9,*/*;q=0.8": true,
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r := roomtest.LocalRequest(method, "/", nil)
				r.Host = "localhost"
				if accept != "" {
					r.Header.Set("Accept", accept)
				}
				w := httptest.NewRecorder()
				s.Endpoint().ServeHTTP(w, r)
				kind := "text/plain; charset=utf-8"
				if browser {
					kind = "text/html; charset=utf-8"
				}
				if w.Code != 200 || w.Header().Get("Content-Type") != kind ||
					w.Header().Get("Vary") != "Accept" || !browser && method == http.MethodGet &&
					w.Body.String() != "Ollama is running" {
					t.Errorf("%s / for %q: %d %v %.80s", method, accept, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
}

// No path leads to itself, with a slash at its end or without.
func TestNoRouteRedirects(t *testing.T) {
	built := fstest.MapFS{"index.html": {Data: []byte("built")},
		"assets/x/index.html": {Data: []byte("1")}}
	for _, o := range []Options{{}, {Pages: built}} {
		fake := roomtest.NewBackend()
		fake.OnBench = func(context.Context, func(control.BenchProgress)) (b control.Bench,
			err error) {
			return b, nil
		}
		s := New(services(fake), o)
		paths := []string{"/assets/", "/assets", "/assets/x", "/assets/x/", "/assets//x/",
			"/assets/x/index.html", "/index.html", "/v1", "/v1/", "/api", "/api/"}
		s.routes(s.exchangeCode, func(pattern string, _ map[string]wire.Handler) {
			bare, _, _ := strings.Cut(pattern, "/{")
			paths = append(paths, bare, bare+"/")
		})
		for _, path := range paths {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
				r := roomtest.LocalRequest(method, "/", nil)
				r.URL.Path, r.Host = path, "localhost"
				ctx, cancel := context.WithCancel(r.Context())
				cancel()
				w := httptest.NewRecorder()
				if s.Socket().ServeHTTP(w, r.WithContext(ctx)); w.Code/100 == 3 {
					t.Errorf("%s %s: %d to %s", method, path, w.Code, w.Header().Get("Location"))
				}
			}
		}
	}
}

// The page loads what its policy allows, and nothing else.
func TestPageLoadsOnlyItsOwnFiles(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	page := getFrom(s, http.MethodGet, "/")
	if page.Code != 200 || page.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", page.Code, page.Header())
	}
	policy := map[string]string{}
	for d := range strings.SplitSeq(page.Header().Get("Content-Security-Policy"), "; ") {
		name, value, _ := strings.Cut(d, " ")
		policy[name] = value
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'",
		"connect-src":     "'self'",
		"frame-ancestors": "'none'", "base-uri": "'none'", "form-action": "'none'",
	} {
		if policy[name] != want {
			t.Errorf("%s is %q, want %q", name, policy[name], want)
		}
	}

	html := page.Body.String()
	if regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\son[a-z]+\s*=|\sstyle\s*=|https?://`).MatchString(html) {
		t.Error("the page holds inline code, inline style or a foreign address, which its policy blocks")
	}
	loaded := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(html, -1)
	if len(loaded) != 2 {
		t.Errorf("the page loads %v", loaded)
	}
	for _, l := range loaded {
		w := getFrom(s, http.MethodGet, l[1])
		if w.Code != 200 || w.Body.Len() == 0 ||
			strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %v", l[1], w.Code, w.Header())
		}
	}
	if w := getFrom(s, http.MethodHead, "/"); w.Code != 200 {
		t.Errorf("HEAD /: %d", w.Code)
	}
	if w := getFrom(s, http.MethodGet, "/page/index.html"); w.Code != 404 {
		t.Errorf("/page/index.html: %d", w.Code)
	}
}

// Every control has a label, and every id that the code looks up exists.
func TestPageControlsHaveLabels(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	html, js := getFrom(s, http.MethodGet, "/").Body.String(),
		getFrom(s, http.MethodGet, "/page.js").Body.String()
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		ids[m[1]] = true
	}
	used := regexp.MustCompile(`\$\("([^"]+)"\)`).FindAllStringSubmatch(js, -1)
	if len(used) == 0 {
		t.Error("the code looks nothing up")
	}
	for _, m := range used {
		if !ids[m[1]] {
			t.Errorf("the code looks up %q, which the page does not have", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`<(?:input|textarea)[^>]*\sid="([^"]+)"`).FindAllStringSubmatch(html,
		-1) {
		wrapped := regexp.MustCompile(`<label[^>]*>[^\n]*id="` + m[1] + `"`).MatchString(html)
		if !wrapped && !strings.Contains(html, `for="`+m[1]+`"`) {
			t.Errorf("%s has no label", m[1])
		}
	}
}

// TestPagesReplaceBuiltInPage: an interface that the program was built with replaces the built-in
// page.
func TestPagesReplaceBuiltInPage(t *testing.T) {
	built := fstest.MapFS{
		"index.html":       {Data: []byte("<title>built</title>")},
		"assets/app.js":    {Data: []byte("1")},
		"assets/x/app.css": {Data: []byte("2")},
		"assets/part.html": {Data: []byte("<p>part</p>")},
		"hidden.txt":       {Data: []byte("3")},
	}
	s := New(services(roomtest.NewBackend()), Options{Pages: built})
	for path, want := range map[string]string{"/": "<title>built</title>", "/assets/app.js": "1",
		"/assets/x/app.css": "2", "/assets/part.html": "<p>part</p>"} {
		if w := getFrom(s, http.MethodGet, path); w.Code != 200 || w.Body.String() != want ||
			w.Header().Get("Content-Security-Policy") != pagePolicy {
			t.Errorf("%s: %d %q %v", path, w.Code, w.Body, w.Header())
		}
	}
	for _, path := range []string{"/assets", "/assets/", "/assets/x", "/assets/x/", "/assets/none.js",
		"/assets/../hidden.txt", "/hidden.txt", "/page.js"} {
		if w := getFrom(s, http.MethodGet, path); w.Code != 404 {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	empty := New(services(roomtest.NewBackend()), Options{Pages: fstest.MapFS{"other.html": {}}})
	if w := getFrom(empty, http.MethodGet, "/page.js"); w.Code != 200 {
		t.Errorf("without index.html the built-in page is gone: %d", w.Code)
	}
}
