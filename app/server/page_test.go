package server

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func getFrom(s *Server, method, path string) *httptest.ResponseRecorder {
	r := localRequest(method, path, nil)
	r.Host = "localhost:8263"
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	return w
}

// The page loads what its policy allows, and nothing else.
func TestPageLoadsOnlyItsOwnFiles(t *testing.T) {
	s := New(newFake().services(), Options{})
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
	if w := getFrom(s, http.MethodGet, "/page/page.html"); w.Code != 404 {
		t.Errorf("/page/page.html: %d", w.Code)
	}
}

// Every control has a label, and every id that the code looks up exists.
func TestPageControlsHaveLabels(t *testing.T) {
	s := New(newFake().services(), Options{})
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
		"hidden.txt":       {Data: []byte("3")},
	}
	s := New(newFake().services(), Options{Pages: built})
	for path, want := range map[string]string{"/": "<title>built</title>", "/assets/app.js": "1",
		"/assets/x/app.css": "2"} {
		if w := getFrom(s, http.MethodGet, path); w.Code != 200 || w.Body.String() != want ||
			w.Header().Get("Content-Security-Policy") != pagePolicy {
			t.Errorf("%s: %d %q %v", path, w.Code, w.Body, w.Header())
		}
	}
	for _, path := range []string{"/assets", "/assets/x", "/assets/none.js",
		"/assets/../hidden.txt", "/hidden.txt", "/page.js"} {
		if w := getFrom(s, http.MethodGet, path); w.Code == 200 {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	empty := New(newFake().services(), Options{Pages: fstest.MapFS{"other.html": {}}})
	if w := getFrom(empty, http.MethodGet, "/page.js"); w.Code != 200 {
		t.Errorf("without index.html the built-in page is gone: %d", w.Code)
	}
}
