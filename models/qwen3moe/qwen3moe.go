// Package qwen3moe is Qwen3 with experts, Qwen3-Coder among them, model type qwen3_moe.
//
// Unusual in it:
//
//   - Queries and keys are normalised per head before the rotary embedding.
//   - head_dim is given, and need not be hidden_size / num_attention_heads.
//   - Layers have experts, unless decoder_sparse_step or mlp_only_layers leave them out. Such a
//     layer has one MLP of intermediate_size.
//   - Published experts are modules of their own. MLX's conversions stack them.
package qwen3moe

import (
	"cmp"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs
	nn.ExpertArgs

	AttentionBias    bool   `json:"attention_bias"`
	UseSlidingWindow bool   `json:"use_sliding_window"`
	HiddenAct        string `json:"hidden_act"`
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{ExpertArgs: nn.ExpertArgs{DecoderSparseStep: 1}}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetDefaults(&a.Args, 0)
	a.SetHeadDim()
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	return cmp.Or(
		a.Check(),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		a.CheckExperts(),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"),
		a.CheckTheta(), nn.CheckNoWindow(a.UseSlidingWindow, "qwen3_moe"))
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	heads := a.Heads(float64(a.HeadDim))
	attention := w.Attention(path+".self_attn", nn.AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Bias: a.AttentionBias, Rope: rope, Layer: layer,
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, 0)
	l := &nn.Block{
		Mixer:                  attention,
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
	if a.Sparse(layer) {
		l.MLP = a.MoE(w, path+".mlp", a.HiddenSize)
	} else {
		l.MLP = w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	return l
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.RopeDecoder(&a.Args, &a.RopeArgs, a.Tied(w), a.newBlock)
}
