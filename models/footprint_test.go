package models_test

import (
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/models"
)

// TestFootprintOfTextEqualsCaches compares the predicted memory of a text with the memory of the
// caches of every architecture.
func TestFootprintOfTextEqualsCaches(t *testing.T) {
	th := enginetest.NewThread(t)
	// One forward takes so many tokens. Buffers grow by a divisor of this number.
	const tokens = cache.MaxChunk
	for _, c := range []struct {
		arch string
		set  models.DtypePolicy
		name string // of a recorded model; "" is a tiny one of arch
	}{
		{"llama", models.DtypeFloat32, ""},
		{"qwen3", models.DtypeFloat32, ""},
		{"qwen3_5", models.DtypeFloat32, ""},
		{"gemma3_text", models.DtypeFloat32, ""},
		// these checkpoints are float32
		{"llama", models.DtypeCheckpoint, ""},
		{"qwen3", models.DtypeCheckpoint, ""},
		{"gemma4", models.DtypeFloat32, "gemma4"},
		{"gemma4 with shared keys", models.DtypeCheckpoint, "gemma4-e"},
		{"lfm2", models.DtypeFloat32, "lfm2"},
		{"lfm2", models.DtypeCheckpoint, "lfm2"},
		{"ministral3", models.DtypeFloat32, "ministral3"},
	} {
		arch, wide := c.arch, c.set == models.DtypeFloat32
		files := fstest.MapFS(nil)
		if c.name == "" {
			files = tiny(t, arch)
		} else {
			files = recorded(t, c.name)
		}
		b, err := models.LoadFS(t.Context(), th, files, models.Options{Dtype: c.set})
		if err != nil {
			t.Fatal(err)
		}
		s, err := models.InspectFS(files, arch)
		if err != nil {
			t.Fatal(err)
		}
		f := s.Footprint
		caches := b.Model.NewCaches(cache.Options{})
		tapRows(t, th, b.Model, caches, make([]int32, tokens))
		var held int64
		for _, c := range caches {
			held += c.Bytes()
		}
		tape := int64(0) // bytes of the recurrent layers' tape, as long as the last forward
		switch arch {
		case "qwen3_5":
			tape = 64 << 10
		case "lfm2": // two layers, each with a block of rows, and the state before it twice
			tape = 2 * (cache.MaxBlock + 2*2) * 64 * 4
		}
		if got := f.Text(tokens, wide); got > held || got < held-tape {
			t.Errorf("%s: %d tokens are predicted to take %d bytes, and take %d",
				arch, tokens, got, held)
		}
		if f.ContextLength != b.Info.ContextLength {
			t.Errorf("%s: the predicted context is %d, the loaded one %d",
				arch, f.ContextLength, b.Info.ContextLength)
		}
		freeCaches(t, th, caches)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFootprintOfGrownTextEqualsCaches expects exactly the predicted memory for a text that grew by
// 100 rows at a time, in caches that were made for all its rows.
func TestFootprintOfGrownTextEqualsCaches(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = 1500 // not a multiple of any buffer size
	dir := enginetest.TinyModel(t, "llama")
	b, err := models.Load(t.Context(), th, dir, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := models.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := s.Footprint
	caches := b.Model.NewCaches(cache.Options{Rows: tokens})
	var held int64
	for n := 0; n < tokens; n += 100 {
		tapRows(t, th, b.Model, caches, make([]int32, 100))
	}
	for _, c := range caches {
		held += c.Bytes()
	}
	if got := f.Text(tokens, true); got != held {
		t.Errorf("%d tokens are predicted to take %d bytes, and take %d", tokens, got, held)
	}
	freeCaches(t, th, caches)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestFootprintOfDrafterEqualsItsMemory compares the predicted memory of a drafter's weights with
// the memory they take. It also expects a prediction for a text.
func TestFootprintOfDrafterEqualsItsMemory(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "llama"), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{enginetest.TinyDrafter(t, nil), packedDrafter(t),
		enginetest.TinyModel(t, "llama")} {
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
			models.Options{Dtype: models.DtypeFloat32})
		if err != nil {
			t.Fatal(err)
		}
		f, err := models.MeasureDrafter(dir)
		if err != nil {
			t.Fatal(err)
		}
		// Info.Bytes includes a table of angles, which is no weight.
		if got := f.Weights(true); got > d.Info.Bytes || got < d.Info.Bytes-1<<10 {
			t.Errorf("%s: its weights are predicted to take %d bytes, and take %d",
				dir, got, d.Info.Bytes)
		}
		if f.Text(256, true) == 0 {
			t.Errorf("%s: a text is predicted to take no memory", dir)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
