package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Args is what config.json says about every decoder. An architecture embeds it in its own args.
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

// Check refuses sizes outside their limits. more are further sizes of an architecture.
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
		return fmt.Errorf("config.json: %d attention heads can't share %d key and value heads",
			a.NumAttentionHeads, a.NumKeyValueHeads)
	}
	return CheckPositive(Number{"rms_norm_eps", a.RMSNormEps})
}

// SetHeadDim gives each head its share of a row, if config.json has no head_dim.
func (a *Args) SetHeadDim() {
	if a.HeadDim == 0 && a.NumAttentionHeads > 0 {
		a.HeadDim = a.HiddenSize / a.NumAttentionHeads
	}
}

// Norm reads the norm of rows at path.
func (a *Args) Norm(w *Weights, path string) *RMSNorm {
	return w.RMSNorm(path, a.HiddenSize, a.RMSNormEps, 0)
}

// Layers implements [Architecture].
func (a *Args) Layers() int { return a.NumHiddenLayers }

// Heads returns the attention heads. Their scores are divided by sqrt(scalar), which is
// HeadDim in most families.
func (a *Args) Heads(scalar float64) Heads {
	return Heads{
		Q: a.NumAttentionHeads, KV: a.NumKeyValueHeads, Dim: a.HeadDim,
		Scale: float32(math.Pow(scalar, -0.5)),
	}
}

// KVCacheSpec returns the cache spec of a layer with attention; window 0 = all positions.
func (a *Args) KVCacheSpec(window int) CacheSpec {
	return KVCacheSpec(a.NumKeyValueHeads, a.HeadDim, window)
}

// CacheSpec implements [Architecture] for layers that attend all positions.
func (a *Args) CacheSpec(int) CacheSpec { return a.KVCacheSpec(0) }

// CheckLayerTypes checks layer_types: nil, or one of the known types for each layer.
func (a *Args) CheckLayerTypes(types []string, known ...string) error {
	if types != nil && len(types) != a.NumHiddenLayers {
		return fmt.Errorf("config.json: layer_types lists %d layers of %d",
			len(types), a.NumHiddenLayers)
	}
	for _, t := range types {
		if !slices.Contains(known, t) {
			return Unsupported("config.json: layer type %q is not supported", t)
		}
	}
	return nil
}

// Values of layer_types.
const (
	FullAttention    = "full_attention"
	SlidingAttention = "sliding_attention"
	LinearAttention  = "linear_attention"
)

// RopeArgs is what config.json says about a rotary embedding: rope_theta and rope_scaling, or
// rope_parameters, the newer form that holds both.
type RopeArgs struct {
	RopeOrder
	RopeTheta           *float64     `json:"rope_theta"`
	RopeScaling         *RopeScaling `json:"rope_scaling"`
	RopeParameters      *RopeScaling `json:"rope_parameters"`
	PartialRotaryFactor *float64     `json:"partial_rotary_factor"` // rotated part of a head, 1
}

// RopeOrder is what config.json says about which elements of a head are rotated together.
type RopeOrder struct {
	RopeTraditional bool `json:"rope_traditional"` // pairs of neighbours, not halves
}

// CheckNotTraditional refuses rope_traditional, pairs of neighbours, for an architecture that mlx_lm
// rotates only by halves.
func (o RopeOrder) CheckNotTraditional() error {
	if o.RopeTraditional {
		return Unsupported("config.json: rope_traditional is not supported for this model_type")
	}
	return nil
}

// Merge moves the newer form into the older one. If both are there, rope_theta and the scaling of
// rope_parameters win. The rotated part of a head moves out of the section.
func (a *RopeArgs) Merge() {
	if a.RopeParameters != nil {
		a.RopeScaling = a.RopeParameters
	}
	if a.RopeScaling == nil {
		return
	}
	if a.RopeTheta == nil {
		a.RopeTheta = a.RopeScaling.Theta
	}
	if a.RopeScaling.PartialRotaryFactor != nil {
		a.PartialRotaryFactor = a.RopeScaling.PartialRotaryFactor
	}
}

// SetDefaults merges both forms, raises the context of args to what the scaling makes of it, and fills
// in rope_theta. A theta of 0 leaves it missing, see CheckTheta.
func (a *RopeArgs) SetDefaults(args *Args, theta float64) {
	a.Merge()
	args.Stretch(a.RopeScaling)
	if a.RopeTheta == nil && theta != 0 {
		a.RopeTheta = &theta
	}
}

// CheckTheta refuses a config.json without rope_theta.
func (a *RopeArgs) CheckTheta() error {
	if a.RopeTheta == nil {
		return errors.New("config.json: rope_theta is missing")
	}
	return nil
}

// MergeNewer is Merge for architectures in which the rope_theta of the newer form wins too.
func (a *RopeArgs) MergeNewer() {
	if a.RopeParameters != nil && a.RopeParameters.Theta != nil {
		a.RopeTheta = a.RopeParameters.Theta
	}
	a.Merge()
}

// CheckFullRotary refuses heads that are rotated in part (partial_rotary_factor), for an architecture
// that rotates whole ones.
func (a *RopeArgs) CheckFullRotary() error {
	return (&RopeScaling{PartialRotaryFactor: a.PartialRotaryFactor}).CheckFullRotary()
}

// CheckPart refuses a rotated part of a head that is not between 0 and 1.
func CheckPart(partialRotaryFactor float64) error {
	if !(partialRotaryFactor > 0 && partialRotaryFactor <= 1) {
		return fmt.Errorf("config.json: partial_rotary_factor is %v, which is not between 0 and 1",
			partialRotaryFactor)
	}
	return nil
}

// Stretch raises the context to what a scaling makes of its original one, if that is more.
// Checkpoints that a yarn stretches give either length as max_position_embeddings.
func (a *Args) Stretch(scaling *RopeScaling) {
	if a.MaxPositionEmbeddings > 0 {
		a.MaxPositionEmbeddings = max(a.MaxPositionEmbeddings, scaling.context())
	}
}

// ContextLength implements [Architecture].
func (a *Args) ContextLength() int { return a.MaxPositionEmbeddings }
