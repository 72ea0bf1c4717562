package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/ollama"
	"tandem/app/roomtest"
)

// several returns a backend with two models in memory.
func several() *roomtest.Backend {
	f := roomtest.Detailed()
	f.OnState = func(s *control.State) {
		s.InMemory = append(s.InMemory, control.Loaded{ID: "vectors", ContextLength: 512,
			Queued: 3, Bytes: 7 << 20})
	}
	return f
}

// Every route that lists models counts all models in memory.
func TestSeveralModelsInMemoryAreReported(t *testing.T) {
	s := New(services(several()), Options{})
	var ps struct{ Models []ollama.Running }
	w := roomtest.Get(s.Endpoint(), "/api/ps")
	if err := json.Unmarshal(w.Body.Bytes(), &ps); err != nil || len(ps.Models) != 3 { // the current one has two names
		t.Fatal(err, w.Body)
	}
	if m := ps.Models[2]; m.Name != "vectors:latest" || m.ContextLength != 512 ||
		m.SizeVRAM != 7<<20 {
		t.Errorf("%+v", m)
	}
	if w := roomtest.Get(s.Endpoint(), "/v1/models/vectors"); !strings.Contains(w.Body.String(),
		`"context_length":512`) {
		t.Errorf("%s", w.Body)
	}
	text := roomtest.Get(s.Endpoint(), "/metrics").Body.String()
	for _, line := range []string{"tandem_models_loaded 2\n", "tandem_queue_depth 3\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q", line)
		}
	}
}

// The route unloads one model or all of them. Ollama's programs unload the model that they name.
func TestUnloadFreesOneModelOrAll(t *testing.T) {
	fake := several()
	s := New(services(fake), Options{})
	for _, body := range []string{`{}`, `{"model":"vectors"}`} {
		if w := roomtest.Post(s.Socket(), "/app/unload", body); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), `"in_memory":[`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/unload",
		`{"model":1}`), http.StatusBadRequest,
		control.CodeInvalid)
	for _, body := range []string{`{"model":"vectors:latest","keep_alive":0}`,
		`{"model":"tandem","keep_alive":0}`, `{"model":"other","keep_alive":0}`} {
		if w := roomtest.Post(s.Endpoint(), "/api/generate", body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if want := []string{"", "vectors", "vectors", "acme/coder"}; !slices.Equal(fake.Unloaded,
		want) {
		t.Errorf("unloaded %q, want %q", fake.Unloaded, want)
	}
}
