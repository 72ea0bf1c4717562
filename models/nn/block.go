package nn

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A Block is one layer with a norm before its mixer and one before its MLP.
type Block struct {
	Mixer                  Mixer // self_attn or linear_attn
	MLP                    FeedForward
	InputLayernorm         *RMSNorm
	PostAttentionLayernorm *RMSNorm
}

// Forward implements [Layer].
func (l *Block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	x = s.FusedAdd(x, l.Mixer.Forward(s, l.InputLayernorm.Forward(s, x), b))
	return s.FusedAdd(x, l.MLP.Forward(s, l.PostAttentionLayernorm.Forward(s, x)))
}

// NewCache implements [Layer].
func (l *Block) NewCache(opts cache.Options) cache.Cache { return l.Mixer.NewCache(opts) }

// A Mixer is the part of a layer in which a row sees the rows before it: attention, or what the
// layer has instead.
type Mixer interface {
	Layer

	// Mix leaves out the projections, for [Parts]. It appends a batch of rows made of x (1, 1) to
	// its caches and returns the result (rows, ...).
	Mix(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array
}

// A FeedForward is the part of a layer that maps each row by itself: [MLP] or [MoE].
type FeedForward interface {
	// Forward maps rows x (rows, H).
	Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array
}

// A Gate is [SwiGLU] or [GeGLU].
type Gate func(s *mlx.Scope, x *mlx.Array) *mlx.Array

// MLP is the gated feed-forward network of a layer.
type MLP struct {
	GateUpProj *Linear
	DownProj   *Linear
	gate       Gate
}

// MLP reads the projections at path.
func (w *Weights) MLP(path string, hidden, intermediate int, bias bool, gate Gate) *MLP {
	return &MLP{
		GateUpProj: w.Stacked(hidden, bias,
			Part{path + ".gate_proj", intermediate},
			Part{path + ".up_proj", intermediate}),
		DownProj: w.Linear(path+".down_proj", intermediate, hidden, bias),
		gate:     gate,
	}
}

// FusedMLP is MLP for a checkpoint that has gate and up in one, gate_up_proj.
func (w *Weights) FusedMLP(path string, hidden, intermediate int, gate Gate) *MLP {
	return &MLP{
		GateUpProj: w.Linear(path+".gate_up_proj", hidden, 2*intermediate, false),
		DownProj:   w.Linear(path+".down_proj", intermediate, hidden, false),
		gate:       gate,
	}
}

// Forward maps rows x (rows, H).
func (m *MLP) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return m.DownProj.Forward(s, m.gate(s, m.GateUpProj.Forward(s, x)))
}
