package server

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

// pageFiles is the built-in page. It calls only /v1, so it needs no session. With a session it
// shows the state as well.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load its own two files and call its own endpoint.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var pageTypes = map[string]string{
	"/":         "text/html; charset=utf-8",
	"/page.js":  "text/javascript; charset=utf-8",
	"/page.css": "text/css; charset=utf-8",
}

// root serves the page to browsers, which ask for HTML. Programs of Ollama's API ask whether Ollama
// is running.
func root(page wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", "Accept")
		if strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/html") {
			return page(w, r)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = wire.WriteWhole(w, http.StatusOK, []byte("Ollama is running")) // the client left
		return nil
	}
}

// serveFile serves the interface that the program was built with.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	b, err := fs.ReadFile(s.pages, name)
	if err != nil {
		return control.Errorf(wire.CodeNoRoute, "There is no %s here.", wire.Clip(r.URL.Path))
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	_ = wire.Patiently(w, func() error { // the client left
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b)) // never redirects
		return nil
	})
	return nil
}

func servePage(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Path
	if name == "/" {
		name = "/page.html"
	}
	b, err := pageFiles.ReadFile("page" + name)
	if err != nil {
		return &control.Error{Code: control.CodeInternal,
			Message: "The page is missing from this program.", Err: err}
	}
	h := w.Header()
	h.Set("Content-Type", pageTypes[r.URL.Path])
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	_ = wire.WriteWhole(w, http.StatusOK, b) // the client left
	return nil
}
