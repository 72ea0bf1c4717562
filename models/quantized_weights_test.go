package models_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestQuantizedWeights loads every recorded quantized model, packed on Linux. Its logits are mlx_lm's, and its
// weights take the predicted memory.
func TestQuantizedWeights(t *testing.T) {
	cases, err := filepath.Glob("testdata/parity/*/fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	th := enginetest.NewThread(t)
	seen := 0
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		f := openFixture(t, name)
		s, err := models.OpenFS(f.files, name).Summary()
		if err != nil {
			t.Fatal(err)
		}
		if s.Quantization == "" || !slices.Contains(f.Types, "float32") {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			b, err := models.OpenFS(f.files, name).Load(t.Context(), th, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if b.Info.Packed != th.Packs() || b.Info.Quantization != s.Quantization {
				t.Errorf("packed %t, quantization %q", b.Info.Packed, b.Info.Quantization)
			}
			// Packing pads outputs to a multiple of 16, and these models are tiny.
			want, got := s.Footprint.Weights(true), b.Info.Bytes
			if math.Abs(float64(got-want)) > 0.04*float64(want) {
				t.Errorf("the weights are predicted to take %d bytes, and take %d", want, got)
			}
			e := f.expected(t, th, "float32")
			run := parityRuns("float32")[0]
			compare(t, run.name, "float32", run.logits(t, th, b.Model, e), e)
		})
	}
	if seen < 10 {
		t.Errorf("%d quantized models are recorded", seen)
	}
}

// TestWeightsStayAsStoredInOtherTypes expects MLX's own products where the model does not compute in float32.
func TestWeightsStayAsStoredInOtherTypes(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.OpenFS(openFixture(t, "llama-8bit").files, "").Load(t.Context(), th,
		models.Options{Dtype: models.DtypeCheckpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Info.Packed || b.Info.Dtype == mlx.Float32 {
		t.Errorf("a model in %s is packed: %t", b.Info.Dtype, b.Info.Packed)
	}
}

// packedDrafter writes a DFlash drafter in so many bits.
func packedDrafter(t *testing.T, bits int) string {
	t.Helper()
	return enginetest.TinyDrafter(t, map[string]any{
		"quantization": map[string]any{"group_size": 32, "bits": bits}})
}
