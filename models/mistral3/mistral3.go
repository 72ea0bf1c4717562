// Package mistral3 is the text half of Mistral's models that also see, model type mistral3: Mistral
// Small 3.1 and later, Ministral 3 and Devstral Small 2. The text model of the last two is of model
// type ministral3, which also comes alone. That of the others is of model type mistral.
//
// Unusual in it:
//
//   - A ministral3 multiplies queries by a factor that grows with the position
//     (llama_4_scaling_beta), beyond the positions that its rotary embedding was first trained on.
//   - A layer that layer_types calls sliding_attention attends a window. In a mistral with a
//     sliding_window and no layer_types, every layer does.
//   - Tensors of what sees (vision_tower, multi_modal_projector) are not loaded. Nor are the scales
//     of activations of checkpoints that were in FP8 once (activation_scale).
package mistral3

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	ModelType     string   `json:"model_type"`
	AttentionBias bool     `json:"attention_bias"`
	MLPBias       bool     `json:"mlp_bias"`
	LayerTypes    []string `json:"layer_types"`
	SlidingWindow int      `json:"sliding_window"`
	HiddenAct     string   `json:"hidden_act"`

	growth *nn.Growth // of queries; nil = none
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{Args: nn.Args{MaxPositionEmbeddings: 2048}}
	head, err := nn.ReadTextConfig(config, a)
	if err != nil {
		return nil, err
	}
	switch a.ModelType {
	case "ministral3", "mistral":
	case "mistral3":
		return nil, errors.New("config.json: text_config is missing")
	default:
		return nil, nn.Unsupported("config.json: a text model of type "+
			"%q is not supported for mistral3, only ministral3 and mistral", a.ModelType)
	}
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, head.TieWordEmbeddings)
	a.setDefaults()
	if err := cmp.Or(a.setGrowth(), a.check()); err != nil {
		return nil, err
	}
	return a, nil
}

// setDefaults fills in what follows from other fields.
func (a *args) setDefaults() {
	if a.NumKeyValueHeads == 0 {
		a.NumKeyValueHeads = a.NumAttentionHeads
	}
	a.SetHeadDim()
	a.MergeNewer()
	a.Stretch(a.RopeScaling)
	if a.RopeTheta == nil {
		a.RopeTheta = new(10000.0)
	}
	if a.ModelType == "mistral" && a.LayerTypes == nil && a.SlidingWindow != 0 {
		layers := max(min(a.NumHiddenLayers, nn.MaxLayers), 0)
		a.LayerTypes = slices.Repeat([]string{nn.SlidingAttention}, layers)
	}
}

// setGrowth takes the growth of queries out of the rotary embedding's section, which does not know
// what to do with it.
func (a *args) setGrowth() error {
	if a.ModelType != "ministral3" {
		return nil
	}
	r := a.RopeScaling
	if r == nil || r.Llama4ScalingBeta == nil || r.OriginalMaxPositionEmbeddings == nil {
		return errors.New("config.json: rope_parameters lacks llama_4_scaling_beta or " +
			"original_max_position_embeddings, which a ministral3 needs")
	}
	a.growth = &nn.Growth{Beta: *r.Llama4ScalingBeta, Positions: *r.OriginalMaxPositionEmbeddings}
	plain := *r
	plain.Llama4ScalingBeta = nil
	a.RopeScaling = &plain
	return nil
}

func (a *args) check() error {
	if slices.Contains(a.LayerTypes, nn.SlidingAttention) {
		if err := nn.CheckSizes(nn.Size{Name: "sliding_window", Value: a.SlidingWindow,
			Max: nn.MaxPositions}); err != nil {
			return err
		}
	}
	if a.AttentionBias || a.MLPBias {
		return nn.Unsupported("config.json: attention_bias and mlp_bias are not supported for mistral3")
	}
	if a.ModelType == "ministral3" {
		if err := a.CheckNotTraditional(); err != nil {
			return err
		}
	}
	return cmp.Or(
		a.Check(),
		a.CheckFullRotary(),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	heads := a.Heads(float64(a.HeadDim))
	heads.Growth = a.growth
	return &nn.Block{
		Mixer: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: heads, Rope: rope, Layer: layer, Window: a.window(layer),
		}),
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, false, nn.SwiGLU),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.RopeDecoder(&a.Args, &a.RopeArgs, a.Tied(w), a.newBlock)
}

// window returns the positions that a layer attends, 0 for all.
func (a *args) window(layer int) int {
	if a.LayerTypes != nil && a.LayerTypes[layer] == nn.SlidingAttention {
		return a.SlidingWindow
	}
	return 0
}

func (a *args) CacheSpec(layer int) nn.CacheSpec { return a.KVCacheSpec(a.window(layer)) }

func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.LMHeadArgs.Sanitize(name)
	return name, keep && !strings.HasSuffix(name, ".activation_scale")
}
