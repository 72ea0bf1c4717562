package nn

import (
	"fmt"
	"math"

	"tandem/engine/mlx"
)

// RopeScaling is rope_scaling or rope_parameters of config.json.
type RopeScaling struct {
	Type                          string   `json:"rope_type"`
	OldType                       string   `json:"type"` // its name before transformers 4.45
	Theta                         *float64 `json:"rope_theta"`
	Factor                        float64  `json:"factor"`
	LowFreqFactor                 *float64 `json:"low_freq_factor"`                  // llama3, 1
	HighFreqFactor                *float64 `json:"high_freq_factor"`                 // llama3, 4
	OriginalMaxPositionEmbeddings *float64 `json:"original_max_position_embeddings"` // llama3 8192, yarn 4096
	BetaFast                      *float64 `json:"beta_fast"`                        // yarn, 32
	BetaSlow                      *float64 `json:"beta_slow"`                        // yarn, 1
	Mscale                        *float64 `json:"mscale"`                           // yarn, 1
	MscaleAllDim                  float64  `json:"mscale_all_dim"`                   // yarn
}

// Rope is a rotary embedding of whole heads.
type Rope struct {
	rope   mlx.Rope
	mscale float32 // of the rotated rows, 1 = none
}

// Rope prepares the embedding of heads of dims elements. It rotates pairs of
// neighbours if traditional, else the halves of a head against each other.
// scaling may be nil.
func (w *Weights) Rope(dims int, base float64, traditional bool, scaling *RopeScaling) *Rope {
	r := &Rope{rope: mlx.Rope{Dims: dims, Traditional: traditional, Base: float32(base), Scale: 1}, mscale: 1}
	if dims%2 != 0 || !(base > 1) || math.IsInf(base, 0) {
		w.fail(fmt.Errorf("config.json: no rotary embedding with rope_theta %v and heads of %d", base, dims))
		return r
	}
	if scaling == nil {
		return r
	}
	kind := scaling.OldType
	if kind == "" {
		kind = scaling.Type
	}
	if kind != "" && kind != "default" && !(scaling.Factor > 0) {
		w.fail(fmt.Errorf("config.json: rope type %s needs a factor above 0, not %v", kind, scaling.Factor))
		return r
	}
	var freqs []float32
	switch kind {
	case "", "default":
		return r
	case "linear":
		r.rope.Scale = float32(1 / scaling.Factor)
		return r
	case "llama3":
		freqs = scaling.llama3(dims, base)
	case "yarn":
		freqs = scaling.yarn(dims, base)
		r.mscale = float32(yarnMscale(scaling.Factor, or(scaling.Mscale, 1)) / yarnMscale(scaling.Factor, scaling.MscaleAllDim))
	default:
		w.fail(unsupported("config.json: rope type %q is not supported; supported are default, linear, llama3 and yarn", kind))
		return r
	}
	r.rope.Freqs = mlx.New(w.scope, freqs, len(freqs))
	w.keep(r.rope.Freqs)
	return r
}

func or(v *float64, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	return *v
}

// wavelengths returns base^(2i/dims): MLX wants the inverse of frequencies.
func wavelengths(dims int, base float64) []float64 {
	out := make([]float64, dims/2)
	for i := range out {
		out[i] = math.Pow(base, float64(2*i)/float64(dims))
	}
	return out
}

// llama3 stretches long wavelengths by factor, leaves short ones, and
// interpolates between (Llama 3.1's config).
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

// yarn blends stretched and plain wavelengths by a ramp over the dimensions
// (Peng et al. 2023, eq. 23).
func (c *RopeScaling) yarn(dims int, base float64) []float32 {
	context := or(c.OriginalMaxPositionEmbeddings, 4096)
	// dimension whose wavelength makes the given turns within the context
	dimension := func(turns float64) float64 {
		return float64(dims) * math.Log(context/(turns*2*math.Pi)) / (2 * math.Log(base))
	}
	low := max(math.Floor(dimension(or(c.BetaFast, 32))), 0)
	high := min(math.Ceil(dimension(or(c.BetaSlow, 1))), float64(dims-1))
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

func yarnMscale(scale, mscale float64) float64 {
	if scale <= 1 {
		return 1
	}
	return 0.1*mscale*math.Log(scale) + 1
}

// Forward rotates x (1, heads, n, D), whose rows stand at pos, pos+1, ...
func (r *Rope) Forward(s *mlx.Scope, x *mlx.Array, pos int) *mlx.Array {
	if r.mscale != 1 {
		x = s.Mul(x, s.Scalar(float64(r.mscale), x.Dtype()))
	}
	return s.Rope(x, r.rope, pos)
}
