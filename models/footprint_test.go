package models_test

import (
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/models"
)

// TestFootprintOfText compares what a text is said to take with what the caches
// of every architecture take once they have it.
func TestFootprintOfText(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk // one forward, and a whole number of the rows that buffers grow by
	for _, arch := range []string{"llama", "qwen3", "qwen3_5", "gemma3_text"} {
		dir := enginetest.TinyModel(t, arch)
		b, err := models.Load(t.Context(), th, dir, models.Options{Dtype: models.DtypeFloat32})
		if err != nil {
			t.Fatal(err)
		}
		f, err := models.Measure(dir)
		if err != nil {
			t.Fatal(err)
		}
		caches := b.Model.NewCaches(cache.Options{})
		tapRows(t, th, b.Model, caches, make([]int32, tokens))
		var held int64
		for _, c := range caches {
			held += c.Bytes()
		}
		tape := int64(0) // of recurrent layers, which is as long as the last forward
		if arch == "qwen3_5" {
			tape = 64 << 10
		}
		if got := f.Text(tokens, true); got > held || got < held-tape {
			t.Errorf("%s: %d tokens are said to take %d bytes, and take %d", arch, tokens, got, held)
		}
		if f.ContextLength != b.Info.ContextLength {
			t.Errorf("%s: the context is said to be %d, and is %d", arch, f.ContextLength, b.Info.ContextLength)
		}
		freeCaches(t, th, caches)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMeasureRefuses: what cannot be loaded is not measured, for the same reason.
func TestMeasureRefuses(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/nowhere"} {
		_, want := models.Inspect(dir)
		if _, err := models.Measure(dir); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	if _, err := models.Measure(""); err != nil {
		t.Errorf("the pocket model: %v", err)
	}
}
