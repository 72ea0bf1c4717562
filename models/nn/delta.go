package nn

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// keyEps is added to the sum of the squares in the norm of queries and keys. It is not in
// config.json.
const keyEps = 1e-6

// GatedDelta is a gated delta net (Yang et al. 2024; GatedDeltaNet of mlx_lm and transformers).
// Each value head h folds its rows into a matrix S (Dv, Dk):
//
//	S = g S;  S = S + beta (v - S k) k^T;  y = S q
//
// The row itself gives g and beta, both between 0 and 1. Queries, keys and values pass a short
// convolution first. y is normalised, and gated by z.
type GatedDelta struct {
	InProj   *Linear // queries, keys, values and z: (C + Hv Dv), C = 2 Hk Dk + Hv Dv
	GateProj *Linear // b, then a: (2 Hv)
	Conv1d   *Conv
	ALog     *mlx.Array // (Hv), as stored: float32 in published checkpoints
	DTBias   *mlx.Array // (Hv)
	Norm     *RMSNorm
	OutProj  *Linear

	args  *DeltaArgs
	layer int
}

// GatedDelta reads the module at path, of the given layer. Its rows have hidden elements.
//
// The projections of rows are stored apart (in_proj_qkv, in_proj_z, in_proj_b, in_proj_a), or
// together in in_proj_qkvz and in_proj_ba. There the outputs of one key head follow another's.
func (w *Weights) GatedDelta(path string, hidden int, eps float64, a *DeltaArgs,
	layer int) *GatedDelta {
	hv := a.LinearNumValueHeads
	d := &GatedDelta{
		Conv1d:  w.Conv(path+".conv1d", a.convWidth(), a.LinearConvKernelDim),
		ALog:    w.StoredVector(path+".A_log", hv),
		DTBias:  w.StoredVector(path+".dt_bias", hv),
		Norm:    w.RMSNorm(path+".norm", a.LinearValueHeadDim, eps, 0),
		OutProj: w.Linear(path+".out_proj", a.valueWidth(), hidden, false),
		args:    a,
		layer:   layer,
	}
	if name := path + ".in_proj_qkvz"; w.Has(name + ".weight") {
		d.InProj = w.Reordered(name, hidden, a.qkvzOrder())
	} else {
		d.InProj = w.Stacked(hidden, false,
			Part{path + ".in_proj_qkv", a.convWidth()},
			Part{path + ".in_proj_z", a.valueWidth()})
	}
	if name := path + ".in_proj_ba"; w.Has(name + ".weight") {
		d.GateProj = w.Reordered(name, hidden, a.baOrder())
	} else {
		d.GateProj = w.Stacked(hidden, false,
			Part{path + ".in_proj_b", hv},
			Part{path + ".in_proj_a", hv})
	}
	w.AddMixer(d)
	return d
}

// NewCache implements [Mixer].
func (d *GatedDelta) NewCache(cache.Options) cache.Cache {
	a := d.args
	return cache.NewRecurrent(cache.StateShape{
		Tail: a.LinearConvKernelDim - 1, Width: a.convWidth(),
		State: []int{1, a.LinearNumValueHeads, a.LinearValueHeadDim, a.LinearKeyHeadDim},
	}, d.recur)
}

// Forward implements [Mixer].
func (d *GatedDelta) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	a, rows := d.args, b.Rows()
	projected, gates := d.InProj.Forward(s, x), d.GateProj.Forward(s, x)
	qkv, z := s.Slice(projected, 1, 0, a.convWidth()), s.Slice(projected, 1, a.convWidth(), projected.Dim(1))
	y := Recur(s, b, d.layer, qkv, gates) // (rows, Hv, Dv)
	normed := s.AsType(d.Norm.Forward(s, y), mlx.Float32)
	z = s.AsType(s.Reshape(z, rows, a.LinearNumValueHeads, a.LinearValueHeadDim), mlx.Float32)
	y = s.AsType(s.Mul(SiLU(s, z), normed), y.Dtype())
	return d.OutProj.Forward(s, s.Reshape(y, rows, a.valueWidth()))
}

// Mix implements [Mixer].
func (d *GatedDelta) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	rows, a := b.Rows(), d.args
	y := Recur(s, b, d.layer, Broadcast(s, x, rows, a.convWidth()),
		Broadcast(s, x, rows, 2*a.LinearNumValueHeads))
	return s.Reshape(y, rows, a.valueWidth())
}

// recur implements cache.Recurrence. rows has one input, the outputs of GateProj. Everything that
// mixes rows goes row by row, however many there are: the products then have one shape, and so the
// same bits.
func (d *GatedDelta) recur(s *mlx.Scope, state, window *mlx.Array,
	rows []*mlx.Array) (out, next *mlx.Array) {
	a, n := d.args, rows[0].Dim(0)
	hk, dk := a.LinearNumKeyHeads, a.LinearKeyHeadDim
	hv, dv := a.LinearNumValueHeads, a.LinearValueHeadDim
	mixed := SiLU(s, d.Conv1d.Forward(s, window)) // (n, C)
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

// decay returns g (n, Hv) float32 of the outputs a (n, Hv) of GateProj.
func (d *GatedDelta) decay(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	x = s.Add(x, d.DTBias)
	softplus := s.LogAddExp(x, s.Scalar(0, x.Dtype()))
	rate := s.Exp(s.AsType(d.ALog, mlx.Float32))
	return s.Exp(s.Neg(s.Mul(rate, softplus)))
}
