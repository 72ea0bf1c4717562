package server

import (
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// The routes answer the page of models. They ask the hub only on request.
func TestLibraryAsksHubOnlyOnRequest(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for path, want := range map[string]string{
		"/app/found":                `"why":"it is too new"`,
		"/app/catalogue":            `"id":"acme/more","what":"","from":0}`,
		"/app/catalogue?sizes=true": `"bytes":1000`,
		"/app/memory":               `{"id":"acme/coder","needs":{"bytes":5`,
	} {
		if w := roomtest.Get(s.Socket(), path); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s in it", path, w.Code, w.Body, want)
		}
	}
}

// Settings are stored whole, or refused with the field at fault. An unknown model gets no settings.
func TestModelSettingsAreSetWholeOrRefused(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
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
		w := roomtest.Post(s.Socket(), "/app/model-settings", body)
		roomtest.WantError(t, w, http.StatusBadRequest, control.CodeInvalid)
		if !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/model-settings",
		`{"model":"acme/none"}`), http.StatusNotFound,
		control.CodeModelNotFound)
	roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/model-settings?model=acme/none"),
		http.StatusNotFound,
		control.CodeModelNotFound)
	roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/model-settings"),
		http.StatusBadRequest, control.CodeInvalid)

	const body = `{"model":"acme/coder","context":4096,"depth":0,"rule":"rejection","temperature":0,"top_p":0.5,"top_k":-1,"min_p":0.1,"repetition_penalty":1.1,"keep_loaded":true}`
	if w := roomtest.Post(s.Socket(), "/app/model-settings", body); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), body) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := roomtest.Post(s.Socket(), "/app/model-settings",
		`{"model":"acme/coder","temperature":null}`); w.Code != http.StatusOK ||
		fake.Own != (control.ModelSettings{Model: "acme/coder"}) {
		t.Errorf("%d %s, set is %+v", w.Code, w.Body, fake.Own)
	}
}

func TestWelcomeIsNoted(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	for _, body := range []string{`{}`, `{"done":null}`, `{"done":"yes"}`} {
		roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/welcome",
			body), http.StatusBadRequest,
			control.CodeInvalid)
	}
	for body, want := range map[string]bool{`{"done":false}`: true, `{"done":true}`: false} {
		w := roomtest.Post(s.Socket(), "/app/welcome", body)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"welcome":true`) != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
