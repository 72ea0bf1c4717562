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

// TestUnpackedWeights loads every recorded quantized model dequantized. Its logits are mlx_lm's of the
// quantized one, and its weights take the predicted memory.
func TestUnpackedWeights(t *testing.T) {
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
			b, err := models.OpenFS(f.files, name).Load(t.Context(), th, models.Options{Dequantize: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if !b.Info.Dequantized || b.Info.Quantization != s.Quantization {
				t.Errorf("unpacked %t, quantization %q", b.Info.Dequantized, b.Info.Quantization)
			}
			if s.Footprint.Dequantized().Quantized >= s.Footprint.Quantized {
				t.Error("the footprint does not know that it unpacks")
			}
			want, got := s.Footprint.Dequantized().Weights(true), b.Info.Bytes
			if math.Abs(float64(got-want)) > 0.03*float64(want) {
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

// TestUnpackedDrafter loads a DFlash drafter quantized and dequantized. The logits of its blocks are the
// same up to rounding, and its weights take the predicted memory. Where products take it as it is
// quantized, it stays so.
func TestUnpackedDrafter(t *testing.T) {
	th := enginetest.NewThread(t)
	b := loadTiny(t, th, "llama")
	defer b.Close()
	for _, bits := range []int{4, 6, 8} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) { loadBothForms(t, th, b, bits) })
	}
}

// loadBothForms is TestUnpackedDrafter for a drafter of so many bits.
func loadBothForms(t *testing.T, th *mlx.Thread, b *models.Bundle, bits int) {
	t.Helper()
	dir := packedDrafter(t, bits)
	direct := mlx.PackedMatMulTakes(mlx.Quantization{GroupSize: 32, Bits: bits, Mode: "affine"})
	f, err := measureDrafter(dir)
	if unpacks := f.Dequantized().Quantized < f.Quantized; err != nil || unpacks == direct {
		t.Fatalf("its footprint unpacks: %t, %v", unpacks, err)
	}
	var logits [2][]float32
	for i, unpack := range []bool{false, true} {
		d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
			models.Options{Dequantize: unpack})
		if err != nil {
			t.Fatal(err)
		}
		want := f.Weights(true)
		if unpack {
			want = f.Dequantized().Weights(true)
		}
		// Info.Bytes includes a table of angles, which is no weight.
		if got := d.Info.Bytes; d.Info.Dequantized != (unpack && !direct) || got < want || got > want+1<<10 {
			t.Errorf("unpacked %t, its weights take %d bytes, want %d", d.Info.Dequantized, got, want)
		}
		logits[i] = draftOnce(t, th, b.Model, d.Block)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, packed := range logits[0] {
		if diff := math.Abs(float64(packed - logits[1][i])); diff > 1e-4 {
			t.Fatalf("logit %d is %g packed and %g unpacked", i, packed, logits[1][i])
		}
	}
}
