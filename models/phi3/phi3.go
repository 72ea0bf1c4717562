// Package phi3 is Phi-3, Phi-3.5 and Phi-4 without experts, model type phi3: the layers of Llama.
//
// Unusual in it:
//
//   - The projections of queries, keys and values are one module, and so are those of gate and up.
//   - A part of each head may be rotated (partial_rotary_factor).
//   - Wavelengths of the rotary embedding may be stretched, each by a factor of its own, and
//     rotated rows multiplied (rope types longrope and su). As in mlx_lm the factors for long texts
//     serve for all.
//   - As in mlx_lm every layer attends all positions, whatever sliding_window says.
package phi3

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.LMHeadArgs
	nn.RopeOrder

	RopeTheta                     *float64     `json:"rope_theta"`
	RopeScaling                   *ropeScaling `json:"rope_scaling"`
	RopeParameters                *ropeScaling `json:"rope_parameters"` // newer form of both
	PartialRotaryFactor           *float64     `json:"partial_rotary_factor"`
	OriginalMaxPositionEmbeddings *float64     `json:"original_max_position_embeddings"`
	AttentionBias                 bool         `json:"attention_bias"`
	HiddenAct                     string       `json:"hidden_act"`
}

// ropeScaling is rope_scaling or rope_parameters.
type ropeScaling struct {
	Type                          string    `json:"rope_type"`
	OldType                       string    `json:"type"`
	Theta                         *float64  `json:"rope_theta"`
	LongFactor                    []float64 `json:"long_factor"`
	ShortFactor                   []float64 `json:"short_factor"`
	PartialRotaryFactor           *float64  `json:"partial_rotary_factor"`
	OriginalMaxPositionEmbeddings *float64  `json:"original_max_position_embeddings"`
}

// UnmarshalJSON refuses types and keys that it does not know, by name.
func (c *ropeScaling) UnmarshalJSON(text []byte) error {
	type plain ropeScaling // without this method
	if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return err
	}
	if kind := c.kind(); !slices.Contains([]string{"default", "longrope", "su"}, kind) {
		return nn.Unsupported("rope type %q is not supported; "+
			"supported for phi3 are default, longrope and su", kind)
	}
	return nn.CheckKeys(text, nn.RopeKey, "rope_type", "type", "rope_theta", "long_factor",
		"short_factor", "partial_rotary_factor", "original_max_position_embeddings")
}

// kind returns the type of scaling, "default" for none.
func (c *ropeScaling) kind() string { return cmp.Or(c.OldType, c.Type, "default") }

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{Args: nn.Args{MaxPositionEmbeddings: 131072}}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	if a.NumKeyValueHeads == 0 {
		a.NumKeyValueHeads = a.NumAttentionHeads
	}
	if a.NumAttentionHeads > 0 {
		a.HeadDim = a.HiddenSize / a.NumAttentionHeads
	}
	if err := a.mergeRope(); err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// mergeRope moves what a section says into the fields outside of it. The newer section wins.
func (a *args) mergeRope() error {
	a.RopeScaling = cmp.Or(a.RopeParameters, a.RopeScaling, &ropeScaling{})
	c := a.RopeScaling
	for _, f := range []struct {
		name         string
		top          **float64
		section      *float64
		defaultValue float64
	}{
		{"rope_theta", &a.RopeTheta, c.Theta, 10000},
		{"partial_rotary_factor", &a.PartialRotaryFactor, c.PartialRotaryFactor, 1},
		{"original_max_position_embeddings", &a.OriginalMaxPositionEmbeddings,
			c.OriginalMaxPositionEmbeddings, 4096},
	} {
		if *f.top != nil && f.section != nil && **f.top != *f.section {
			return fmt.Errorf("config.json: %s is %v, but %v in the section of the rotary embedding",
				f.name, **f.top, *f.section)
		}
		*f.top = cmp.Or(*f.top, f.section, &f.defaultValue)
	}
	return nil
}

func (a *args) check() error {
	err := cmp.Or(a.Check(), nn.CheckPart(*a.PartialRotaryFactor),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	if err == nil && a.RopeScaling.kind() != "default" {
		err = a.CheckNotTraditional()
	}
	switch {
	case err != nil:
		return err
	case a.AttentionBias:
		return nn.Unsupported("config.json: attention_bias is not supported for phi3")
	case !(*a.OriginalMaxPositionEmbeddings > 1 &&
		*a.OriginalMaxPositionEmbeddings <= nn.MaxPositions):
		return fmt.Errorf("config.json: original_max_position_embeddings is %v",
			*a.OriginalMaxPositionEmbeddings)
	}
	return nil
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	return &nn.Block{
		Mixer: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), Fused: true, Rope: rope,
			Layer: layer,
		}),
		MLP:                    w.FusedMLP(path+".mlp", a.HiddenSize, a.IntermediateSize, nn.SwiGLU),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
}

func (a *args) New(w *nn.Weights) nn.Model {
	rope := a.newRope(w)
	return w.Decoder(nn.DecoderSpec{
		Args:     &a.Args,
		NewLayer: func(path string, i int) nn.Layer { return a.newBlock(w, path, rope, i) },
		Tied:     a.Tied(w),
	})
}

// newRope prepares the rotary embedding of all layers.
func (a *args) newRope(w *nn.Weights) *nn.Rope {
	turned := int(float64(a.HeadDim) * *a.PartialRotaryFactor)
	if a.RopeScaling.kind() == "default" {
		return w.Rope(turned, *a.RopeTheta, a.RopeTraditional, nil)
	}
	scale, original := 1.0, *a.OriginalMaxPositionEmbeddings
	if factor := float64(a.MaxPositionEmbeddings) / original; factor > 1 {
		scale = math.Sqrt(1 + math.Log(factor)/math.Log(original))
	}
	return w.LongRope(turned, *a.RopeTheta, a.RopeScaling.LongFactor, scale)
}
