package models_test

import (
	"os"
	"testing"
	"testing/fstest"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
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
		b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{Dtype: c.set})
		if err != nil {
			t.Fatal(err)
		}
		s, err := models.OpenFS(files, arch).Summary()
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
		if got := f.SequenceBytes(tokens, wide); got > held || got < held-tape {
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
	if got := f.SequenceBytes(tokens, true); got != held {
		t.Errorf("%d tokens are predicted to take %d bytes, and take %d", tokens, got, held)
	}
	freeCaches(t, th, caches)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestFootprintOfDrafterEqualsItsMemory compares the predicted memory of a drafter's weights with
// the memory they take: as they are, quantized at the load, and with rows of the target's head. It also
// expects a prediction for a text.
func TestFootprintOfDrafterEqualsItsMemory(t *testing.T) {
	th := enginetest.NewThread(t)
	packed := t.TempDir()
	if err := os.CopyFS(packed, enginetest.RecordedModel(t, "testdata/parity",
		"llama-4bit")); err != nil {
		t.Fatal(err)
	}
	forPacked := map[string]any{"num_target_layers": nil, "vocab_size": 128,
		"dflash_config": map[string]any{"mask_token_id": 127, "target_layer_ids": []int{0, 1}}}
	cut := func(dir string) string {
		enginetest.CutDrafterHead(t, dir, mlx.Int32, everyThird(128)...)
		return dir
	}
	plain := enginetest.TinyModel(t, "llama")
	wide := map[string]any{"hidden_size": 64}
	large := map[string]any{"intermediate_size": 4096} // else memory is mostly rounding
	for _, c := range []struct {
		name, target, dir string
		bits              int
	}{
		{"plain", plain, enginetest.TinyDrafter(t, nil), 0},
		{"in 4 bits", plain, enginetest.TinyDrafter(t, large), 4},
		{"in 8 bits", plain, enginetest.TinyDrafter(t, large), 8},
		{"DFlash 2 in 4 bits", plain, enginetest.TinyDFlash2(t, 259, []int{0, 2}, large), 4},
		{"DSpark in 4 bits", plain, enginetest.TinyDSpark(t, 259, []int{0, 2}, large), 4},
		{"a head in 4 bits", plain, enginetest.TinyHead(t, large), 4},
		{"stored in 8 bits", plain, packedDrafter(t, 8), 0},
		{"stored in 8 bits, wanted in 4", plain, packedDrafter(t, 8), 4},
		{"a model", plain, plain, 0},
		{"a model in 4 bits", plain, enginetest.TinyModel(t, "llama", large), 4},
		{"a cut head", plain, cut(enginetest.TinyDrafter(t, nil)), 0},
		{"a cut head in 4 bits", plain, cut(enginetest.TinyDrafter(t, large)), 4},
		{"a cut wide head", enginetest.TinyModel(t, "llama", wide), cut(enginetest.TinyDrafter(t, wide)), 0},
		{"a cut packed head", packed, cut(enginetest.TinyDrafter(t, forPacked)), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := models.Load(t.Context(), th, c.target, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			enginetest.Do(t, th, func(s *mlx.Scope) error { s.ClearCache(); return nil })
			before := th.Memory().Active // a buffer that is used again may be too large
			d, err := models.LoadDrafter(t.Context(), b, c.dir, models.DrafterSettings{},
				models.Options{Dtype: models.DtypeFloat32, Bits: c.bits})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			taken := int64(th.Memory().Active - before)
			target, err := models.Inspect(c.target)
			if err != nil {
				t.Fatal(err)
			}
			f, err := measureDrafter(c.dir)
			if err != nil {
				t.Fatal(err)
			}
			f = f.QuantizedTo(c.bits).CutFrom(target.Footprint, true)
			// What is taken includes a table of angles, which is no weight, and outputs that packing pads. Small
			// arrays may lie in larger buffers, which packing used before.
			if got := f.Weights(true); got > d.Info.Bytes || got < d.Info.Bytes-3<<10 ||
				got > taken || float64(got+16<<10) < 0.97*float64(taken) {
				t.Errorf("its weights are predicted to take %d bytes, and take %d; the load takes %d",
					got, d.Info.Bytes, taken)
			}
			if f.SequenceBytes(256, true) == 0 {
				t.Error("a text is predicted to take no memory")
			}
		})
	}
}

// everyThird returns every third token of so many.
func everyThird(n int) (ids []int32) {
	for id := int32(0); int(id) < n; id += 3 {
		ids = append(ids, id)
	}
	return ids
}
