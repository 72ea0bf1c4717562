package nn

import (
	"fmt"
	"math"

	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// Rope is a rotary embedding of heads, or of their first elements.
//
// MLX has a kernel for it on Metal. On the CPU, MLX computes sines and cosines again in every
// layer, by some twenty small operations. A table for each forward, shared by all layers, rotates
// in half the time there.
type Rope struct {
	rope   mlx.Rope
	mscale float32 // of the rotated rows; 1 has no effect

	inverse *mlx.Array // (D/2) float32, radians per position; nil = use the kernel
}

// Rope prepares the embedding of the first dims elements of heads. If traditional, it rotates pairs
// of neighbours, otherwise the two halves against each other. scaling may be nil.
func (w *Weights) Rope(dims int, base float64, traditional bool, scaling *RopeScaling) *Rope {
	return w.rope(dims, base, traditional, func(r *Rope) error { return r.rescale(w, base, scaling) })
}

// LongRope prepares an embedding whose wavelengths are stretched, each by its factor. Rotated rows
// are multiplied by scale. It rotates halves of heads.
func (w *Weights) LongRope(dims int, base float64, factors []float64, scale float64) *Rope {
	return w.rope(dims, base, false, func(r *Rope) error {
		r.mscale = float32(scale)
		return r.stretch(w, base, factors)
	})
}

// stretch multiplies each wavelength by its factor.
func (r *Rope) stretch(w *Weights, base float64, factors []float64) error {
	half := r.rope.Dims / 2
	if len(factors) != half {
		return fmt.Errorf("config.json: the rotary embedding has %d factors, not %d", len(factors), half)
	}
	s, exponents, stretch := w.scope, make([]float32, half), make([]float32, half)
	for i, f := range factors {
		if !(f > 0) {
			return fmt.Errorf("config.json: factor %v of the rotary embedding is not above 0", f)
		}
		exponents[i], stretch[i] = float32(2*i)/float32(r.rope.Dims), float32(f)
	}
	// MLX computes the wavelengths: at far positions their last bit shows.
	plain := s.Power(s.Scalar(base, mlx.Float32), mlx.New(s, exponents, half))
	r.rope.Freqs = s.Mul(mlx.New(s, stretch, half), plain)
	w.keep([]*mlx.Array{r.rope.Freqs})
	return nil
}

// rope prepares an embedding that rescale has changed.
func (w *Weights) rope(dims int, base float64, traditional bool, rescale func(*Rope) error) *Rope {
	r := &Rope{
		rope:   mlx.Rope{Dims: dims, Traditional: traditional, Base: float32(base), Scale: 1},
		mscale: 1,
	}
	if dims <= 0 || dims%2 != 0 || !(base > 1) || math.IsInf(base, 0) {
		w.fail(fmt.Errorf("config.json: no rotary embedding with rope_theta %v and heads of %d",
			base, dims))
		return r
	}
	if err := rescale(r); err != nil {
		w.fail(err)
	}
	if !traditional && !w.scope.Thread().GPU() {
		r.inverse = r.frequencies(w.scope)
		w.keep([]*mlx.Array{r.inverse})
	}
	return r
}

// rescale applies the scaling of config.json.
func (r *Rope) rescale(w *Weights, base float64, scaling *RopeScaling) error {
	if err := scaling.check(); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	if scaling != nil && scaling.Llama4ScalingBeta != nil {
		return Unsupported("config.json: %q of a rotary embedding is not supported",
			"llama_4_scaling_beta")
	}
	var freqs []float32
	switch scaling.Kind() {
	case "linear":
		r.rope.Scale = float32(1 / scaling.Factor)
		return nil
	case "llama3":
		freqs = scaling.llama3(r.rope.Dims, base)
	case "longrope":
		return r.stretch(w, base, scaling.LongFactor)
	case "proportional":
		freqs = scaling.proportional(r.rope.Dims, base)
	case "yarn":
		freqs = scaling.yarn(r.rope.Dims, base)
		r.mscale = float32(scaling.attentionFactor())
	default:
		return nil
	}
	r.rope.Freqs = mlx.New(w.scope, freqs, len(freqs))
	w.keep([]*mlx.Array{r.rope.Freqs})
	return nil
}

// frequencies returns the inverse of the wavelengths, in radians per position, as the kernel has
// them.
func (r *Rope) frequencies(s *mlx.Scope) *mlx.Array {
	if r.rope.Freqs != nil {
		return s.Div(s.Scalar(1, mlx.Float32), r.rope.Freqs)
	}
	half := r.rope.Dims / 2
	step := -math.Log(float64(r.rope.Base)) / float64(half)
	return s.Exp(s.Mul(s.Arange(0, half, mlx.Float32), s.Scalar(step, mlx.Float32)))
}

// Forward rotates x (1, heads, n, D), whose rows are at pos, pos+1, ...
func (r *Rope) Forward(s *mlx.Scope, x *mlx.Array, pos int) *mlx.Array {
	if r.tabled() && s.Fuses(x) {
		cos, sin := r.table(s, pos, x.Dim(2), x.Dtype())
		return s.Rotate(x, cos, sin)
	}
	if dims, d := r.rope.Dims, x.Dim(3); dims < d {
		return s.Concat(-1, r.rotate(s, s.Slice(x, 3, 0, dims), pos), s.Slice(x, 3, dims, d))
	}
	return r.rotate(s, x, pos)
}

// tabled reports whether a table alone says how rows are rotated.
func (r *Rope) tabled() bool { return r.inverse != nil && r.mscale == 1 }

// rotate rotates all of x.
func (r *Rope) rotate(s *mlx.Scope, x *mlx.Array, pos int) *mlx.Array {
	if r.mscale != 1 {
		x = s.Mul(x, constant(s, float64(r.mscale), x.Dtype()))
	}
	if r.inverse == nil {
		return s.Rope(x, r.rope, pos)
	}
	cos, sin := r.table(s, pos, x.Dim(2), x.Dtype())
	half, dims := r.rope.Dims/2, r.rope.Dims
	swapped := s.Concat(-1, s.Slice(x, 3, half, dims), s.Slice(x, 3, 0, half))
	return s.Add(s.Mul(x, cos), s.Mul(swapped, sin))
}

type tableKey struct {
	rope  *Rope
	rows  string // positions and numbers of rows of the sequences
	dtype mlx.Dtype
	sin   bool
}

// table returns the cosines and the sines of n positions, both (n, D). The sines of the first half
// are negated. All layers of a forward share them.
func (r *Rope) table(s *mlx.Scope, pos, n int, d mlx.Dtype) (cos, sin *mlx.Array) {
	return r.batchTable(s, lm.Batch{{Pos: pos, N: n}}, d)
}

// batchTable is table for the positions of all rows of a batch.
func (r *Rope) batchTable(s *mlx.Scope, b lm.Batch, d mlx.Dtype) (cos, sin *mlx.Array) {
	key := tableKey{rope: r, dtype: d}
	for _, q := range b {
		key.rows += fmt.Sprintf("%d+%d ", q.Pos, q.N)
	}
	angles := func() *mlx.Array { // (rows, D/2)
		positions := make([]*mlx.Array, len(b))
		for i, q := range b {
			positions[i] = s.Arange(q.Pos, q.Pos+q.N, mlx.Float32)
		}
		p := s.Reshape(s.Concat(0, positions...), b.Rows(), 1)
		if r.rope.Scale != 1 {
			p = s.Mul(p, s.Scalar(float64(r.rope.Scale), mlx.Float32))
		}
		return s.Mul(p, r.inverse)
	}
	cos = s.Memo(key, func() *mlx.Array {
		c := s.AsType(s.Cos(angles()), d)
		return s.Concat(-1, c, c)
	})
	key.sin = true
	sin = s.Memo(key, func() *mlx.Array {
		c := s.AsType(s.Sin(angles()), d)
		return s.Concat(-1, s.Neg(c), c)
	})
	return cos, sin
}
