package lfm2

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// shortConv is a gated convolution over a few rows (Lfm2ShortConv of transformers). in_proj gives
// B, C and x of each row, H elements each:
//
//	y = out_proj(C conv(B x))
//
// Its state is B x of the conv_L_cache - 1 rows before.
type shortConv struct {
	InProj   *nn.Linear // B, C and x: (3H)
	Conv     *nn.Conv
	ConvBias *mlx.Array // (H) or nil
	OutProj  *nn.Linear

	args  *args
	layer int
}

// newShortConv reads the module at path.
func newShortConv(w *nn.Weights, path string, a *args, layer int) *shortConv {
	c := &shortConv{
		InProj:  w.Linear(path+".in_proj", a.HiddenSize, 3*a.HiddenSize, a.ConvBias),
		Conv:    w.Conv(path+".conv", a.HiddenSize, a.ConvLCache),
		OutProj: w.Linear(path+".out_proj", a.HiddenSize, a.HiddenSize, a.ConvBias),
		args:    a,
		layer:   layer,
	}
	if a.ConvBias {
		c.ConvBias = w.Vector(path+".conv.bias", a.HiddenSize)
	}
	w.AddMixer(c)
	return c
}

// NewCache implements nn.Mixer.
func (c *shortConv) NewCache(cache.Options) cache.Cache {
	shape := cache.StateShape{Tail: c.args.ConvLCache - 1, Width: c.args.HiddenSize,
		State: []int{0}}
	return cache.NewRecurrent(shape,
		func(s *mlx.Scope, state, window *mlx.Array, _ []*mlx.Array) (out, next *mlx.Array) {
			return c.Conv.Forward(s, window), state
		})
}

// Forward implements nn.Mixer.
func (c *shortConv) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	parts := s.Split(c.InProj.Forward(s, x), 3, -1) // B, C, x
	y := nn.Recur(s, b, c.layer, s.Mul(parts[0], parts[2]))
	if c.ConvBias != nil {
		y = s.Add(y, c.ConvBias)
	}
	return c.OutProj.Forward(s, s.Mul(parts[1], y))
}

// Mix implements nn.Mixer.
func (c *shortConv) Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	return nn.Recur(s, b, c.layer,
		s.Contiguous(s.BroadcastTo(x, b.Rows(), c.args.HiddenSize)))
}
