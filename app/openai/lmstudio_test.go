package openai_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/openai"
	"tandem/app/roomtest"
)

// These are the routes that editors' providers for local servers call.

func TestLMStudiosListHasContextAndState(t *testing.T) {
	s := serve(roomtest.Detailed())
	var list struct {
		Object string
		Data   []openai.LMStudioModel
	}
	w := roomtest.Get(s, "/api/v0/models")
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || list.Object != "list" ||
		len(list.Data) != 4 {
		t.Fatal(err, w.Code, w.Body)
	}
	for i, want := range []openai.LMStudioModel{
		{ID: "tandem", Type: "llm", Publisher: "tandem", Arch: "qwen3", Quantization: "4-bit", State: "loaded", MaxContext: 64, LoadedContext: 64},
		{ID: "other", Type: "llm", Publisher: "tandem", Arch: "llama", Quantization: "bfloat16", State: "not-loaded", MaxContext: 4096},
		{ID: "vectors", Type: "embeddings", Publisher: "tandem", Arch: "qwen3", Quantization: "float32", State: "not-loaded", MaxContext: 4096},
		{ID: "acme/coder", Type: "llm", Publisher: "acme", Arch: "qwen3", Quantization: "4-bit", State: "loaded", MaxContext: 64, LoadedContext: 64},
	} {
		want.Object, want.CompatibilityType = "model", "mlx"
		if list.Data[i] != want {
			t.Errorf("%+v, want %+v", list.Data[i], want)
		}
	}
	for path, want := range map[string]string{"/api/v0/models/acme/coder": "acme/coder",
		"/api/v0/models/tandem": "tandem", "/api/v0/models/tandem:latest": "tandem",
		"/api/v0/models/other": "other"} {
		var m openai.LMStudioModel
		if w := roomtest.Get(s, path); json.Unmarshal(w.Body.Bytes(), &m) != nil ||
			m.ID != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := roomtest.Get(s, "/api/v0/models/nope"); w.Code != 404 ||
		roomtest.DecodeError(t, w).Code != "model_not_found" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A provider for LM Studio gets from its routes what OpenAI's would give it.
func TestLMStudiosRoutesAnswerAsOpenAIs(t *testing.T) {
	for route, body := range map[string]string{
		"/chat/completions": `"messages":[{"role":"user","content":"x"}]`,
		"/completions":      `"prompt":"x"`,
		"/embeddings":       `"input":"x"`,
	} {
		var shapes [2][]string
		for i, base := range []string{"/v1", "/api/v0"} {
			fake := roomtest.NewBackend()
			if route == "/embeddings" {
				fake.Model.Purpose = control.KindEmbedding
			}
			w := roomtest.Post(serve(fake), base+route, `{"model":"tandem",`+body+`}`)
			var answer map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
				t.Fatalf("%s%s: %v %d %s", base, route, err, w.Code, w.Body)
			}
			shapes[i] = slices.Sorted(maps.Keys(answer))
			if got := fake.LastRun().Endpoint; got != base+route {
				t.Errorf("the run's endpoint is %s, want %s%s", got, base, route)
			}
		}
		if !slices.Equal(shapes[0], shapes[1]) {
			t.Errorf("%s: the members are %v and %v", route, shapes[0], shapes[1])
		}
	}
	w := roomtest.Post(serve(roomtest.NewBackend()), "/api/v0/chat/completions",
		`{"model":"tandem","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	if !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
		t.Errorf("a stream: %d %s", w.Code, w.Body)
	}
}
