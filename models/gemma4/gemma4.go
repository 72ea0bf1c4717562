// Package gemma4 is Gemma 4 (text half): model types gemma4, gemma4_text and gemma4_unified.
//
// Unusual in it:
//
//   - Each layer has four norms, and its output is multiplied by a number of its own. Norms
//     multiply by their weight, unlike those of Gemma 3.
//   - Queries and keys are normalised per head, and so are values, without a weight. Scores are not
//     scaled.
//   - Most layers attend a sliding window. The others have longer heads (global_head_dim) and a
//     number of key heads of their own. Only a part of each of their heads is rotated.
//   - If attention_k_eq_v is set, the full layers have no v_proj: values are the keys before norm
//     and rotation.
//   - The last num_kv_shared_layers layers have no keys and values. They attend those of the last
//     layer of their type that has some, and have no cache. Their MLP is twice as wide
//     (use_double_wide_mlp).
//   - E2B and E4B give each layer an input of its own (perLayer), made of the token.
//   - The 26B model has experts beside the MLP of each layer. Their router has a norm of its own.
//   - Logits are bent by a softcap of 30.
//   - The MLP's gate is a tanh-approximated GELU.
//   - It is published with small drafters, see [Assistant].
package gemma4

import (
	"math"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// block is one layer.
type block struct {
	SelfAttn                 *attention
	MLP                      *nn.MLP
	Experts                  *experts // nil = none
	InputLayernorm           *nn.RMSNorm
	PostAttentionLayernorm   *nn.RMSNorm
	PreFeedforwardLayernorm  *nn.RMSNorm
	PostFeedforwardLayernorm *nn.RMSNorm
	LayerInput               *layerInput // nil = none
	LayerScalar              *mlx.Array  // (1)
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *block {
	l := &block{
		SelfAttn: newAttention(w, path+".self_attn", a, rope, layer),
		MLP: w.MLP(path+".mlp", a.HiddenSize, a.intermediate(layer), false,
			nn.GeGLU),
		InputLayernorm:           a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm:   a.Norm(w, path+".post_attention_layernorm"),
		PreFeedforwardLayernorm:  a.Norm(w, path+".pre_feedforward_layernorm"),
		PostFeedforwardLayernorm: a.Norm(w, path+".post_feedforward_layernorm"),
		LayerScalar:              w.Vector(path+".layer_scalar", 1),
	}
	if a.EnableMoEBlock {
		l.Experts = newExperts(w, path, a)
	}
	if *a.HiddenSizePerLayerInput > 0 {
		l.LayerInput = newLayerInput(w, path, a)
	}
	return l
}

// Forward implements nn.Layer, for a model whose layers have no inputs of their own.
func (l *block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	return l.forward(s, x, nil, b)
}

// forward is Forward with the layer's own input (rows, P), nil if it has none.
func (l *block) forward(s *mlx.Scope, x, input *mlx.Array, b lm.Batch) *mlx.Array {
	r := l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b)
	x = s.FusedAdd(x, l.PostAttentionLayernorm.Forward(s, r))
	r = l.MLP.Forward(s, l.PreFeedforwardLayernorm.Forward(s, x))
	if l.Experts != nil {
		r = l.Experts.Forward(s, r, x)
	}
	x = s.FusedAdd(x, l.PostFeedforwardLayernorm.Forward(s, r))
	if l.LayerInput != nil {
		x = s.FusedAdd(x, l.LayerInput.Forward(s, x, input))
	}
	return s.Mul(x, l.LayerScalar)
}

// NewCache implements nn.Layer.
func (l *block) NewCache(opts cache.Options) cache.Cache { return l.SelfAttn.NewCache(opts) }

// model is a decoder whose logits are bent. It implements nn.Model.
type model struct {
	*nn.Decoder
	blocks   []*block
	perLayer *perLayer // nil = layers have no inputs of their own
	softcap  *float64  // nil = none
}

func (a *args) New(w *nn.Weights) nn.Model {
	m := &model{softcap: a.FinalLogitSoftcapping}
	full, local := a.ropes(w)
	m.Decoder = w.Decoder(nn.DecoderSpec{
		Args: &a.Args,
		NewLayer: func(path string, i int) nn.Layer {
			rope := full
			if a.window(i) > 0 {
				rope = local
			}
			l := a.newBlock(w, path, rope, i)
			m.blocks = append(m.blocks, l)
			return l
		},
		EmbedScale: math.Sqrt(float64(a.HiddenSize)),
		Tied:       a.Tied(w),
	})
	if *a.HiddenSizePerLayerInput > 0 {
		m.perLayer = newPerLayer(w, a)
	}
	return m
}

// ropes prepares the rotary embeddings of full layers and of those with a window.
func (a *args) ropes(w *nn.Weights) (full, local *nn.Rope) {
	rope := func(dim int, scaling *nn.RopeScaling) *nn.Rope {
		theta := 1e4
		if scaling.Theta != nil {
			theta = *scaling.Theta
		}
		return w.Rope(dim, theta, a.RopeTraditional, scaling)
	}
	return rope(*a.GlobalHeadDim, a.RopeParameters.Full), rope(a.HeadDim, a.RopeParameters.Sliding)
}

func (m *model) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	if m.perLayer == nil {
		return m.Decoder.Forward(s, b, taps)
	}
	tokens := nn.Tokens(s, b)
	x := m.EmbedScaled(s, tokens)
	inputs := m.perLayer.Forward(s, tokens, x)
	return m.Run(s, x, taps, func(x *mlx.Array, i int) *mlx.Array {
		return m.blocks[i].forward(s, x, inputs[i], b)
	})
}

func (m *model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Decoder.Unembed(s, hidden)
	if m.softcap == nil {
		return logits
	}
	return nn.Softcap(s, logits, *m.softcap)
}
