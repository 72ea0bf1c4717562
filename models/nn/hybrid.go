package nn

// HybridArgs is what config.json says of models whose layers are gated delta nets, and attention with
// gates in between, with one MLP or with experts and a shared one. Such a model embeds it in its own
// args.
type HybridArgs struct {
	Args
	RopeArgs
	DeltaArgs
	ExpertArgs

	AttentionBias                bool   `json:"attention_bias"`
	HiddenAct                    string `json:"hidden_act"`
	SharedExpertIntermediateSize int    `json:"shared_expert_intermediate_size"`

	Unseen int `json:"-"` // see Heads.Unseen
}

// SharedExpertSize is the size that the shared expert has, for CheckExperts.
func (a *HybridArgs) SharedExpertSize() Size {
	return Size{"shared_expert_intermediate_size", a.SharedExpertIntermediateSize, MaxIntermediate}
}

// Rope prepares the rotary embedding of attention layers, which turns a part of each head.
func (a *HybridArgs) Rope(w *Weights) *Rope {
	turned := int(float64(a.HeadDim) * *a.PartialRotaryFactor)
	return w.Rope(turned, *a.RopeTheta, false, a.RopeScaling)
}

// Block reads one layer. normOffset is added to the weights of its norms.
func (a *HybridArgs) Block(w *Weights, path string, rope *Rope, normOffset float64, layer int) *Block {
	norm := func(name string) *RMSNorm {
		return w.RMSNorm(path+name, a.HiddenSize, a.RMSNormEps, normOffset)
	}
	return &Block{
		Mixer:                  a.mixer(w, path, rope, normOffset, layer),
		MLP:                    a.feedForward(w, path+".mlp", layer),
		InputLayernorm:         norm(".input_layernorm"),
		PostAttentionLayernorm: norm(".post_attention_layernorm"),
	}
}

// mixer reads the delta net or the attention of a layer.
func (a *HybridArgs) mixer(w *Weights, path string, rope *Rope, normOffset float64, layer int) Mixer {
	if a.Linear(layer) {
		return w.GatedDelta(path+".linear_attn", a.HiddenSize, a.RMSNormEps, &a.DeltaArgs, layer)
	}
	heads := a.Heads(float64(a.HeadDim))
	heads.Unseen = a.Unseen
	attention := w.Attention(path+".self_attn", AttentionSpec{
		Hidden: a.HiddenSize, Heads: heads, Bias: a.AttentionBias, Gated: true, Rope: rope, Layer: layer,
	})
	attention.QKNorm = w.HeadNorm(path+".self_attn", heads, a.RMSNormEps, normOffset)
	return attention
}

// feedForward reads the experts of a layer, or its one MLP.
func (a *HybridArgs) feedForward(w *Weights, path string, layer int) FeedForward {
	if !a.Sparse(layer) {
		return w.MLP(path, a.HiddenSize, a.IntermediateSize, false, SwiGLU)
	}
	moe := a.MoE(w, path, a.HiddenSize)
	moe.Shared = w.SharedExpert(path, a.HiddenSize, a.SharedExpertIntermediateSize)
	return moe
}

// Decoder reads the model.
func (a *HybridArgs) Decoder(w *Weights, tied bool) *Decoder {
	rope, offset := a.Rope(w), a.NormOffset(w, a.NumHiddenLayers)
	return w.Decoder(DecoderSpec{
		Args:       &a.Args,
		NewLayer:   func(path string, i int) Layer { return a.Block(w, path, rope, offset, i) },
		NormOffset: offset,
		Tied:       tied,
	})
}

// CacheSpec implements [Architecture].
func (a *HybridArgs) CacheSpec(layer int) CacheSpec {
	if a.Linear(layer) {
		return a.StateCacheSpec()
	}
	return a.KVCacheSpec(0)
}
