package gguf

import (
	"math"
	"slices"
)

// ropeScaling sets rope_scaling.
func (c *config) ropeScaling() {
	switch kind := c.metadata.string(c.prefix + "rope.scaling.type"); kind {
	case "", "none":
	case "linear", "yarn":
		scaling := map[string]any{"rope_type": kind}
		for field, key := range map[string]string{"factor": "factor",
			"original_max_position_embeddings": "original_context_length",
			"beta_fast":                        "yarn_beta_fast",
			"beta_slow":                        "yarn_beta_slow"} {
			if v, ok := c.float("rope.scaling." + key); ok && v != 0 {
				scaling[field] = v
			}
		}
		c.fields["rope_scaling"] = scaling
	default:
		c.fail(unsupported("has a rotary embedding of the type %.40q, which is not supported; "+
			"supported are linear and yarn", kind))
	}
}

// ropeFactorsTensor divides the frequencies of a rotary embedding. Converters make it of a
// rope_scaling of the type llama3.
const ropeFactorsTensor = "rope_freqs.weight"

// Values of a Llama 3, which the metadata does not have.
const (
	lowFreqFactor  = 1
	highFreqFactor = 4
	minOriginal    = 1024 // positions that it may have been trained with
	maxOriginal    = 1 << 20
)

// ropeFactors finds the rope_scaling that ropeFactorsTensor was made of.
func (m *model) ropeFactors(c *config) error {
	factors, err := m.vector(ropeFactorsTensor, c.headDim()/2)
	if err != nil || len(factors) == 0 {
		return err
	}
	theta, ok := c.fields["rope_theta"].(float32)
	if !ok {
		theta = 10000
	}
	c.llama3(factors, float64(theta))
	return c.err
}

// maxVector bounds the elements of a tensor that is read for config.json: those of a head.
const maxVector = 1 << 14

// vector reads a tensor of n elements of F32. It returns nil if there is no tensor of that name. If
// only a header is available, every element is 1.
func (m *model) vector(name string, n int) ([]float32, error) {
	for _, t := range m.header.tensors {
		if t.name != name {
			continue
		}
		if t.kind != f32 || len(t.shape) != 1 || t.shape[0] != n || n > maxVector {
			return nil, damaged("tensor %q does not have %d elements of F32", t.name,
				min(n, maxVector))
		}
		if m.scan == scanHeader {
			return slices.Repeat([]float32{1}, n), nil
		}
		data := make([]byte, t.bytes)
		if n, err := m.files[t.file].ReadAt(data, t.offset); n < len(data) {
			return nil, readError(err)
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = math.Float32frombits(little.Uint32(data[4*i:]))
			if !finite(values[i]) {
				return nil, damaged("tensor %q has %v, which is no number", t.name, values[i])
			}
		}
		return values, nil
	}
	return nil, nil
}

// llama3 sets rope_scaling to the one of a Llama 3 that gives the factors, or else to the factors.
func (c *config) llama3(factors []float32, theta float64) {
	factor := slices.Max(factors)
	switch least := slices.Min(factors); {
	case least <= 0:
		c.fail(damaged("tensor %q has %v, which divides no frequency", ropeFactorsTensor, least))
		return
	case least == 1 && factor == 1:
		return
	}
	for original := minOriginal; original <= maxOriginal; original *= 2 {
		if !fits(factors, theta, float64(factor), float64(original)) {
			continue
		}
		c.fields["rope_scaling"] = map[string]any{
			"rope_type": "llama3", "factor": factor, "low_freq_factor": lowFreqFactor,
			"high_freq_factor": highFreqFactor, "original_max_position_embeddings": original,
		}
		return
	}
	c.fields["rope_scaling"] = map[string]any{"rope_type": "longrope", "factor": 1,
		"long_factor": factors, "short_factor": factors}
}

// fits reports whether a Llama 3 has these factors.
func fits(factors []float32, theta, factor, original float64) bool {
	for i, f := range factors {
		wave := 2 * math.Pi * math.Pow(theta, float64(i)/float64(len(factors)))
		want := 1.0
		switch low, high := original/lowFreqFactor, original/highFreqFactor; {
		case wave > low:
			want = factor
		case wave >= high:
			smooth := (original/wave - lowFreqFactor) / (highFreqFactor - lowFreqFactor)
			want = 1 / ((1-smooth)/factor + smooth)
		}
		if math.Abs(float64(f)-want) > 1e-4*want {
			return false
		}
	}
	return true
}
