package gguf

import (
	"maps"
	"math"
	"slices"
)

// checkFixed refuses metadata that changes what a model computes and that the family has not read:
// such a key may only have the value that is computed anyway. It is called after the family's own
// keys are read.
func (c *config) checkFixed(scores gating) {
	extrapolation := 0.0
	if c.metadata.string(c.prefix+"rope.scaling.type") == "yarn" {
		extrapolation = 1
	}
	theta, ok := c.float("rope.freq_base")
	if !ok {
		theta = 10000
	}
	head := float64(c.headDim())
	window := float64(c.uint("attention.key_length_swa", int(head)))
	original := float64(c.uint("rope.scaling.original_context_length", 0))
	allowed := map[string][]float64{
		"attention.scale":                  {0, 1 / math.Sqrt(head)},
		"attention.temperature_length":     {0, original},
		"attention.temperature_scale":      {0},
		"attention.value_length":           {head},
		"attention.value_length_swa":       {window},
		"expert_gating_func":               {0, float64(scores)},
		"expert_group_count":               {0, 1},
		"expert_group_used_count":          {0, 1},
		"expert_weights_scale":             {0, 1},
		"rope.dimension_count":             {head},
		"rope.dimension_count_swa":         {window},
		"rope.freq_base_swa":               {float64(theta)},
		"rope.scale_linear":                {0, 1},
		"rope.scaling.attn_factor":         {1},
		"rope.scaling.yarn_attn_factor":    {1},
		"rope.scaling.yarn_ext_factor":     {extrapolation},
		"rope.scaling.yarn_log_multiplier": {0},
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		c.checkValue(key, allowed[key]...)
	}
	c.checkWindow()
	c.checkSame("attention.head_count")
	c.checkSame("attention.head_count_kv")
	for _, key := range []string{"attention.causal", "expert_weights_norm"} {
		if v, ok := c.metadata[c.prefix+key]; ok && v != true && !c.read[key] {
			c.fail(unsupported("has %s%s = %s, which is not supported; supported is true",
				c.prefix, key, abbreviated(v)))
		}
	}
}

// A gating is how a layer scores its experts, as llama.cpp numbers it.
type gating int64

const (
	softmaxGating gating = 1 // over all experts
	sigmoidGating gating = 2 // each expert by itself
	chosenGating  gating = 3 // softmax over the chosen experts
)

// checkWindow refuses a sliding window where every layer attends all positions. One that no text
// fills changes nothing, and the windows in passed are ignored.
func (c *config) checkWindow(passed ...int) {
	const key = "attention.sliding_window"
	if c.read[key] {
		return
	}
	window := c.uint(key, 0)
	if window > 0 && window < c.uint("context_length", 0) && !slices.Contains(passed, window) {
		c.fail(unsupported("has %s%s = %d, which is not supported; supported is none", c.prefix, key,
			window))
	}
}

// checkSame refuses different numbers for each layer, unless the family reads them.
func (c *config) checkSame(key string) {
	list := c.list(key)
	if list == nil || c.read[key] || slices.Max(list) == slices.Min(list) {
		return
	}
	c.fail(unsupported("has layers with different %s%s, which is not supported", c.prefix, key))
}

// checkValue rejects values other than the given ones, unless the family reads the key.
func (c *config) checkValue(key string, values ...float64) {
	if c.read[key] {
		return
	}
	v, ok := c.float(key)
	if ok && !slices.ContainsFunc(values, func(want float64) bool { return about(v, want) }) {
		c.fail(unsupported("has %s%s = %v, which is not supported; supported is %v", c.prefix, key,
			v, values[len(values)-1]))
	}
}

// about reports whether a float32 is a number up to rounding.
func about(v float32, want float64) bool {
	return math.Abs(float64(v)-want) <= 1e-3*math.Abs(want)
}
