package ollama_test

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

func TestOllamasAnswerHasTheNameThatWasAsked(t *testing.T) {
	for _, name := range []string{"tandem", "tandem:latest", "Tandem:Latest", "acme/coder",
		"ACME/Coder:latest"} {
		for path, rest := range map[string]string{
			"/api/generate": `,"prompt":"x"`, "/api/chat": `,"messages":[{"role":"user","content":"x"}]`,
		} {
			for _, more := range []string{rest, rest + `,"stream":false`, "", `,"keep_alive":0`} {
				w := roomtest.Post(serve(roomtest.NewBackend()), path,
					`{"model":"`+name+`"`+more+`}`)
				for _, a := range roomtest.ReadOllamaLines(t, w.Body) {
					if a.Model != name {
						t.Errorf("%s as %s%s: %+v", path, name, more, a)
					}
				}
			}
		}
	}
}

func TestOllamaShowHasTheListedName(t *testing.T) {
	for name, want := range map[string]string{"tandem": "tandem:latest",
		"TANDEM:latest": "tandem:latest", "Acme/Coder": "acme/coder:latest",
		"foreign:8b": "acme/coder:latest"} {
		w := roomtest.Post(serve(roomtest.Detailed()), "/api/show",
			`{"model":"`+name+`"}`)
		var show ollama.Show
		if err := json.Unmarshal(w.Body.Bytes(), &show); err != nil ||
			show.ModelInfo["general.basename"] != want ||
			show.ModelInfo["general.size_label"] != show.Details.ParameterSize {
			t.Errorf("%s: %v: %d %s", name, err, w.Code, w.Body)
		}
	}
}

// Ollama's programs get the models in Ollama's form.
func TestOllamaListsModels(t *testing.T) {
	s := serve(roomtest.Detailed())
	var tags struct{ Models []ollama.Model }
	w := roomtest.Get(s, "/api/tags")
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
		if m.Name != want.name {
			t.Errorf("%s: m.Name = %v, want %v", want.name, m.Name, want.name)
		}
		if m.Model != want.name {
			t.Errorf("%s: m.Model = %v, want %v", want.name, m.Model, want.name)
		}
		if d.Family != want.family {
			t.Errorf("%s: d.Family = %v, want %v", want.name, d.Family, want.family)
		}
		if d.Families[0] != want.family {
			t.Errorf("%s: d.Families[0] = %v, want %v", want.name, d.Families[0], want.family)
		}
		if d.ParameterSize != want.size {
			t.Errorf("%s: d.ParameterSize = %v, want %v", want.name, d.ParameterSize, want.size)
		}
		if d.QuantizationLevel != want.level {
			t.Errorf("%s: d.QuantizationLevel = %v, want %v", want.name, d.QuantizationLevel, want.level)
		}
		if d.ContextLength != want.context {
			t.Errorf("%s: d.ContextLength = %v, want %v", want.name, d.ContextLength, want.context)
		}
		if d.Format != "safetensors" {
			t.Errorf(`%s: d.Format = %q, want "safetensors"`, want.name, d.Format)
		}
		if m.Size == 0 {
			t.Errorf("%s: m.Size is 0", want.name)
		}
		if len(m.Digest) != 64 {
			t.Errorf("%s: len(m.Digest) = %v, want 64", want.name, len(m.Digest))
		}
		if m.ModifiedAt.Unix() != 1700000000 {
			t.Errorf("%s: m.ModifiedAt.Unix() = %v, want 1700000000", want.name, m.ModifiedAt.Unix())
		}
	}
	if a, b := tags.Models[0].Digest, tags.Models[1].Digest; a == b || a != tags.Models[3].Digest {
		t.Errorf("digests %s %s", a, b)
	}

	var ps struct{ Models []ollama.Running }
	w = roomtest.Get(s, "/api/ps")
	if err := json.Unmarshal(w.Body.Bytes(), &ps); err != nil || len(ps.Models) != 2 {
		t.Fatal(err, w.Body)
	}
	if m := ps.Models[0]; m.Name != "tandem:latest" {
		t.Errorf("%+v", m)
	}
	if m := ps.Models[1]; m.Name != "acme/coder:latest" || m.ContextLength != 64 ||
		m.SizeVRAM != 10<<20 || time.Until(m.ExpiresAt) < time.Minute {
		t.Errorf("%+v", m)
	}
	if w = roomtest.Get(serve(unloaded(roomtest.NewBackend())), "/api/ps"); w.Body.String() != `{"models":[]}` {
		t.Errorf("%s", w.Body)
	}
	// Some programs read the three parts of the version as numbers.
	if w = roomtest.Get(s, "/api/version"); !regexp.MustCompile(`^\{"version":"\d+\.\d+\.\d+"\}$`).MatchString(w.Body.String()) {
		t.Errorf("%s", w.Body)
	}
}

// unloaded returns the backend without a model in memory. It refuses to load one.
func unloaded(f *roomtest.Backend) *roomtest.Backend {
	f.OnState = func(s *control.State) { s.Loaded, s.InMemory = nil, []control.Loaded{} }
	return f.Lend(func(context.Context) (model.Model, error) {
		panic("a model is loaded to be looked at")
	})
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
		fake := roomtest.Detailed()
		w := roomtest.Post(serve(fake), "/api/show", c.body)
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
	if w := roomtest.Post(serve(unloaded(roomtest.Speaking(""))), "/api/show",
		`{"model":"tandem"}`); !strings.Contains(w.Body.String(),
		`["completion","tools","thinking","insert"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := roomtest.Post(serve(roomtest.Speaking("")), "/api/show",
		`{"model":"tandem"}`); !strings.Contains(w.Body.String(),
		`["completion","tools","thinking","insert"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for body, says := range map[string]string{
		`{"model":"wibble:7b"}`: "wibble:7b", `{}`: "missing", `{"model":7}`: "string",
		`[]`: "object",
	} {
		w := roomtest.Post(serve(roomtest.NewBackend()), "/api/show", body)
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
		w := roomtest.Post(serve(roomtest.NewBackend()), path, body)
		if text := roomtest.DecodeOllama(t, w); w.Code != http.StatusBadRequest ||
			!strings.Contains(text, "embeddings") {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
}
