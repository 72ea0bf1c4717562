// Package qwen3next is Qwen3-Next and Qwen3-Coder-Next, model type qwen3_next.
//
// Unusual in it:
//
//   - In each group of full_attention_interval (4) layers, all but the last are gated delta nets
//     (nn.GatedDelta). Their state does not grow. They need exact restore points and must not see
//     padding.
//   - The projections of a delta net are two modules, in_proj_qkvz and in_proj_ba. Their outputs
//     stand key head by key head, and are put in order when they are loaded.
//   - The last layer of a group is attention. Its q_proj has a gate beside each query. Its rotary
//     embedding turns only the first quarter of a head.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - Published norms multiply by 1 + weight. MLX's conversions have added the 1 already, and have
//     turned conv1d, which tells them apart. The norm inside the delta nets is stored as it is used.
//   - Layers have experts, unless decoder_sparse_step or mlp_only_layers leave them out. One more
//     expert takes all rows. A gate weighs it.
//   - Published experts are modules of their own. MLX's conversions stack them.
//   - Checkpoints also hold a head for multi-token prediction (mtp.*). It is not loaded.
package qwen3next

import (
	"cmp"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.HeadArgs
	nn.DeltaArgs
	nn.ExpertArgs

	AttentionBias                bool   `json:"attention_bias"`
	HiddenAct                    string `json:"hidden_act"`
	SharedExpertIntermediateSize int    `json:"shared_expert_intermediate_size"`
	UseSlidingWindow             bool   `json:"use_sliding_window"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of transformers'
// Qwen3NextConfig.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{
		Args:       nn.Args{RMSNormEps: 1e-6},
		DeltaArgs:  nn.DeltaArgs{FullAttentionInterval: 4, LinearConvKernelDim: 4},
		ExpertArgs: nn.ExpertArgs{DecoderSparseStep: 1},
	}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetDefaults(&a.Args, 0)
	if a.PartialRotaryFactor == nil {
		a.PartialRotaryFactor = new(0.25)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	return cmp.Or(
		a.Check(), a.CheckHalves(), nn.CheckPart(*a.PartialRotaryFactor),
		a.CheckDelta(&a.Args),
		a.CheckExperts(nn.Size{Name: "shared_expert_intermediate_size",
			Value: a.SharedExpertIntermediateSize, Max: nn.MaxIntermediate}),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"),
		a.CheckTheta(), nn.CheckNoWindow(a.UseSlidingWindow, "qwen3_next"))
}

// newBlock reads one layer. normOffset is added to the weights of its norms.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, normOffset float64,
	layer int) *nn.Block {
	norm := func(name string) *nn.RMSNorm {
		return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, normOffset)
	}
	return &nn.Block{
		Mixer:                  a.newMixer(w, path, rope, normOffset, layer),
		MLP:                    a.newMLP(w, path+".mlp", layer),
		InputLayernorm:         norm(".input_layernorm"),
		PostAttentionLayernorm: norm(".post_attention_layernorm"),
	}
}

// newMixer reads the delta net or the attention of a layer.
func (a *args) newMixer(w *nn.Weights, path string, rope *nn.Rope, normOffset float64,
	layer int) nn.Mixer {
	if a.Linear(layer) {
		return w.GatedDelta(path+".linear_attn", a.HiddenSize, a.RMSNormEps, &a.DeltaArgs, layer)
	}
	heads := a.Heads(float64(a.HeadDim))
	attention := w.Attention(path+".self_attn", nn.AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Bias: a.AttentionBias, Gated: true, Rope: rope,
		Layer: layer,
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, normOffset)
	return attention
}

// newMLP reads the experts of a layer, or its one MLP.
func (a *args) newMLP(w *nn.Weights, path string, layer int) nn.FeedForward {
	if !a.Sparse(layer) {
		return w.MLP(path, a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	moe := a.MoE(w, path, a.HiddenSize)
	moe.Shared = w.SharedExpert(path, a.HiddenSize, a.SharedExpertIntermediateSize)
	return moe
}

func (a *args) New(w *nn.Weights) nn.Model {
	turned := int(float64(a.HeadDim) * *a.PartialRotaryFactor)
	rope := w.Rope(turned, *a.RopeTheta, false, a.RopeScaling)
	offset := a.NormOffset(w, a.NumHiddenLayers)
	return w.Decoder(nn.DecoderSpec{
		Args:       &a.Args,
		NewLayer:   func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, offset, i) },
		NormOffset: offset,
		Tied:       a.Tied(w),
	})
}

func (a *args) Kept(layer int) nn.Kept {
	if a.Linear(layer) {
		return a.KeptState()
	}
	return a.KeptRows(0)
}
