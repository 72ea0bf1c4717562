package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
)

func (f *fakeBackend) Found(context.Context) (control.Found, error) {
	return control.Found{Models: []control.FoundModel{{ID: "acme/other", Path: "/models/other", Why: "it is too new"}}}, nil
}

func (f *fakeBackend) Catalogue(_ context.Context, ask bool) (control.Catalogue, error) {
	c := control.Catalogue{Class: 16, Models: []control.Suggested{{ID: "acme/more"}}}
	if ask {
		c.Models[0].Bytes = 1000
	}
	return c, nil
}

func (f *fakeBackend) Memory(context.Context) (control.Memory, error) {
	return control.Memory{Total: 16 << 30, Models: []control.ModelNeeds{{ID: "acme/coder", Needs: control.Needs{Bytes: 5, Fits: true}}}}, nil
}

// socketGet asks the control routes.
func socketGet(s *Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Socket().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// TestLibrary: what the page of models asks for, and the hub is asked only when
// that is wanted.
func TestLibrary(t *testing.T) {
	s := New(newFake(), Options{})
	for path, want := range map[string]string{
		"/app/found":                `"why":"it is too new"`,
		"/app/catalogue":            `"id":"acme/more","what":"","from":0}`,
		"/app/catalogue?sizes=true": `"bytes":1000`,
		"/app/memory":               `{"id":"acme/coder","needs":{"bytes":5`,
	} {
		if w := socketGet(s, path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s in it", path, w.Code, w.Body, want)
		}
	}
}
