package ollama_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// Programs that know only Ollama get vectors in Ollama's form.
func TestOllamaEmbedAnswersInOllamaForm(t *testing.T) {
	for _, c := range []struct {
		path, body string
		want       [][]float32
	}{
		{"/api/embed", `{"model":"tandem","input":"ab"}`, [][]float32{{3, 256, 'b', 1.0 / 3}}},
		{"/api/embed", `{"model":"acme/coder:latest","input":["ab","c"],"dimensions":2,"truncate":true,"keep_alive":"5m","options":{}}`, [][]float32{{3, 256}, {2, 256}}},
		{"/api/embeddings", `{"model":"tandem","prompt":"ab"}`, [][]float32{{3, 256, 'b', 1.0 / 3}}},
	} {
		fake := roomtest.NewBackendOf(control.KindEmbedding)
		w := roomtest.Post(serve(fake), c.path, c.body)
		var got struct {
			Model      string
			Embeddings [][]float32
			Embedding  []float32
			Tokens     int `json:"prompt_eval_count"`
			Total      int `json:"total_duration"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", c.body, w.Code, w.Body)
		}
		tokens := 0
		for _, v := range c.want {
			tokens += int(v[0])
		}
		if c.path == "/api/embeddings" {
			got.Embeddings = [][]float32{got.Embedding}
		} else if !strings.Contains(c.body, `"model":"`+got.Model+`"`) || got.Tokens != tokens ||
			got.Total <= 0 {
			t.Errorf("%s: %s", c.body, w.Body)
		}
		if !slices.EqualFunc(got.Embeddings, c.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", c.body, got.Embeddings, c.want)
		}
		if r := fake.LastRun(); r.Endpoint != c.path || r.PromptTokens != tokens || fake.Held != 0 {
			t.Errorf("%s: the history has %+v", c.body, r)
		}
	}
	for body, says := range map[string]string{
		`{"model":"tandem"}`:                            "input is missing",
		`{"model":"tandem","input":[]}`:                 "input is missing",
		`{"model":"tandem","input":["a",""]}`:           "input[1] is empty",
		`{"model":"tandem","input":7}`:                  "input must be",
		`{"model":"tandem","input":"a","dimensions":9}`: "dimensions",
	} {
		w := roomtest.Post(serve(roomtest.NewBackendOf(control.KindEmbedding)), "/api/embed",
			body)
		if text := roomtest.DecodeOllama(t, w); w.Code != 400 || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", body, w.Code, text)
		}
	}
	if w := roomtest.Post(serve(roomtest.NewBackendOf(control.KindEmbedding)), "/api/show",
		`{"model":"acme/coder"}`); !strings.Contains(w.Body.String(),
		`"capabilities":["embedding"]`) {
		t.Errorf("the abilities of an embedding model: %d %s", w.Code, w.Body)
	}
	w := roomtest.Post(serve(roomtest.NewBackendOf(control.KindEmbedding)), "/api/embeddings",
		`{"model":"tandem","prompt":["a","b"]}`)
	if text := roomtest.DecodeOllama(t, w); w.Code != 400 || !strings.Contains(text, "one text") {
		t.Errorf("two prompts: %d %s", w.Code, text)
	}
}
