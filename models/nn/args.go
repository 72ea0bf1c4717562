package nn

import (
	"fmt"
	"math"
)

// Args is what config.json says of every decoder, embedded in the Args of an
// architecture.
type Args struct {
	HiddenSize            int     `json:"hidden_size"`
	NumHiddenLayers       int     `json:"num_hidden_layers"`
	IntermediateSize      int     `json:"intermediate_size"`
	NumAttentionHeads     int     `json:"num_attention_heads"`
	NumKeyValueHeads      int     `json:"num_key_value_heads"`
	HeadDim               int     `json:"head_dim"`
	RMSNormEps            float64 `json:"rms_norm_eps"`
	VocabSize             int     `json:"vocab_size"`
	MaxPositionEmbeddings int     `json:"max_position_embeddings"`
}

// Check refuses sizes that can't be, and the further ones of an architecture.
func (a *Args) Check(more ...Size) error {
	err := CheckSizes(append([]Size{
		{"hidden_size", a.HiddenSize, MaxHidden},
		{"num_hidden_layers", a.NumHiddenLayers, MaxLayers},
		{"intermediate_size", a.IntermediateSize, MaxIntermediate},
		{"num_attention_heads", a.NumAttentionHeads, MaxHeads},
		{"num_key_value_heads", a.NumKeyValueHeads, a.NumAttentionHeads},
		{"head_dim", a.HeadDim, MaxHeadDim},
		{"vocab_size", a.VocabSize, MaxVocab},
		{"max_position_embeddings", a.MaxPositionEmbeddings, MaxPositions},
	}, more...)...)
	switch {
	case err != nil:
		return err
	case a.NumAttentionHeads%a.NumKeyValueHeads != 0:
		return fmt.Errorf("config.json: %d attention heads can't share %d key and value heads", a.NumAttentionHeads, a.NumKeyValueHeads)
	case !(a.RMSNormEps > 0):
		return fmt.Errorf("config.json: rms_norm_eps is %v, not above 0", a.RMSNormEps)
	}
	return nil
}

// Heads returns the attention heads, whose scores are scaled by the square
// root of 1 / scalar.
func (a *Args) Heads(scalar float64) Heads {
	return Heads{Q: a.NumAttentionHeads, KV: a.NumKeyValueHeads, Dim: a.HeadDim, Scale: float32(math.Pow(scalar, -0.5))}
}

// CheckLayerTypes refuses a layer_types that is neither nil nor one of
// full_attention and sliding_attention for each layer.
func (a *Args) CheckLayerTypes(types []string) error {
	if types != nil && len(types) != a.NumHiddenLayers {
		return fmt.Errorf("config.json: layer_types lists %d layers of %d", len(types), a.NumHiddenLayers)
	}
	for _, t := range types {
		if t != "sliding_attention" && t != "full_attention" {
			return unsupported("config.json: layer type %q is not supported", t)
		}
	}
	return nil
}

// RopeArgs is what config.json says of a rotary embedding, in the older form
// and in the newer one that holds both.
type RopeArgs struct {
	RopeTheta      *float64     `json:"rope_theta"`
	RopeScaling    *RopeScaling `json:"rope_scaling"`
	RopeParameters *RopeScaling `json:"rope_parameters"`
}

// Merge moves the newer form into the older one. Where both say something,
// rope_theta and rope_parameters win.
func (a *RopeArgs) Merge() {
	if a.RopeParameters == nil {
		return
	}
	a.RopeScaling = a.RopeParameters
	if a.RopeTheta == nil {
		a.RopeTheta = a.RopeParameters.Theta
	}
}
