// Package llama is Llama 2 and 3, model type llama, and Mistral, model type mistral, which has the
// same layers.
//
// Unusual in it:
//
//   - Projections may have biases (attention_bias, mlp_bias).
//   - A layer that layer_types calls sliding_attention attends a window. In a Mistral with a
//     sliding_window and no layer_types, every layer does.
package llama

import (
	"cmp"
	"slices"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
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
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{Args: nn.Args{MaxPositionEmbeddings: 2048}}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	if a.NumKeyValueHeads == 0 {
		a.NumKeyValueHeads = a.NumAttentionHeads
	}
	a.SetHeadDim()
	a.SetDefaults(&a.Args, 10000)
	// A Mistral gives one window for all layers. A Llama has only the windows of layer_types.
	if a.ModelType == "mistral" && a.LayerTypes == nil && a.SlidingWindow != 0 {
		layers := max(min(a.NumHiddenLayers, nn.MaxLayers), 0)
		a.LayerTypes = slices.Repeat([]string{nn.SlidingAttention}, layers)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	window := nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions}
	if slices.Contains(a.LayerTypes, nn.SlidingAttention) {
		if err := nn.CheckSizes(window); err != nil {
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
	return &nn.Block{
		Mixer: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), Bias: a.AttentionBias,
			Rope: rope, Layer: layer, Window: a.window(layer),
		}),
		MLP: w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, a.MLPBias,
			nn.SwiGLU),
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
