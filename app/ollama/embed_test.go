package ollama_test

import (
	"cmp"
	"encoding/json"
	"fmt"
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
		{"/api/embed", `{"model":"tandem","input":"ab","dimensions":9}`, [][]float32{{3, 256, 'b', 1.0 / 3}}}, // it has no more
		{"/api/embed", `{"model":"tandem","input":"ab","dimensions":0}`, [][]float32{{3, 256, 'b', 1.0 / 3}}},
		{"/api/embed", `{"model":"tandem","input":"ab","dimensions":-1}`, [][]float32{{3, 256, 'b', 1.0 / 3}}},
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
		`{"model":"tandem","input":true}`:                 "input must be",
		`{"model":"tandem","input":"a","truncate":7}`:     "truncate must be",
		`{"model":"tandem","input":["a",""]}`:             "input[1] is empty",
		`{"model":"tandem","input":7}`:                    "input must be",
		`{"model":"tandem","input":"a","dimensions":1.5}`: "dimensions must be",
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

// A text that is too long is cut at its end, before the marks of the tokenizer, unless truncate is
// false.
func TestOllamaEmbedTruncates(t *testing.T) {
	long := strings.Repeat("ab", 5000)
	for _, body := range []string{`"input":"` + long + `"`, `"input":["a","` + long + `"],"truncate":true`,
		`"prompt":"` + long + `"`} {
		path := "/api/embed"
		if strings.HasPrefix(body, `"prompt"`) {
			path = "/api/embeddings"
		}
		for _, mark := range []int32{0, 257} {
			fake := roomtest.NewBackendOf(control.KindEmbedding)
			fake.Model.EndMark = mark
			w := roomtest.Post(serve(fake), path, `{"model":"tandem",`+body+`}`)
			// tokens, the first and the last
			want := fmt.Sprintf("[%d,256,%d,", fake.Model.ContextLength(), cmp.Or(mark, 'a'))
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %.40s: %d %s, want %s", path, body, w.Code, w.Body, want)
			}
			left := fmt.Sprintf("the ends of 1 of %d texts", strings.Count(body, `,"ab`)+1)
			if told := fake.LastRun().LeftOut; told != left || !strings.HasSuffix(w.Body.String(), `"left_out":"`+left+`"}`) {
				t.Errorf("%s: %.40s: the run says %q, the answer %s", path, body, told, w.Body)
			}
		}
	}
	fits := strings.Repeat("a", roomtest.NewBackendOf(control.KindEmbedding).Model.ContextLength()-1) // after the first mark
	for body, want := range map[string]string{
		`"input":"` + fits + `"`: "", `"input":"` + fits + `a"`: "the ends of 1 of 1 texts",
		`"input":["` + long + `","` + fits + `","` + long + `"]`: "the ends of 2 of 3 texts",
	} {
		fake := roomtest.NewBackendOf(control.KindEmbedding)
		w := roomtest.Post(serve(fake), "/api/embed", `{"model":"tandem",`+body+`}`)
		if told := fake.LastRun().LeftOut; w.Code != 200 || told != want || strings.Contains(w.Body.String(), "left_out") != (want != "") {
			t.Errorf("%.40s: %d %.300s, the run says %q, want %q", body, w.Code, w.Body, told, want)
		}
	}
	for _, body := range []string{`"input":"` + long + `"`, `"input":["` + long + `","a"]`} {
		w := roomtest.Post(serve(roomtest.NewBackendOf(control.KindEmbedding)), "/api/embed", `{"model":"tandem","truncate":false,`+body+`}`)
		if text := roomtest.DecodeOllama(t, w); w.Code != 400 || !strings.Contains(text, "context length") {
			t.Errorf("%.40s: %d %s", body, w.Code, text)
		}
	}
}

// A request without a text loads the model.
func TestOllamaEmbedWithoutTextLoads(t *testing.T) {
	for _, c := range [][3]string{
		{"/api/embed", `"input":""`, `"embeddings":[],`},
		{"/api/embed", `"input":[]`, `"embeddings":[],`},
		{"/api/embed", `"input":null`, `"embeddings":[],`},
		{"/api/embed", `"truncate":true`, `"embeddings":[],`},
		{"/api/embeddings", `"prompt":""`, `"embedding":[]}`},
		{"/api/embeddings", `"keep_alive":5`, `"embedding":[]}`},
	} {
		fake := roomtest.NewBackendOf(control.KindEmbedding)
		w := roomtest.Post(serve(fake), c[0], `{"model":"tandem",`+c[1]+`}`)
		if w.Code != 200 || !strings.Contains(w.Body.String(), c[2]) || fake.Held != 0 {
			t.Errorf("%s %s: %d %s", c[0], c[1], w.Code, w.Body)
		}
	}
	w := roomtest.Post(serve(roomtest.NewBackend()), "/api/embed", `{"model":"tandem","input":""}`)
	if w.Code != 400 {
		t.Errorf("a model that makes no vectors: %d %s", w.Code, w.Body)
	}
}
