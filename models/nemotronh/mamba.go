package nemotronh

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// mamba is a Mamba-2 mixer (Dao and Gu 2024; NemotronHMamba2Mixer of mlx_lm). Each head folds its
// rows x into a matrix S (Dh, Ds):
//
//	y = a S C + (C B) dt x + D x;  S = a S + dt x B^T
//
// The row gives dt, and with it a between 0 and 1. x, B and C pass a short convolution first. y is
// gated, and normalised by groups.
type mamba struct {
	InProj   *nn.Linear // gate, then x, B and C, then dt
	Conv1d   *nn.Conv
	ConvBias *mlx.Array // (C) or nil
	ALog     *mlx.Array // (H), as stored: float32 in published checkpoints
	D        *mlx.Array // (H)
	DTBias   *mlx.Array // (H)
	Norm     *mlx.Array // (H Dh)
	OutProj  *nn.Linear

	args  *args
	layer int // its cache
}

// newMamba reads the module at path.
func newMamba(w *nn.Weights, path string, a *args, layer int) *mamba {
	inner, heads := a.innerWidth(), a.MambaNumHeads
	m := &mamba{
		InProj: w.Linear(path+".in_proj", a.HiddenSize, inner+a.convWidth()+heads,
			a.MambaProjBias),
		Conv1d:  w.Conv(path+".conv1d", a.convWidth(), a.ConvKernel),
		ALog:    w.StoredVector(path+".A_log", heads),
		D:       w.Vector(path+".D", heads),
		DTBias:  w.StoredVector(path+".dt_bias", heads),
		Norm:    w.Vector(path+".norm.weight", inner),
		OutProj: w.Linear(path+".out_proj", inner, a.HiddenSize, a.MambaProjBias),
		args:    a,
		layer:   layer,
	}
	if a.UseConvBias {
		m.ConvBias = w.Vector(path+".conv1d.bias", a.convWidth())
	}
	w.AddMixer(m)
	return m
}

// NewCache implements nn.Mixer.
func (m *mamba) NewCache(cache.Options) cache.Cache {
	a := m.args
	return cache.NewRecurrent(cache.StateShape{
		Tail: a.ConvKernel - 1, Width: a.convWidth(),
		State: []int{1, a.MambaNumHeads, a.MambaHeadDim, a.SSMStateSize},
	}, m.recur)
}

// Forward implements nn.Mixer.
func (m *mamba) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	a, rows := m.args, b.Rows()
	inner := a.innerWidth()
	projected := m.InProj.Forward(s, x)
	gate := s.Slice(projected, 1, 0, inner)
	y := nn.Recur(s, b, m.layer, s.Slice(projected, 1, inner, inner+a.convWidth()),
		s.Slice(projected, 1, inner+a.convWidth(), projected.Dim(1))) // (rows, H Dh)
	y = s.Reshape(s.Mul(nn.SiLU(s, gate), y), rows, a.NGroups, inner/a.NGroups)
	y = s.Reshape(s.RMSNorm(y, nil, float32(a.RMSNormEps)), rows, inner)
	return m.OutProj.Forward(s, s.Mul(m.Norm, y))
}

// Mix implements nn.Mixer.
func (m *mamba) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	rows, a := b.Rows(), m.args
	return nn.Recur(s, b, m.layer, nn.Broadcast(s, x, rows, a.convWidth()),
		nn.Broadcast(s, x, rows, a.MambaNumHeads))
}

// recur implements cache.Recurrence. rows has one input, dt. Everything that mixes rows goes row by
// row, and each product has one shape, however many rows there are.
func (m *mamba) recur(s *mlx.Scope, state, window *mlx.Array,
	rows []*mlx.Array) (out, next *mlx.Array) {
	a, n := m.args, rows[0].Dim(0)
	h, dh, g, ds := a.MambaNumHeads, a.MambaHeadDim, a.NGroups, a.SSMStateSize
	mixed := m.Conv1d.Forward(s, window) // (n, C)
	if m.ConvBias != nil {
		mixed = s.Add(mixed, m.ConvBias)
	}
	mixed = nn.SiLU(s, mixed)
	dtype := mixed.Dtype()
	group := func(from int) *mlx.Array { // (n, G, 1, Ds)
		return s.Reshape(s.Slice(mixed, 1, from, from+g*ds), n, g, 1, ds)
	}
	// each repeats what a group of heads shares: (n, H, ...) float32
	each := func(x *mlx.Array, dims ...int) *mlx.Array {
		x = s.BroadcastTo(x, n, g, h/g, x.Dim(3))
		return s.AsType(s.Reshape(x, append([]int{n, h}, dims...)...), mlx.Float32)
	}
	x := s.Reshape(s.Slice(mixed, 1, 0, h*dh), n, h, dh, 1)
	keys, queries := group(h*dh), group(h*dh+g*ds)
	same := each(s.MatMul(queries, s.Transpose(keys, 0, 1, 3, 2)), 1, 1) // C B
	along, across := each(keys, 1, ds), each(queries, ds, 1)
	dt := m.timeSteps(s, rows[0])
	rate := s.AsType(s.Exp(m.ALog), mlx.Float32)
	decay := s.Exp(s.Neg(s.Mul(dt, rate)))
	decay = s.Reshape(decay, n, h, 1, 1)
	step := s.Mul(s.Reshape(dt, n, h, 1, 1), s.AsType(x, mlx.Float32)) // (n, H, Dh, 1)

	row := func(x *mlx.Array, i int) *mlx.Array { return s.Slice(x, 0, i, i+1) }
	outs := make([]*mlx.Array, n)
	for i := range n {
		was := s.Mul(row(decay, i), s.MatMul(state, row(across, i))) // (1, H, Dh, 1)
		outs[i] = s.Add(s.Mul(row(same, i), row(step, i)), was)
		state = s.Add(s.Mul(row(decay, i), state), s.Mul(row(step, i), row(along, i)))
	}
	y := s.AsType(s.Concat(0, outs...), dtype)
	y = s.Add(y, s.Mul(x, s.Reshape(s.AsType(m.D, dtype), 1, h, 1, 1)))
	return s.Reshape(y, n, h*dh), state
}

// timeSteps returns the time steps (n, H) float32 of rows dt (n, H).
func (m *mamba) timeSteps(s *mlx.Scope, dt *mlx.Array) *mlx.Array {
	scalar := func(v float64) *mlx.Array { return s.Scalar(v, mlx.Float32) }
	dt = s.LogAddExp(s.Add(s.AsType(dt, mlx.Float32), m.DTBias), scalar(0))
	low, high, _ := m.args.timeSteps()
	if low > 0 || !math.IsInf(high, 1) {
		dt = s.Clip(dt, scalar(low), scalar(high))
	}
	return dt
}
