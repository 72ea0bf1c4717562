package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tandem/engine"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// A prompt of 16 chunks takes little memory beside its KV rows. The limit is a constant and one
// chunk's scores in float32, which MLX's attention on the CPU materialises.
func TestPrefillTakesTheScoresOfOneChunk(t *testing.T) {
	const (
		prompt   = 8192
		chunk    = 512
		heads    = 4
		constant = 264 << 20 // bytes
	)
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	dir := enginetest.TinyModel(t, "llama")
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	config = bytes.Replace(config, []byte(`"max_position_embeddings":4096`),
		[]byte(`"max_position_embeddings":16384`), 1)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e := engine.New(th, b.Model, b.Tokenizer, engine.Options{})
	defer e.Close()

	before := th.Memory().Active
	if err := th.Do(t.Context(),
		func(s *mlx.Scope) error { s.ClearCache(); s.ResetPeak(); return nil }); err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, prompt)
	for i := range ids {
		ids[i] = int32(i * 7 % 250)
	}
	for _, err := range e.Generate(t.Context(), engine.Request{Prompt: ids, MaxTokens: new(1)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	const kv = 3 * 2 * 2 * 16 * prompt * 4 // layers, keys and values, KV heads, head_dim
	taken := th.Memory().Peak - before - kv
	if limit := int64(constant + heads*chunk*prompt*4); taken > limit {
		t.Errorf("prefill took %d MB beside the KV rows, want %d at most", taken>>20, limit>>20)
	} else {
		t.Logf("prefill took %d MB beside the KV rows, limit %d", taken>>20, limit>>20)
	}
}
