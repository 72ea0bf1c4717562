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
	return control.Found{Models: []control.FoundModel{{ID: "acme/other", Path: "/models/other",
		Why: "it is too new"}}}, nil
}

func (f *fakeBackend) Catalogue(_ context.Context, ask bool) (control.Catalogue, error) {
	c := control.Catalogue{Class: 16, Models: []control.Suggested{{ID: "acme/more"}}}
	if ask {
		c.Models[0].Bytes = 1000
	}
	return c, nil
}

func (f *fakeBackend) Memory(context.Context) (control.Memory, error) {
	return control.Memory{Total: 16 << 30, Models: []control.ModelNeeds{{ID: "acme/coder",
		Needs: control.Needs{Bytes: 5, Fits: true}}}}, nil
}

func (f *fakeBackend) ModelSettings(
	_ context.Context, id string,
) (control.ModelSettingsState, error) {
	if id != f.model.Name {
		return control.ModelSettingsState{}, control.Errorf(control.CodeModelNotFound,
			"The model %q is not registered.", id)
	}
	return control.ModelSettingsState{Settings: f.own}, nil
}

func (f *fakeBackend) SetModelSettings(ctx context.Context,
	set control.ModelSettings) (control.ModelSettingsState, error) {
	if _, err := f.ModelSettings(ctx, set.Model); err != nil {
		return control.ModelSettingsState{}, err
	}
	f.own = set
	return f.ModelSettings(ctx, set.Model)
}

func (f *fakeBackend) Welcomed(_ context.Context, done bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.welcome = !done
	return nil
}

// socketGet sends a GET to a control route.
func socketGet(s *Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Socket().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// The routes answer the page of models. They ask the hub only on request.
func TestLibraryAsksHubOnlyOnRequest(t *testing.T) {
	s := New(newFake().services(), Options{})
	for path, want := range map[string]string{
		"/app/found":                `"why":"it is too new"`,
		"/app/catalogue":            `"id":"acme/more","what":"","from":0}`,
		"/app/catalogue?sizes=true": `"bytes":1000`,
		"/app/memory":               `{"id":"acme/coder","needs":{"bytes":5`,
	} {
		if w := socketGet(s, path); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s in it", path, w.Code, w.Body, want)
		}
	}
}

// Settings are stored whole, or refused with the field at fault. An unknown model gets no settings.
func TestModelSettingsAreSetWholeOrRefused(t *testing.T) {
	fake := newFake()
	s := New(fake.services(), Options{})
	for body, param := range map[string]string{
		`{}`: "model", `{"model":5}`: "model",
		`{"model":"acme/coder","kvbits":4}`:                "kvbits",
		`{"model":"acme/coder","context":255}`:             "context",
		`{"model":"acme/coder","context":1e12}`:            "context",
		`{"model":"acme/coder","depth":32}`:                "depth",
		`{"model":"acme/coder","depth":-1}`:                "depth",
		`{"model":"acme/coder","rule":"luck"}`:             "rule",
		`{"model":"acme/coder","temperature":-1}`:          "temperature",
		`{"model":"acme/coder","top_p":1.5}`:               "top_p",
		`{"model":"acme/coder","top_k":-2}`:                "top_k",
		`{"model":"acme/coder","min_p":"x"}`:               "min_p",
		`{"model":"acme/coder","repetition_penalty":0}`:    "repetition_penalty",
		`{"model":"acme/coder","repetition_penalty":200}`:  "repetition_penalty",
		`{"model":"acme/coder","keep_loaded":"certainly"}`: "keep_loaded",
	} {
		w := socketPost(s, "/app/model-settings", body)
		wantError(t, w, http.StatusBadRequest, control.CodeInvalid)
		if !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	wantError(t, socketPost(s, "/app/model-settings", `{"model":"acme/none"}`), http.StatusNotFound,
		control.CodeModelNotFound)
	wantError(t, socketGet(s, "/app/model-settings?model=acme/none"), http.StatusNotFound,
		control.CodeModelNotFound)
	wantError(t, socketGet(s, "/app/model-settings"), http.StatusBadRequest, control.CodeInvalid)

	const body = `{"model":"acme/coder","context":4096,"depth":0,"rule":"rejection","temperature":0,"top_p":0.5,"top_k":-1,"min_p":0.1,"repetition_penalty":1.1,"keep_loaded":true}`
	if w := socketPost(s, "/app/model-settings", body); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), body) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := socketPost(s, "/app/model-settings",
		`{"model":"acme/coder","temperature":null}`); w.Code != http.StatusOK ||
		fake.own != (control.ModelSettings{Model: "acme/coder"}) {
		t.Errorf("%d %s, set is %+v", w.Code, w.Body, fake.own)
	}
}

func TestWelcomeIsNoted(t *testing.T) {
	fake := newFake()
	s := New(fake.services(), Options{})
	for _, body := range []string{`{}`, `{"done":null}`, `{"done":"yes"}`} {
		wantError(t, socketPost(s, "/app/welcome", body), http.StatusBadRequest,
			control.CodeInvalid)
	}
	for body, want := range map[string]bool{`{"done":false}`: true, `{"done":true}`: false} {
		w := socketPost(s, "/app/welcome", body)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"welcome":true`) != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
