package models_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// TestQuantizedWeights loads every recorded quantized model packed and dequantized. Its logits are mlx_lm's, and its
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
		for _, dequantize := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dequantized %t", name, dequantize), func(t *testing.T) {
				b, err := models.OpenFS(f.files, name).Load(t.Context(), th, models.Options{Dequantize: dequantize})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				if b.Info.Dequantized != dequantize || b.Info.Quantization != s.Quantization {
					t.Errorf("dequantized %t, quantization %q", b.Info.Dequantized, b.Info.Quantization)
				}
				size := s.Footprint
				if dequantize {
					size = size.Dequantized()
				}
				// Packing pads outputs to a multiple of 16, and these models are tiny.
				want, got := size.Weights(true), b.Info.Bytes
				if math.Abs(float64(got-want)) > 0.04*float64(want) {
					t.Errorf("the weights are predicted to take %d bytes, and take %d", want, got)
				}
				e := f.expected(t, th, "float32")
				run := parityRuns("float32")[0]
				compare(t, run.name, "float32", run.logits(t, th, b.Model, e), e)
			})
		}
	}
	if seen < 10 {
		t.Errorf("%d quantized models are recorded", seen)
	}
}

// TestUnpackNeedsFloat32 expects weights as stored where the model does not compute in float32.
func TestUnpackNeedsFloat32(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.OpenFS(openFixture(t, "llama-8bit").files, "").Load(t.Context(), th, models.Options{Dtype: models.DtypeCheckpoint, Dequantize: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Info.Dequantized {
		t.Errorf("a model in %s is unpacked", b.Info.Dtype)
	}
}

// packedDrafter writes a DFlash drafter in so many bits.
func packedDrafter(t *testing.T, bits int) string {
	t.Helper()
	return enginetest.TinyDrafter(t, map[string]any{
		"quantization": map[string]any{"group_size": 32, "bits": bits}})
}

// TestQuantizedDrafter loads a DFlash drafter. It stays packed, whether quantized weights may be dequantized or not,
// and takes the predicted memory.
func TestQuantizedDrafter(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "llama")
	defer b.Close()
	for _, bits := range []int{4, 6, 8} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) { loadBothForms(t, th, b, bits) })
	}
}

// loadBothForms is TestQuantizedDrafter for a drafter of so many bits.
func loadBothForms(t *testing.T, th *mlx.Thread, b *models.Bundle, bits int) {
	t.Helper()
	dir := packedDrafter(t, bits)
	f, err := measureDrafter(dir)
	if err != nil || f.Dequantized().Weights(true) != f.Weights(true) {
		t.Fatalf("its footprint differs dequantized, or %v", err)
	}
	var logits [2][]float32
	for i, dequantize := range []bool{false, true} {
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
			models.Options{Dequantize: dequantize})
		if err != nil {
			t.Fatal(err)
		}
		// Info.Bytes includes a table of angles, which is no weight.
		want := f.Weights(true)
		if got := d.Info.Bytes; d.Info.Dequantized || got < want || got > want+1<<10 {
			t.Errorf("dequantized %t, its weights take %d bytes, want %d", d.Info.Dequantized, got, want)
		}
		logits[i] = draftOnce(t, th, b.Model, d.Block)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(logits[0], logits[1]) {
		t.Error("its logits depend on what does not concern it")
	}
}
