package server

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/ollama"
	"tandem/app/roomtest"
)

// detailed is a library with details of its models.
type detailed struct{ *roomtest.Backend }

func (b detailed) Models(context.Context) ([]control.Model, error) {
	added := time.Unix(1700000000, 0).UTC()
	return []control.Model{
		{ID: "other", Architecture: "llama", Dtype: "bfloat16", Parameters: 7_615_616_512, Bytes: 15 << 30, ContextLength: 4096, AddedAt: added},
		{ID: "vectors", Architecture: "qwen3", Kind: control.KindEmbedding, Dtype: "float32", Parameters: 600_000, Bytes: 3 << 20, ContextLength: 4096, AddedAt: added},
		{ID: b.Model.Name, Architecture: "qwen3", Quantization: "4-bit", Dtype: "bfloat16", Parameters: 18_400_000, Bytes: 10 << 20, ContextLength: 9999, Revision: "abc", AddedAt: added},
	}, nil
}

// detailedServices returns the fake's services with this library.
func detailedServices(f *roomtest.Backend) Services {
	to := services(f)
	to.Library = detailed{f}
	return to
}

// Ollama's programs get the models in Ollama's form.
func TestOllamaListsModels(t *testing.T) {
	s := New(detailedServices(roomtest.NewBackend()), Options{})
	var tags struct{ Models []ollama.Model }
	w := roomtest.Get(s.Endpoint(), "/api/tags")
	if err := json.Unmarshal(w.Body.Bytes(), &tags); err != nil || len(tags.Models) != 4 {
		t.Fatal(err, w.Body)
	}
	for i, want := range []struct {
		name, family, size, level string
		context                   int
	}{
		{"tandem:latest", "qwen3", "18.4M", "4-bit", 64},
		{"other:latest", "llama", "7.6B", "bfloat16", 4096},
		{"vectors:latest", "qwen3", "600.0K", "float32", 4096},
		{"acme/coder:latest", "qwen3", "18.4M", "4-bit", 64},
	} {
		m := tags.Models[i]
		d := m.Details
		if m.Name != want.name || m.Model != want.name || d.Family != want.family ||
			d.Families[0] != want.family || d.ParameterSize != want.size ||
			d.QuantizationLevel != want.level || d.ContextLength != want.context ||
			d.Format != "safetensors" || m.Size == 0 || len(m.Digest) != 64 ||
			m.ModifiedAt.Unix() != 1700000000 {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
	if a, b := tags.Models[0].Digest, tags.Models[1].Digest; a == b || a != tags.Models[3].Digest {
		t.Errorf("digests %s %s", a, b)
	}

	var ps struct{ Models []ollama.Running }
	w = roomtest.Get(s.Endpoint(), "/api/ps")
	if err := json.Unmarshal(w.Body.Bytes(), &ps); err != nil || len(ps.Models) != 1 {
		t.Fatal(err, w.Body)
	}
	if m := ps.Models[0]; m.Name != "acme/coder:latest" || m.ContextLength != 64 ||
		m.SizeVRAM != 10<<20 || time.Until(m.ExpiresAt) < time.Minute {
		t.Errorf("%+v", m)
	}
	if w = roomtest.Get(New(unloadedServices(roomtest.NewBackend()), Options{}).Endpoint(), "/api/ps"); w.Body.String() != `{"models":[]}` {
		t.Errorf("%s", w.Body)
	}
	// Some programs read the three parts of the version as numbers.
	if w = roomtest.Get(s.Endpoint(), "/api/version"); !regexp.MustCompile(`^\{"version":"\d+\.\d+\.\d+"\}$`).MatchString(w.Body.String()) {
		t.Errorf("%s", w.Body)
	}
}

// unloadedServices return the fake's services without a model in memory. They refuse to load one.
func unloadedServices(f *roomtest.Backend) Services {
	services(f.Lend(func(context.Context) (model.Model, error) {
		panic("a model is loaded to be looked at")
	}))
	to := services(f)
	to.Status = unloaded{f}
	return to
}

// unloaded reports a state without models in memory.
type unloaded struct{ *roomtest.Backend }

func (b unloaded) State() control.State {
	st := b.Backend.State()
	st.Loaded, st.InMemory = nil, []control.Loaded{}
	return st
}

// A model is found by each of its names, in memory or not.
func TestOllamaShowFindsModelByEachName(t *testing.T) {
	for _, c := range []struct{ body, abilities, template string }{
		{`{"model":"tandem"}`, "completion insert", "{{ if .Suffix }}<pre>{{ .Prompt }}<suf>{{ .Suffix }}<mid>"},
		{`{"model":"tandem:latest"}`, "completion insert", ".Suffix"},
		{`{"name":"acme/coder"}`, "completion insert", ".Suffix"},
		{`{"model":"acme/coder:latest","verbose":true}`, "completion insert", ".Suffix"},
		{`{"model":"other"}`, "completion", "{{ .Prompt }}"},
		{`{"model":"vectors"}`, "embedding", "{{ .Prompt }}"},
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(New(detailedServices(fake), Options{}).Endpoint(), "/api/show", c.body)
		var show ollama.Show
		if err := json.Unmarshal(w.Body.Bytes(), &show); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
			continue
		}
		if got := strings.Join(show.Capabilities, " "); got != c.abilities ||
			!strings.Contains(show.Template, c.template) {
			t.Errorf("%s: %s", c.body, w.Body)
		}
		family, _ := show.ModelInfo["general.architecture"].(string)
		if n, _ := show.ModelInfo[family+".context_length"].(float64); int(n) != show.Details.ContextLength ||
			n == 0 || show.ModelInfo["general.parameter_count"].(float64) == 0 {
			t.Errorf("%s: %s", c.body, w.Body)
		}
		if fake.Held != 0 {
			t.Errorf("%s: %d models held", c.body, fake.Held)
		}
	}
	// The answer is the same if no model is in memory.
	if w := roomtest.Post(New(unloadedServices(roomtest.Speaking("")), Options{}).Endpoint(), "/api/show",
		`{"model":"tandem"}`); !strings.Contains(w.Body.String(),
		`["completion","tools","thinking","insert"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := roomtest.Post(New(services(roomtest.Speaking("")), Options{}).Endpoint(), "/api/show", `{"model":"tandem"}`); !strings.Contains(w.Body.String(),
		`["completion","tools","thinking","insert"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for body, says := range map[string]string{
		`{"model":"wibble:7b"}`: "wibble:7b", `{}`: "missing", `{"model":7}`: "string",
		`[]`: "object",
	} {
		w := roomtest.Post(New(services(roomtest.NewBackend()), Options{}).Endpoint(), "/api/show", body)
		if text := roomtest.DecodeOllama(t, w); !strings.Contains(text, says) ||
			w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", body, w.Code, text)
		}
	}
}

// The refusal has the form of the route.
func TestModelWithoutEmbeddingsIsRefused(t *testing.T) {
	for path, body := range map[string]string{
		"/api/embed":      `{"model":"tandem","input":["a","b"]}`,
		"/api/embeddings": `{"model":"tandem","prompt":"a"}`,
	} {
		w := roomtest.Post(New(services(roomtest.NewBackend()), Options{}).Endpoint(), path, body)
		if text := roomtest.DecodeOllama(t, w); w.Code != http.StatusBadRequest ||
			!strings.Contains(text, "embeddings") {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
}
