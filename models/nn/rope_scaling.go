package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// RopeScaling is rope_scaling or rope_parameters of config.json. Comments give the default.
type RopeScaling struct {
	Type                          string    `json:"rope_type"`
	OldType                       string    `json:"type"` // its name before transformers 4.45
	Theta                         *float64  `json:"rope_theta"`
	Factor                        float64   `json:"factor"`                           // proportional, 1
	LowFreqFactor                 *float64  `json:"low_freq_factor"`                  // llama3, 1
	HighFreqFactor                *float64  `json:"high_freq_factor"`                 // llama3, 4
	OriginalMaxPositionEmbeddings *float64  `json:"original_max_position_embeddings"` // llama3 8192, yarn 4096
	BetaFast                      *float64  `json:"beta_fast"`                        // yarn, 32
	BetaSlow                      *float64  `json:"beta_slow"`                        // yarn, 1
	Truncate                      *bool     `json:"truncate"`                         // yarn, true
	AttentionFactor               *float64  `json:"attention_factor"`                 // yarn, from the next two
	Mscale                        *float64  `json:"mscale"`                           // yarn, 1
	MscaleAllDim                  float64   `json:"mscale_all_dim"`                   // yarn
	LongFactor                    []float64 `json:"long_factor"`                      // longrope
	ShortFactor                   []float64 `json:"short_factor"`                     // longrope, the same here
	PartialRotaryFactor           *float64  `json:"partial_rotary_factor"`            // rotated part of a head, 1

	// Llama4ScalingBeta is not part of a rotary embedding. An architecture that supports it removes
	// it; see [Growth].
	Llama4ScalingBeta *float64 `json:"llama_4_scaling_beta"`
}

// ropeTypes are the types that are computed. Of longrope that is the form that package gguf makes: one
// list of factors for texts of any length.
var ropeTypes = []string{"default", "linear", "llama3", "longrope", "proportional", "yarn"}

// ropeKeys are the keys of a section. The last four change nothing here: texts have one position in
// all three axes of mrope, finetuned only says how a checkpoint was made, and factor says what
// max_position_embeddings would.
var ropeKeys = []string{
	"rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
	"original_max_position_embeddings", "beta_fast", "beta_slow", "truncate", "attention_factor",
	"mscale", "mscale_all_dim", "long_factor", "short_factor", "partial_rotary_factor", "llama_4_scaling_beta",
	"mrope_section", "mrope_interleaved", "finetuned", "max_position_embeddings",
}

// RopeKey is the message of CheckKeys for the section of a rotary embedding.
const RopeKey = "%q of a rotary embedding is not supported"

// UnmarshalJSON parses a section and refuses what it does not know, by name: a key that is silently
// ignored would change every answer. A null value is ignored.
func (c *RopeScaling) UnmarshalJSON(text []byte) error {
	var kind struct {
		Type    string `json:"rope_type"`
		OldType string `json:"type"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	// Other types have other keys, so the type is looked at first.
	if err := (&RopeScaling{Type: kind.Type, OldType: kind.OldType}).checkType(); err != nil {
		return err
	}
	if err := CheckKeys(text, RopeKey, ropeKeys...); err != nil {
		return err
	}
	type plain RopeScaling // without this method
	if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return err
	}
	return c.check()
}

// Kind returns the type of scaling, "default" for none.
func (c *RopeScaling) Kind() string {
	if c == nil {
		return "default"
	}
	return cmp.Or(c.OldType, c.Type, "default")
}

func (c *RopeScaling) checkType() error {
	if !slices.Contains(ropeTypes, c.Kind()) {
		return c.unsupported()
	}
	return nil
}

func (c *RopeScaling) unsupported() error {
	return Unsupported("rope type %q is not supported; "+
		"supported are default, linear, llama3, proportional and yarn", c.Kind())
}

// check refuses types that are not computed, and values that no formula has.
func (c *RopeScaling) check() error {
	if err := c.checkType(); err != nil || c == nil {
		return err
	}
	kind := c.Kind()
	if kind == "proportional" {
		return c.checkProportional()
	}
	if kind == "longrope" && (c.Factor != 1 || c.LongFactor == nil || !slices.Equal(c.LongFactor, c.ShortFactor)) {
		return c.unsupported()
	}
	if kind != "default" && !(c.Factor > 0) {
		return fmt.Errorf("rope type %s needs a factor above 0, not %v", kind, c.Factor)
	}
	for _, v := range []struct {
		name  string
		value *float64
	}{
		{"low_freq_factor", c.LowFreqFactor},
		{"high_freq_factor", c.HighFreqFactor},
		{"original_max_position_embeddings", c.OriginalMaxPositionEmbeddings},
		{"beta_fast", c.BetaFast},
		{"beta_slow", c.BetaSlow},
		{"attention_factor", c.AttentionFactor},
	} {
		if v.value != nil && !(*v.value > 0) {
			return fmt.Errorf("%s of a rotary embedding is %v, not above 0", v.name, *v.value)
		}
	}
	return c.checkMscales()
}

// checkMscales refuses mscales with which rows would be multiplied by 0 or less, or divided by it.
func (c *RopeScaling) checkMscales() error {
	for _, v := range []struct {
		name string
		m    float64
	}{{"mscale", or(c.Mscale, 1)}, {"mscale_all_dim", c.MscaleAllDim}} {
		if !(c.mscale(v.m) > 0) {
			return fmt.Errorf("%s of a rotary embedding is %v, too small for a factor of %v",
				v.name, v.m, c.Factor)
		}
	}
	return nil
}

// checkProportional refuses a factor or a rotated part that the formula has no use for.
func (c *RopeScaling) checkProportional() error {
	if part := or(c.PartialRotaryFactor, 1); !(part > 0 && part <= 1) || c.Factor < 0 {
		return fmt.Errorf("rope type proportional has no use for a factor of %v "+
			"and a partial_rotary_factor of %v", c.Factor, part)
	}
	return nil
}

// CheckFullRotary is [RopeArgs.CheckFullRotary] for one section of config.json.
func (c *RopeScaling) CheckFullRotary() error {
	if c != nil && or(c.PartialRotaryFactor, 1) != 1 {
		return Unsupported("config.json: partial_rotary_factor %v is not supported, only 1",
			*c.PartialRotaryFactor)
	}
	return nil
}

// context returns the positions that a yarn stretches its original ones to, or 0 if it does not
// say. Other types were trained on max_position_embeddings, and their factor says nothing about it.
func (c *RopeScaling) context() int {
	if c.Kind() != "yarn" || c.OriginalMaxPositionEmbeddings == nil {
		return 0
	}
	return int(min(c.Factor**c.OriginalMaxPositionEmbeddings, MaxPositions+1))
}

func or(v *float64, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	return *v
}

// wavelengths returns base^(2i/dims). MLX takes the inverse of frequencies.
func wavelengths(dims int, base float64) []float64 {
	out := make([]float64, dims/2)
	for i := range out {
		out[i] = math.Pow(base, float64(2*i)/float64(dims))
	}
	return out
}

// llama3 stretches long wavelengths by factor, keeps short ones, and interpolates between them, as
// Llama 3.1's config does.
func (c *RopeScaling) llama3(dims int, base float64) []float32 {
	low, high := or(c.LowFreqFactor, 1), or(c.HighFreqFactor, 4)
	context := or(c.OriginalMaxPositionEmbeddings, 8192)
	out := make([]float32, 0, dims/2)
	for _, f := range wavelengths(dims, base) {
		switch wavelen := 2 * math.Pi * f; {
		case wavelen > context/low:
			f *= c.Factor
		case wavelen > context/high:
			smooth := (context/wavelen - low) / (high - low)
			f /= (1-smooth)/c.Factor + smooth
		}
		out = append(out, float32(f))
	}
	return out
}

// proportional rotates the first part of the pairs of a head, each as far as if all were rotated.
// The rest have infinite wavelengths. So a part of a long head keeps the wavelengths of the head.
func (c *RopeScaling) proportional(dims int, base float64) []float32 {
	turned := int(float64(dims)*or(c.PartialRotaryFactor, 1)) / 2
	out := make([]float32, 0, dims/2)
	for i, f := range wavelengths(dims, base) {
		if i >= turned {
			f = math.Inf(1)
		}
		out = append(out, float32(cmp.Or(c.Factor, 1)*f))
	}
	return out
}

// yarn blends stretched and plain wavelengths by a ramp over the dimensions (Peng et al. 2023, eq.
// 23). The ramp begins and ends at whole dimensions, unless truncate is false.
func (c *RopeScaling) yarn(dims int, base float64) []float32 {
	context := or(c.OriginalMaxPositionEmbeddings, 4096)
	// dimension returns the dimension whose wavelength makes the given turns within the context.
	dimension := func(turns float64) float64 {
		return float64(dims) * math.Log(context/(turns*2*math.Pi)) / (2 * math.Log(base))
	}
	low, high := dimension(or(c.BetaFast, 32)), dimension(or(c.BetaSlow, 1))
	if c.Truncate == nil || *c.Truncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dims-1))
	if low == high {
		high += 0.001
	}
	out := make([]float32, 0, dims/2)
	for i, f := range wavelengths(dims, base) {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		plain := 1 - ramp
		out = append(out, float32(c.Factor*f*f/(c.Factor*f*plain+f*(1-plain))))
	}
	return out
}

// attentionFactor returns what a yarn multiplies the rotated queries and keys by: what
// transformers' attention_factor says, or else the quotient of the two mscales, as in mlx_lm.
func (c *RopeScaling) attentionFactor() float64 {
	return or(c.AttentionFactor, c.mscale(or(c.Mscale, 1))/c.mscale(c.MscaleAllDim))
}

// mscale returns what YaRN multiplies scores by, with m of its formula.
func (c *RopeScaling) mscale(m float64) float64 {
	if c.Factor <= 1 {
		return 1
	}
	return 0.1*m*math.Log(c.Factor) + 1
}
