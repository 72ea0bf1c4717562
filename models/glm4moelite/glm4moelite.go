// Package glm4moelite is GLM-4.7-Flash, model type glm4_moe_lite.
//
// Unusual in it:
//
//   - Attention is latent (nn.LatentAttention). The cache keeps kv_lora_rank and qk_rope_head_dim
//     elements a position (512 and 64), for all heads together.
//   - The rotary embedding turns pairs of neighbours, in a part of each query and in the one key
//     that all heads share.
//   - As published, kv_b_proj maps latents to keys and values. MLX's conversions have split it into
//     embed_q and unembed_out.
//   - The first layers are dense (first_k_dense_replace). All others have experts that are scored
//     by themselves (nn.SigmoidRouter), and one more expert that all rows share.
//   - Checkpoints also hold a layer after the last, which predicts several tokens. It is not loaded.
package glm4moelite

import (
	"strconv"
	"strings"

	"tandem/models/nn"
)

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	spec := nn.LatentSpec{
		Hidden: a.HiddenSize, Heads: a.NumAttentionHeads, Rank: a.KVLoraRank,
		Nope: a.QKNopeHeadDim, Rotated: a.QKRopeHeadDim, Value: a.VHeadDim,
		Bias: a.AttentionBias, Eps: a.RMSNormEps, Scale: a.scale(), Rope: rope, Layer: layer,
	}
	if a.QLoraRank != nil {
		spec.QRank = *a.QLoraRank
	}
	l := &nn.Block{
		Mixer:                  w.LatentAttention(path+".self_attn", spec),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
	if a.sparse(layer) {
		l.MLP = a.newMoE(w, path+".mlp")
	} else {
		l.MLP = w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU)
	}
	return l
}

// newMoE reads the experts of one layer.
func (a *args) newMoE(w *nn.Weights, path string) *nn.MoE {
	m := &nn.MoE{
		Router: w.SigmoidRouter(path+".gate", a.HiddenSize, a.router()),
		Experts: w.Experts(path, nn.ExpertsShape{
			Count: *a.NRoutedExperts, Hidden: a.HiddenSize, Intermediate: a.MoeIntermediateSize,
			Gate: nn.SwiGLU,
		}),
	}
	if a.NSharedExperts != nil {
		m.Shared = w.MLP(path+".shared_experts", a.HiddenSize,
			a.MoeIntermediateSize**a.NSharedExperts, false, nn.SwiGLU)
	}
	return m
}

func (a *args) New(w *nn.Weights) nn.Model {
	rope := w.Rope(a.QKRopeHeadDim, *a.RopeTheta, true, a.RopeScaling)
	return w.Decoder(nn.DecoderSpec{
		Args:     &a.Args,
		NewLayer: func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, i) },
		Tied:     a.Tied(w),
	})
}

func (a *args) CacheSpec(int) nn.CacheSpec {
	return nn.CacheSpec{Row: a.KVLoraRank + a.QKRopeHeadDim, Key: a.KVLoraRank, Value: a.QKRopeHeadDim,
		Latent: true}
}

// Sanitize implements nn.Architecture. It drops the layers after the last.
func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.LMHeadArgs.Sanitize(name)
	if rest, ok := strings.CutPrefix(name, "model.layers."); ok {
		layer, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(layer); err == nil && n >= a.NumHiddenLayers {
			return name, false
		}
	}
	return name, keep
}
