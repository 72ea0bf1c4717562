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

// pageFiles are the built-in page. It calls only /v1, so it needs no session. With a session it shows
// the state as well.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets a page load its own files and call its own endpoint.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pagesOf returns the interface, or the built-in page in place of one without index.html.
func pagesOf(files fs.FS) fs.FS {
	if files != nil {
		if _, err := fs.Stat(files, "index.html"); err == nil {
			return files
		}
	}
	page, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is in our source
	}
	return page
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

// serveFile serves a file of the interface.
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
