// Package nemotronh is Nemotron-H and Nemotron 3, model type nemotron_h.
//
// Unusual in it:
//
//   - A layer is one thing: a Mamba-2 mixer, attention, a dense MLP, or experts
//     (hybrid_override_pattern). Only the first two have caches.
//   - The state of a Mamba-2 mixer (mamba) does not grow. It needs exact restore points and must not
//     see padding.
//   - Attention has no positions.
//   - MLPs and experts have no gate. Their activation is the square of relu.
//   - Experts are scored by themselves (nn.SigmoidRouter). One more expert takes all rows. In larger
//     models experts take shorter rows, which two projections make and undo (moe_latent_size).
//   - Checkpoints call the model backbone, and also hold heads for multi-token prediction (mtp.*),
//     which are not loaded.
package nemotronh

import (
	"strings"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// block is one layer.
type block struct {
	Norm  *nn.RMSNorm
	Mixer nn.Mixer       // or nil
	MLP   nn.FeedForward // or nil
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, layer int) *block {
	l := &block{Norm: w.RMSNorm(path+".norm", a.HiddenSize, a.RMSNormEps, 0)}
	path += ".mixer"
	switch a.kind(layer) {
	case mambaLayer:
		l.Mixer = newMamba(w, path, a, a.cache(layer))
	case attentionLayer:
		l.Mixer = w.Attention(path, nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), Bias: a.AttentionBias,
			Layer: a.cache(layer),
		})
	case mlpLayer:
		l.MLP = a.newMLP(w, path, a.IntermediateSize)
	case moeLayer:
		l.MLP = a.newMoE(w, path)
	}
	return l
}

// Forward implements nn.Layer.
func (l *block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	normed := l.Norm.Forward(s, x)
	if l.Mixer != nil {
		return s.FusedAdd(x, l.Mixer.Forward(s, normed, b))
	}
	return s.FusedAdd(x, l.MLP.Forward(s, normed))
}

// NewCache implements nn.Layer.
func (l *block) NewCache(opts cache.Options) cache.Cache {
	if l.Mixer == nil {
		return nil
	}
	return l.Mixer.NewCache(opts)
}

// mlp is a network without a gate.
type mlp struct{ UpProj, DownProj *nn.Linear }

func (a *args) newMLP(w *nn.Weights, path string, intermediate int) *mlp {
	return &mlp{
		UpProj:   w.Linear(path+".up_proj", a.HiddenSize, intermediate, a.MLPBias),
		DownProj: w.Linear(path+".down_proj", intermediate, a.HiddenSize, a.MLPBias),
	}
}

// Forward implements nn.FeedForward.
func (m *mlp) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return m.DownProj.Forward(s, relu2(s, m.UpProj.Forward(s, x)))
}

// relu2 is the square of relu. It implements nn.Gate.
func relu2(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	x = s.Maximum(x, s.Scalar(0, x.Dtype()))
	return s.Mul(x, x)
}

// moe is a layer of experts.
type moe struct {
	Router   *nn.SigmoidRouter
	Experts  *nn.Experts
	Shared   *mlp       // nil = none
	FC1, FC2 *nn.Linear // make the rows of experts, and undo that; nil = experts take whole rows
}

func (a *args) newMoE(w *nn.Weights, path string) *moe {
	m := &moe{Router: w.SigmoidRouter(path+".gate", a.HiddenSize, a.router())}
	width := a.HiddenSize
	if a.MoeLatentSize != nil {
		width = *a.MoeLatentSize
		m.FC1 = w.Linear(path+".fc1_latent_proj", a.HiddenSize, width, a.MLPBias)
		m.FC2 = w.Linear(path+".fc2_latent_proj", width, a.HiddenSize, a.MLPBias)
	}
	m.Experts = w.Experts(path, nn.ExpertsShape{
		Count: a.NRoutedExperts, Hidden: width, Intermediate: a.MoeIntermediateSize,
		Gate: relu2, Ungated: true,
	})
	if a.NSharedExperts != nil {
		m.Shared = a.newMLP(w, path+".shared_experts", a.MoeSharedExpertIntermediateSize)
	}
	return m
}

// Forward implements nn.FeedForward.
func (m *moe) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	chosen, scores := m.Router.Route(s, x)
	rows := x
	if m.FC1 != nil {
		rows = m.FC1.Forward(s, x)
	}
	y := m.Experts.Forward(s, rows, chosen, scores)
	if m.FC2 != nil {
		y = m.FC2.Forward(s, y)
	}
	if m.Shared != nil {
		y = s.Add(y, m.Shared.Forward(s, x))
	}
	return y
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.Decoder(nn.DecoderSpec{
		Args:     &a.Args,
		NewLayer: func(path string, i int) nn.Layer { return a.newBlock(w, path, i) },
		Tied:     a.Tied(w),
	})
}

// renamed are the names of modules here and in package nn.
var renamed = strings.NewReplacer("backbone.", "model.",
	"embeddings.", "embed_tokens.", "norm_f.", "norm.",
	".switch_mlp.fc1.", ".switch_mlp.up_proj.", ".switch_mlp.fc2.", ".switch_mlp.down_proj.")

func (a *args) Sanitize(name string) (string, bool) {
	return a.LMHeadArgs.Sanitize(renamed.Replace(name))
}
