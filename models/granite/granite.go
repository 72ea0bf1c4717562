// Package granite is Granite 3 and the dense models of Granite 4.1, model type granite: the layers
// of Llama.
//
// Unusual in it are four factors of config.json. Token embeddings are multiplied by
// embedding_multiplier, scores by attention_multiplier, and what each half of a layer adds by
// residual_multiplier. Logits are divided by logits_scaling.
package granite

import (
	"cmp"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	AttentionBias       bool    `json:"attention_bias"`
	MLPBias             bool    `json:"mlp_bias"`
	HiddenAct           string  `json:"hidden_act"`
	EmbeddingMultiplier float64 `json:"embedding_multiplier"`
	AttentionMultiplier float64 `json:"attention_multiplier"`
	ResidualMultiplier  float64 `json:"residual_multiplier"`
	LogitsScaling       float64 `json:"logits_scaling"`
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetHeadDim()
	a.SetDefaults(&a.Args, 0)
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	return cmp.Or(
		a.Check(),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"),
		a.CheckTheta(),
		nn.CheckPositive(
			nn.Number{Name: "embedding_multiplier", Value: a.EmbeddingMultiplier},
			nn.Number{Name: "attention_multiplier", Value: a.AttentionMultiplier},
			nn.Number{Name: "residual_multiplier", Value: a.ResidualMultiplier},
			nn.Number{Name: "logits_scaling", Value: a.LogitsScaling}))
}

// block is one layer.
type block struct {
	SelfAttn               *nn.Attention
	MLP                    *nn.MLP
	InputLayernorm         *nn.RMSNorm
	PostAttentionLayernorm *nn.RMSNorm

	multiplier float64 // of what each half adds
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *block {
	heads := a.Heads(1)
	heads.Scale = float32(a.AttentionMultiplier)
	return &block{
		SelfAttn: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: heads, Bias: a.AttentionBias, Rope: rope, Layer: layer,
		}),
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, a.MLPBias, nn.SwiGLU),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
		multiplier:             a.ResidualMultiplier,
	}
}

// Forward implements nn.Layer.
func (l *block) Forward(s *mlx.Scope, x *mlx.Array, b lm.Batch) *mlx.Array {
	add := func(x, y *mlx.Array) *mlx.Array {
		return s.Add(x, s.Mul(y, s.Scalar(l.multiplier, y.Dtype())))
	}
	x = add(x, l.SelfAttn.Forward(s, l.InputLayernorm.Forward(s, x), b))
	return add(x, l.MLP.Forward(s, l.PostAttentionLayernorm.Forward(s, x)))
}

// NewCache implements nn.Layer.
func (l *block) NewCache(opts cache.Options) cache.Cache { return l.SelfAttn.NewCache(opts) }

// model is a decoder whose logits are divided. It implements nn.Model.
type model struct {
	*nn.Decoder
	scaling float64
}

func (a *args) New(w *nn.Weights) nn.Model {
	rope := w.Rope(a.HeadDim, *a.RopeTheta, false, a.RopeScaling)
	return &model{scaling: a.LogitsScaling, Decoder: w.Decoder(nn.DecoderSpec{
		Args:       &a.Args,
		NewLayer:   func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, i) },
		EmbedScale: a.EmbeddingMultiplier,
		Tied:       a.Tied(w),
	})}
}

func (m *model) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := m.Decoder.Unembed(s, hidden)
	return s.Div(logits, s.Scalar(m.scaling, logits.Dtype()))
}
