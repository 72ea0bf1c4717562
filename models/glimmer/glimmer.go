// Package glimmer is the text half of Muse Glimmer, model type muse_glimmer.
//
// Unusual in it:
//
//   - Token embeddings are normalised, without a weight, before the first layer.
//   - Three of four layers attend a sliding window. The others have no rotary embedding
//     (layer_rope_theta 0).
//   - Queries and keys are normalised per head, without a weight. Then queries are multiplied by
//     qk_scale_factor.
//   - The output of attention is multiplied by the logistic function of a projection of the layer's
//     input (gate_proj).
//   - Each layer has four norms, which multiply by 1 + weight. Those after attention and MLP have
//     an epsilon of their own (post_norm_eps). The final norm multiplies by its weight.
//   - Logits are multiplied by output_multiplier, then bent by a softcap.
package glimmer

import (
	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// block is one layer.
type block struct {
	SelfAttn                 *attention
	MLP                      *nn.MLP
	InputLayernorm           *nn.RMSNorm
	PostAttentionLayernorm   *nn.RMSNorm
	PreFeedforwardLayernorm  *nn.RMSNorm
	PostFeedforwardLayernorm *nn.RMSNorm
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *block {
	norm := func(name string, eps float64) *nn.RMSNorm {
		return w.RMSNorm(path+name, a.HiddenSize, eps, 1)
	}
	return &block{
		SelfAttn:                 newAttention(w, path+".self_attn", a, rope, layer),
		MLP:                      w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU),
		InputLayernorm:           norm(".input_layernorm", a.RMSNormEps),
		PostAttentionLayernorm:   norm(".post_attention_layernorm", a.PostNormEps),
		PreFeedforwardLayernorm:  norm(".pre_feedforward_layernorm", a.RMSNormEps),
		PostFeedforwardLayernorm: norm(".post_feedforward_layernorm", a.PostNormEps),
	}
}

// Forward implements nn.Layer.
func (l *block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	r := l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b)
	x = s.FusedAdd(x, l.PostAttentionLayernorm.Forward(s, r))
	r = l.MLP.Forward(s, l.PreFeedforwardLayernorm.Forward(s, x))
	return s.FusedAdd(x, l.PostFeedforwardLayernorm.Forward(s, r))
}

// NewCache implements nn.Layer.
func (l *block) NewCache(opts cache.Options) cache.Cache { return l.SelfAttn.NewCache(opts) }

// model is a decoder with normalised embeddings and bent logits. It implements nn.Model.
type model struct {
	*nn.Decoder
	args *args
}

func (a *args) New(w *nn.Weights) nn.Model {
	rope := w.Rope(a.HeadDim, *a.RopeTheta, false, a.RopeScaling)
	return &model{args: a, Decoder: w.Decoder(nn.DecoderSpec{
		Args:     &a.Args,
		NewLayer: func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, i) },
		Tied:     a.Tied(w),
	})}
}

func (m *model) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	x := m.EmbedTokens.Forward(s, nn.Tokens(s, b))
	x = s.RMSNorm(x, nil, float32(m.args.RMSNormEps))
	return m.Run(s, x, taps, func(x *mlx.Array, i int) *mlx.Array {
		return m.Layers[i].Forward(s, x, b)
	})
}

func (m *model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Decoder.Unembed(s, hidden)
	logits = s.Mul(logits, s.Scalar(m.args.OutputMultiplier, logits.Dtype()))
	return nn.Softcap(s, logits, m.args.FinalLogitSoftcapping)
}
