package nn

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestExpertsOfALayerAreAlike expects an error that names the expert that is quantized otherwise than
// the first.
func TestExpertsOfALayerAreAlike(t *testing.T) {
	for _, global := range [][]int{{1, 2}, {0, 1}} {
		rng := rand.New(rand.NewPCG(3, 4))
		src := tensors{}
		for i := range 3 {
			path := fmt.Sprintf("e.experts.%d.down_proj", i)
			src[path+".weight"] = random(rng, "U32", 256, 4, 24, 8)
			src[path+".scales"] = random(rng, "U8", 64, 1, 24, 4)
		}
		for _, i := range global {
			src[fmt.Sprintf("e.experts.%d.down_proj.global_scale", i)] = tensor{"F32", []int{},
				make([]uint8, 4)}
		}
		w := NewDryRunWeights(src, nil)
		w.Sanitize(func(name string) (string, bool) { return name, true })
		w.experts("e", ExpertsShape{Count: 3}, 64, Part{"down_proj", 24})
		if err := w.Err(); err == nil || !strings.Contains(err.Error(), "must be alike") {
			t.Errorf("global scales of %v: %v", global, err)
		}
	}
}

// TestContainersHaveGlobalScales expects that nvfp4 of another program is refused without the scale
// of the whole matrix: no product with it would be right.
func TestContainersHaveGlobalScales(t *testing.T) {
	for _, section := range []string{`{"quant_method": "modelopt", "quant_algo": "NVFP4"}`,
		`{"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}`} {
		config, err := ReadQuantization([]byte(section))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		w := NewDryRunWeights(tensors{"a.weight": random(rng, "U8", 256, 1, 24, 32),
			"a.weight_scale": random(rng, "F8_E4M3", 64, 1, 24, 4)}, config)
		w.Sanitize(func(name string) (string, bool) { return name, true })
		w.Linear("a", 64, 24, false)
		if err := w.Err(); err == nil || !strings.Contains(err.Error(), "a lacks the scale") {
			t.Errorf("%s: %v", section, err)
		}
	}
}

// TestMissingExpertsAreNotCounted expects that a checkpoint with one expert of many is refused at
// the second.
func TestMissingExpertsAreNotCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	src := tensors{
		"e.experts.0.down_proj.weight": random(rng, "F32", 64, 4, 8, 16),
		"e.experts.0.down_proj.bias":   random(rng, "F32", 64, 4, 8),
	}
	w := NewDryRunWeights(src, nil)
	w.experts("e", ExpertsShape{Count: MaxExperts, Bias: true}, 16, Part{"down_proj", 8})
	if err := w.Err(); err == nil || !strings.Contains(err.Error(), "lacks 2 tensors "+
		"(e.experts.1.down_proj.weight, e.experts.1.down_proj.bias)") {
		t.Errorf("%v", err)
	}
}
