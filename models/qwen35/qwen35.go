// Package qwen35 is Qwen3.5 and Qwen3.6 (text half), dense and with experts: model types qwen3_5,
// qwen3_5_moe, and the same with _text.
//
// Unusual in it:
//
//   - In each group of full_attention_interval (4) layers, all but the last are gated delta nets
//     (nn.GatedDelta). Their state does not grow. They need exact restore points and must not see
//     padding.
//   - The last layer of a group is attention. Its q_proj has a gate beside each query. Its rotary
//     embedding turns only the first quarter of a head.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - Published norms multiply by 1 + weight. MLX's conversions have added the 1 already. The
//     layout of conv1d tells them apart, as in mlx_lm's Model.sanitize. The norm inside the delta
//     nets is stored as it is used.
//   - A layer with experts has one more expert that all rows share. A gate weighs it.
//   - Checkpoints also hold a vision half, which is not loaded, and a head for multi-token
//     prediction (mtp.*). The head is a drafter, see [MTP].
package qwen35

import (
	"strings"

	"tandem/models/nn"
)

// newBlock reads one layer. normOffset is added to the weights of its norms.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, normOffset float64,
	layer int) *nn.Block {
	norm := func(name string) *nn.RMSNorm {
		return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, normOffset)
	}
	l := &nn.Block{
		InputLayernorm:         norm(".input_layernorm"),
		PostAttentionLayernorm: norm(".post_attention_layernorm"),
	}
	if a.Sparse(layer) {
		moe := a.MoE(w, path+".mlp", a.HiddenSize)
		moe.Shared = w.SharedExpert(path+".mlp", a.HiddenSize, a.SharedExpertIntermediateSize)
		l.MLP = moe
	} else {
		l.MLP = w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	if a.Linear(layer) {
		l.Mixer = w.GatedDelta(path+".linear_attn", a.HiddenSize, a.RMSNormEps, &a.DeltaArgs, layer)
		return l
	}
	heads := a.Heads(float64(a.HeadDim))
	heads.Unseen = a.unseen
	attention := w.Attention(path+".self_attn", nn.AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Bias: a.AttentionBias, Gated: true, Rope: rope,
		Layer: layer,
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, normOffset)
	l.Mixer = attention
	return l
}

func (a *args) New(w *nn.Weights) nn.Model {
	rope := a.rope(w)
	offset := a.NormOffset(w, a.NumHiddenLayers)
	return w.Decoder(nn.DecoderSpec{
		Args:       &a.Args,
		NewLayer:   func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, offset, i) },
		NormOffset: offset,
		Tied:       a.Tied(w),
	})
}

// rope prepares the rotary embedding of attention layers.
func (a *args) rope(w *nn.Weights) *nn.Rope {
	turned := int(float64(a.HeadDim) * *a.PartialRotaryFactor)
	return w.Rope(turned, *a.RopeTheta, false, a.RopeScaling)
}

func (a *args) Kept(layer int) nn.Kept {
	if a.Linear(layer) {
		return a.KeptState()
	}
	return a.KeptRows(0)
}

func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.HeadArgs.Sanitize(name)
	return renameExperts(name), keep
}

// renameExperts gives published experts the names of conversions, which store gate and up apart.
func renameExperts(name string) (to string) {
	if path, ok := strings.CutSuffix(name, ".experts.gate_up_proj"); ok {
		return path + ".switch_mlp.gate_up_proj.weight"
	}
	if path, ok := strings.CutSuffix(name, ".experts.down_proj"); ok {
		return path + ".switch_mlp.down_proj.weight"
	}
	return name
}
