// Package lfm2 is LFM2 and LFM2.5 of Liquid AI: dense, model type lfm2, and with experts, model
// type lfm2_moe.
//
// Unusual in it:
//
//   - Most layers are short convolutions (shortConv). Their state is their last rows. It needs
//     exact restore points and must not see padding.
//   - The other layers are attention, whose queries and keys are normalised per head before the
//     rotary embedding.
//   - The width of a dense MLP is computed of block_ff_dim and its neighbours in config.json.
//   - The experts of a row are those with the largest logistic scores, to which a bias is added for
//     the choice alone. The first layers have no experts.
//   - Modules have names of their own: operator_norm, ffn_norm, feed_forward with w1 to w3 and
//     embedding_norm, the final norm. Conversions of lfm2_moe have gate_proj for w1, down_proj for
//     w2 and up_proj for w3.
package lfm2

import (
	"strings"

	"tandem/engine/mlx"
	"tandem/models/nn"
)

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	l := &nn.Block{
		InputLayernorm:         a.Norm(w, path+".operator_norm"),
		PostAttentionLayernorm: a.Norm(w, path+".ffn_norm"),
	}
	if a.NumExperts > 0 && layer >= a.NumDenseLayers {
		l.MLP = a.newMoE(w, path+".feed_forward")
	} else {
		l.MLP = w.MLP(path+".feed_forward", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	if !a.attends(layer) {
		l.Mixer = newShortConv(w, path+".conv", a, layer)
		return l
	}
	heads := a.Heads(float64(a.HeadDim))
	attention := w.Attention(path+".self_attn", nn.AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Rope: rope, Layer: layer,
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, 0)
	l.Mixer = attention
	return l
}

// newMoE reads the experts of one layer.
func (a *args) newMoE(w *nn.Weights, path string) *nn.MoE {
	r := &router{
		Gate: w.Linear(path+".gate", a.HiddenSize, a.NumExperts, false),
		args: a,
	}
	if a.UseExpertBias {
		r.ExpertBias = w.StoredVector(path+".expert_bias", a.NumExperts)
	}
	return &nn.MoE{
		Router: r,
		Experts: w.Experts(path, nn.ExpertsShape{
			Count: a.NumExperts, Hidden: a.HiddenSize, Intermediate: a.MoeIntermediateSize,
			Gate: nn.SwiGLU,
		}),
	}
}

// router is the nn.Router of a layer with experts. It weighs the chosen experts by their logistic
// scores.
type router struct {
	Gate       *nn.Linear // (E)
	ExpertBias *mlx.Array // (E), float32 in published checkpoints; nil = none

	args *args
}

// sumEps is added to the sum of the scores before they are divided by it. It is not in config.json.
const sumEps = 1e-6

// Route implements nn.Router.
func (r *router) Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array) {
	a, gates := r.args, s.Sigmoid(r.Gate.Forward(s, x)) // (rows, E)
	by := gates
	if r.ExpertBias != nil {
		by = s.Add(s.AsType(gates, mlx.Float32), r.ExpertBias)
	}
	chosen = nn.TopExperts(s, by, a.NumExpertsPerTok)
	scores = s.TakeAlong(gates, chosen, -1)
	scalar := func(v float64) *mlx.Array { return s.Scalar(v, scores.Dtype()) }
	if a.NormTopkProb {
		scores = s.Div(scores, s.Add(s.Sum(scores, -1, true), scalar(sumEps)))
	}
	if a.RoutedScalingFactor != 1 {
		scores = s.Mul(scores, scalar(a.RoutedScalingFactor))
	}
	return chosen, scores
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.RopeDecoder(&a.Args, &a.RopeArgs, a.Tied(w), a.newBlock)
}

func (a *args) CacheSpec(layer int) nn.CacheSpec {
	if a.attends(layer) {
		return a.KVCacheSpec(0)
	}
	return nn.CacheSpec{State: (a.ConvLCache - 1) * a.HiddenSize}
}

// renamed are the names of modules here and in package nn.
var renamed = strings.NewReplacer(
	".w1.", ".gate_proj.", ".w2.", ".down_proj.", ".w3.", ".up_proj.",
	".self_attn.q_layernorm.", ".self_attn.q_norm.",
	".self_attn.k_layernorm.", ".self_attn.k_norm.",
	".self_attn.out_proj.", ".self_attn.o_proj.",
)

func (a *args) Sanitize(name string) (string, bool) {
	if norm := "embedding_norm.weight"; name == "model."+norm {
		return "model.norm.weight", true
	}
	name, keep := a.LMHeadArgs.Sanitize(name)
	return renamed.Replace(name), keep
}
