package models_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/models"
)

// TestFootprintOfQuantizedTextEqualsCaches compares the predicted memory of a text with that of the
// caches. The models have rows alone, rings beside them, shared keys, or recurrent states.
func TestFootprintOfQuantizedTextEqualsCaches(t *testing.T) {
	th := enginetest.NewThread(t)
	const tokens = cache.MaxChunk / 2 // buffers grow by that
	for _, name := range []string{"qwen3", "gemma3", "gemma4-e", "gpt-oss", "qwen3-next-moe"} {
		for _, policy := range []models.DtypePolicy{models.DtypeFloat32, models.DtypeCheckpoint} {
			files := recorded(t, name)
			b, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{Dtype: policy})
			if err != nil {
				t.Fatal(err)
			}
			s, err := models.OpenFS(files, name).Summary()
			if err != nil {
				t.Fatal(err)
			}
			wide := policy == models.DtypeFloat32
			whole := s.Footprint.SequenceBytes(tokens, wide)
			wholeCaches := b.Model.NewCaches(cache.Options{})
			tapRows(t, th, b.Model, wholeCaches, make([]int32, tokens))
			for _, bits := range []int{8, 4} {
				f, err := s.Footprint.QuantizedKV(bits)
				if err != nil {
					t.Fatal(err)
				}
				caches := b.Model.NewCaches(cache.Options{Bits: bits})
				tapRows(t, th, b.Model, caches, make([]int32, tokens))
				var held, tapes, layer int64 // layer: whole rows of the widest that is quantized
				for i, c := range caches {
					held += c.Bytes()
					if _, ok := c.(*cache.Quantized); ok {
						layer = max(layer, wholeCaches[i].Bytes())
					}
					if r, ok := c.(*cache.Recurrent); ok {
						tapes += r.Bytes()
					}
				}
				got := f.SequenceBytes(tokens, wide)
				if got > held || got < held-tapes || got >= whole {
					t.Errorf("%s, %s, %d bits: %d tokens are predicted to take %d of %d bytes, and take %d",
						name, policy, bits, tokens, got, whole, held)
				}
				freeCaches(t, th, caches)
				// one layer is dequantized at a time, keys and then values
				if more := f.DequantizingKV(true).SequenceBytes(tokens, wide) - got; more != 2*layer {
					t.Errorf("%s, %s, %d bits: unpacked rows are predicted to take %d bytes, twice %d", name,
						policy, bits, more, layer)
				}
			}
			freeCaches(t, th, wholeCaches)
			if s.Footprint.DequantizingKV(true).SequenceBytes(tokens, wide) != whole {
				t.Errorf("%s: rows that are not packed are unpacked", name)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHeadsThatCannotBeQuantizedAreRefused refuses models by the size of their heads, and bits by their
// number.
func TestHeadsThatCannotBeQuantizedAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		bits int
		want string
	}{
		{"smollm3", 8, "heads of 16"}, {"glm4-moe-lite", 4, "heads of 16"},
		{"qwen3", 5, "5 bits"}, {"qwen3", -4, "-4 bits"}, {"glimmer", 0, ""}, {"gpt-oss", 4, ""},
	} {
		s, err := models.OpenFS(recorded(t, c.name), c.name).Summary()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Footprint.QuantizedKV(c.bits)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s with %d bits: %v, want %q", c.name, c.bits, err, c.want)
		}
	}
}
