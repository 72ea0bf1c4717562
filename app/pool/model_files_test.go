package pool

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUselessDefaultIsShownAtTheModel expects a request that names no sampling to be answered, and
// the settings of the model to say what is ignored.
func TestUselessDefaultIsShownAtTheModel(t *testing.T) {
	dir := writeModel(t, "tiny")
	writeFile(t, dir, "generation_config.json", `{"top_p": -5, "top_k": 7}`)
	r := start(t, setup{Model: dir})
	if status, body := r.post(t, "/v1/completions",
		`{"model":"tandem","prompt":"abc","max_tokens":4}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	st, err := r.pool.ModelSettings(t.Context(), control.Alias)
	if err != nil {
		t.Fatal(err)
	}
	if st.Defaults.TopP != nil {
		t.Errorf("st.Defaults.TopP = %v, want nil", st.Defaults.TopP)
	}
	if *st.Defaults.TopK != 7 {
		t.Errorf("*st.Defaults.TopK = %v, want 7", *st.Defaults.TopK)
	}
	if len(st.Defaults.Ignored) != 1 {
		t.Fatalf("len(st.Defaults.Ignored) = %v, want 1", len(st.Defaults.Ignored))
	}
	if !strings.Contains(st.Defaults.Ignored[0], "top_p is not between 0 and 1") {
		t.Errorf(`st.Defaults.Ignored[0] = %q, want it to have "top_p is not between 0 and 1"`,
			st.Defaults.Ignored[0])
	}
}

// TestModelThatDoesNotSampleIsGreedy expects do_sample false to decide, unless a request says
// otherwise.
func TestModelThatDoesNotSampleIsGreedy(t *testing.T) {
	dir := writeModel(t, "tiny")
	writeFile(t, dir, "generation_config.json", `{"do_sample": false, "temperature": 0.9}`)
	r := start(t, setup{Model: dir})
	ask := func(fields map[string]any) []int32 {
		fields["prompt"], fields["max_tokens"], fields["ignore_eos"] = "abc", 30, true
		return r.ask(t, fields, false).IDs
	}
	greedy := ask(map[string]any{"temperature": 0})
	for seed := range 3 {
		if got := ask(map[string]any{"seed": seed}); !slices.Equal(got, greedy) {
			t.Errorf("seed %d: %v, want %v", seed, got, greedy)
		}
	}
	if got := ask(map[string]any{"seed": 1, "temperature": 1.5}); slices.Equal(got, greedy) {
		t.Error("a request that samples gets the likeliest tokens")
	}
}

// spoilWeights makes a tensor of float32 NaN.
func spoilWeights(t *testing.T, dir, tensor string) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Offsets []int `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	body := data[8+n:]
	for at := header[tensor].Offsets[0]; at < header[tensor].Offsets[1]; at += 4 {
		binary.LittleEndian.PutUint32(body[at:], math.Float32bits(float32(math.NaN())))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedWeightsAreSaidOnEveryRoute expects an error that a person understands, streamed or
// not, and no empty text.
func TestDamagedWeightsAreSaidOnEveryRoute(t *testing.T) {
	dir := writeModel(t, "tiny")
	spoilWeights(t, dir, "model.norm.weight")
	r := start(t, setup{Model: dir})
	const chat = `"messages":[{"role":"user","content":"hi"}]`
	for route, body := range map[string]string{
		"/v1/completions":      `"prompt":"abc"`,
		"/v1/chat/completions": chat,
		"/v1/responses":        `"input":"abc"`,
		"/v1/messages":         `"max_tokens":9,` + chat,
		"/api/chat":            chat,
		"/api/generate":        `"prompt":"abc"`,
	} {
		for _, stream := range []string{"false", "true"} {
			status, got := r.post(t, route, `{"model":"tandem",`+body+`,"stream":`+stream+`}`)
			if stream == "false" && status != http.StatusUnprocessableEntity ||
				!strings.Contains(got, "The model computes no numbers") {
				t.Errorf("%s, stream %s: %d %s", route, stream, status, got)
			}
		}
	}
}

// TestDamagedWeightsAreSaidWhereTextsAreRead expects the same of embeddings and of scores.
func TestDamagedWeightsAreSaidWhereTextsAreRead(t *testing.T) {
	for route, c := range map[string]struct{ dir, body string }{
		"/v1/embeddings": {enginetest.TinyEmbedder(t), `"input":["abc"]`},
		"/v1/rerank":     {enginetest.TinyReranker(t), `"query":"abc","documents":["a","b"]`},
	} {
		spoilWeights(t, c.dir, "model.norm.weight")
		r := start(t, setup{Model: c.dir})
		id := filepath.Base(c.dir)
		if status, got := r.post(t, route, `{"model":"`+id+`",`+c.body+`}`); status !=
			http.StatusUnprocessableEntity || !strings.Contains(got, "The model computes no numbers") {
			t.Errorf("%s: %d %s", route, status, got)
		}
	}
}

// A model whose file is moved away is refused with its path and with what to do. It is served again
// once the file is back.
func TestMovedFileIsSaidWithWhatToDo(t *testing.T) {
	path := ggufModel(t)
	r := start(t, setup{Model: path})
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	want := "The model packed.gguf is no longer at " + path +
		"; put it back, or remove it from the list."
	if status, body := r.complete(t, "packed.gguf", "a"); status != http.StatusUnprocessableEntity ||
		!strings.Contains(body, want) {
		t.Errorf("a request gets %d %s", status, body)
	}
	memory, err := r.pool.Memory(t.Context())
	if err != nil || len(memory.Models) == 0 || memory.Models[0].Why != want {
		t.Errorf("the list says %+v, %v", memory.Models, err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if status, body := r.complete(t, "packed.gguf", "a"); status != http.StatusOK {
		t.Errorf("with the file again: %d %s", status, body)
	}
}
