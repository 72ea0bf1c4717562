package models_test

import (
	"math"
	"os"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/models/gguf"
)

// TestPackedGGUFIsExact loads a file whose embedding MLX's format only comes near. Packed it has the file's own
// values, and nothing is lost. What is told of the model stays the same.
func TestPackedGGUFIsExact(t *testing.T) {
	const file = "testdata/coarse.gguf"
	summary, err := models.Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	thread := enginetest.NewThread(t)
	var done, total int64
	b, err := models.Load(t.Context(), thread, file, models.Options{Progress: func(d, n int64) { done, total = d, n }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Losses != nil || !b.Info.Packed || b.Info.Quantization != summary.Quantization {
		t.Errorf("it loses %v, is packed: %t, and has the quantization %q, not %q", b.Losses,
			b.Info.Packed, b.Info.Quantization, summary.Quantization)
	}
	if done != total || total == 0 {
		t.Errorf("%d of %d bytes are loaded in the end", done, total)
	}
	want := summary.Footprint.Weights(true)
	if off := math.Abs(float64(b.Info.Bytes)/float64(want) - 1); off > 0.03 {
		t.Errorf("its weights take %d bytes, and %d were predicted", b.Info.Bytes, want)
	}
	folder, err := gguf.Open(os.DirFS("testdata"), "coarse.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := folder.OpenExact()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const name = "model.embed_tokens.weight"
	bits, group, _ := folder.Exact(name)
	tensors := enginetest.TensorsIn(t, f)
	enginetest.Do(t, thread, func(s *mlx.Scope) error {
		load := func(end string) *mlx.Array { return tensors.Load(s, "model.embed_tokens"+end) }
		p := s.Pack(load(".weight"), load(".scales"), load(".biases"), nil,
			mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"}, false)
		ids := s.Arange(0, b.Model.Config().VocabSize, mlx.Int32)
		table, err := enginetest.ReadRows(s, s.PackedRows(p, ids))
		if err != nil {
			return err
		}
		rows, err := enginetest.ReadRows(s, b.Model.(lm.Embedder).Embed(s, ids))
		for i := range rows {
			if !slices.Equal(rows[i], table[i]) {
				t.Errorf("row %d is not the file's", i)
				break
			}
		}
		return err
	})
}
