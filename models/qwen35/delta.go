package qwen35

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// keyEps is added to the sum of the squares in the norm of queries and keys. It is not in
// config.json.
const keyEps = 1e-6

// gatedDelta is a gated delta net (Yang et al. 2024; GatedDeltaNet of mlx_lm and transformers).
// Each value head h folds its rows into a matrix S (Dv, Dk):
//
//	S = g S;  S = S + beta (v - S k) k^T;  y = S q
//
// The row itself gives g and beta, both between 0 and 1. Queries, keys and values pass a short
// convolution first. y is normalised, and gated by z.
type gatedDelta struct {
	InProj   *nn.Linear // in_proj_qkv and in_proj_z: (C + Hv Dv), C = 2 Hk Dk + Hv Dv
	GateProj *nn.Linear // in_proj_b and in_proj_a: (2 Hv)
	Conv1d   *nn.Conv
	ALog     *mlx.Array // (Hv), as stored: float32 in published checkpoints
	DTBias   *mlx.Array // (Hv)
	Norm     *nn.RMSNorm
	OutProj  *nn.Linear

	args  *args
	layer int
}

// newGatedDelta reads the module at path.
func newGatedDelta(w *nn.Weights, path string, a *args, layer int) *gatedDelta {
	hv := a.LinearNumValueHeads
	d := &gatedDelta{
		InProj: w.Stacked(a.HiddenSize, false,
			nn.Part{Path: path + ".in_proj_qkv", Out: a.convWidth()},
			nn.Part{Path: path + ".in_proj_z", Out: a.valueWidth()}),
		GateProj: w.Stacked(a.HiddenSize, false,
			nn.Part{Path: path + ".in_proj_b", Out: hv},
			nn.Part{Path: path + ".in_proj_a", Out: hv}),
		Conv1d:  w.Conv(path+".conv1d", a.convWidth(), a.LinearConvKernelDim),
		ALog:    w.Vector(path+".A_log", hv),
		DTBias:  w.Vector(path+".dt_bias", hv),
		Norm:    w.RMSNorm(path+".norm", a.LinearValueHeadDim, a.RMSNormEps, 0),
		OutProj: w.Linear(path+".out_proj", a.valueWidth(), a.HiddenSize, false),
		args:    a,
		layer:   layer,
	}
	w.AddMixer(d)
	return d
}

// NewCache implements nn.Mixer.
func (d *gatedDelta) NewCache(cache.Options) cache.Cache {
	a := d.args
	return cache.NewRecurrent(cache.StateShape{
		Tail: a.LinearConvKernelDim - 1, Width: a.convWidth(),
		State: []int{1, a.LinearNumValueHeads, a.LinearValueHeadDim, a.LinearKeyHeadDim},
	}, d.recur)
}

// Forward implements nn.Mixer.
func (d *gatedDelta) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	a, rows := d.args, b.Rows()
	wide, gates := d.InProj.Forward(s, x), d.GateProj.Forward(s, x)
	qkv, z := s.Slice(wide, 1, 0, a.convWidth()), s.Slice(wide, 1, a.convWidth(), wide.Dim(1))
	y := d.update(s, qkv, gates, b)
	normed := s.AsType(d.Norm.Forward(s, y), mlx.Float32)
	z = s.AsType(s.Reshape(z, rows, a.LinearNumValueHeads, a.LinearValueHeadDim), mlx.Float32)
	y = s.AsType(s.Mul(silu(s, z), normed), y.Dtype())
	return d.OutProj.Forward(s, s.Reshape(y, rows, a.valueWidth()))
}

// update takes the rows qkv (rows, C) and gates (rows, 2 Hv) into the state of each sequence:
// (rows, Hv, Dv).
func (d *gatedDelta) update(s *mlx.Scope, qkv, gates *mlx.Array, b lm.Batch) *mlx.Array {
	outs := make([]*mlx.Array, len(b))
	at := 0
	for i, q := range b {
		c := q.Caches[d.layer].(*cache.Recurrent)
		outs[i] = c.Update(s, q.Pad, s.Slice(qkv, 0, at, at+q.N), s.Slice(gates, 0, at, at+q.N))
		at += q.N
	}
	return s.Concat(0, outs...)
}

// Mix implements nn.Mixer.
func (d *gatedDelta) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	fill := func(width int) *mlx.Array { return s.Contiguous(s.BroadcastTo(x, b.Rows(), width)) }
	y := d.update(s, fill(d.args.convWidth()), fill(2*d.args.LinearNumValueHeads), b)
	return s.Reshape(y, b.Rows(), d.args.valueWidth())
}

// recur implements cache.Recurrence. rows has one input, the outputs of GateProj. Everything that
// mixes rows goes row by row, however many there are: the products then have one shape, and so the
// same bits.
func (d *gatedDelta) recur(s *mlx.Scope, state, window *mlx.Array,
	rows []*mlx.Array) (out, next *mlx.Array) {
	a, n := d.args, rows[0].Dim(0)
	hk, dk := a.LinearNumKeyHeads, a.LinearKeyHeadDim
	hv, dv := a.LinearNumValueHeads, a.LinearValueHeadDim
	mixed := silu(s, d.Conv1d.Forward(s, window)) // (n, C)
	dtype := mixed.Dtype()
	heads := func(from int, scale float64) *mlx.Array { // (n, Hv, Dk) float32
		x := s.Reshape(s.Slice(mixed, 1, from, from+hk*dk), n, hk, 1, dk)
		x = s.Mul(s.RMSNorm(x, nil, keyEps/float32(dk)), s.Scalar(scale, dtype))
		return s.AsType(s.Reshape(s.BroadcastTo(x, n, hk, hv/hk, dk), n, hv, dk), mlx.Float32)
	}
	root := math.Sqrt(float64(dk))
	q := s.Reshape(heads(0, 1/root/root), n, hv, dk, 1)
	k := heads(hk*dk, 1/root)
	across, along := s.Reshape(k, n, hv, dk, 1), s.Reshape(k, n, hv, 1, dk)
	v := s.Reshape(s.AsType(s.Slice(mixed, 1, 2*hk*dk, 2*hk*dk+hv*dv), mlx.Float32), n, hv, dv, 1)
	beta := s.Reshape(s.AsType(s.Sigmoid(s.Slice(rows[0], 1, 0, hv)), mlx.Float32), n, hv, 1, 1)
	g := s.Reshape(d.decay(s, s.Slice(rows[0], 1, hv, 2*hv)), n, hv, 1, 1)

	row := func(x *mlx.Array, i int) *mlx.Array { return s.Slice(x, 0, i, i+1) }
	outs := make([]*mlx.Array, n)
	for i := range n {
		state = s.Mul(state, row(g, i)) // (1, Hv, Dv, Dk)
		was := s.MatMul(state, row(across, i))
		change := s.Mul(s.Sub(row(v, i), was), row(beta, i)) // (1, Hv, Dv, 1)
		state = s.Add(state, s.Mul(change, row(along, i)))
		outs[i] = s.MatMul(state, row(q, i))
	}
	return s.AsType(s.Reshape(s.Concat(0, outs...), n, hv, dv), dtype), state
}

// decay returns g (n, Hv) float32 of the outputs of in_proj_a.
func (d *gatedDelta) decay(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	x = s.Add(x, d.DTBias)
	softplus := s.LogAddExp(x, s.Scalar(0, x.Dtype()))
	rate := s.Exp(s.AsType(d.ALog, mlx.Float32))
	return s.Exp(s.Neg(s.Mul(rate, softplus)))
}

func silu(s *mlx.Scope, x *mlx.Array) *mlx.Array { return s.Mul(x, s.Sigmoid(x)) }
