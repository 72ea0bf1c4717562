// Package qwen2 is Qwen2 and Qwen2.5 (dense), Qwen2.5-Coder among them, model type qwen2.
//
// Unusual in it:
//
//   - The projections of queries, keys and values have biases; that of the output has none.
//   - With use_sliding_window, the layers from max_window_layers on attend a window. No published
//     model has it switched on, and mlx_lm takes no notice of it.
package qwen2

import (
	"cmp"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	UseSlidingWindow bool     `json:"use_sliding_window"`
	SlidingWindow    int      `json:"sliding_window"`
	MaxWindowLayers  int      `json:"max_window_layers"`
	LayerTypes       []string `json:"layer_types"` // newer form of max_window_layers
	HiddenAct        string   `json:"hidden_act"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs,
// and of transformers' Qwen2Config for windows.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{
		Args: nn.Args{MaxPositionEmbeddings: 32768}, SlidingWindow: 4096, MaxWindowLayers: 28,
	}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetHeadDim()
	a.SetDefaults(&a.Args, 1e6)
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	if a.UseSlidingWindow {
		window := nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions}
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
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), QKVBias: true, Rope: rope,
			Layer: layer, Window: a.window(layer),
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
	sliding := layer >= a.MaxWindowLayers
	if a.LayerTypes != nil {
		sliding = a.LayerTypes[layer] == nn.SlidingAttention
	}
	if a.UseSlidingWindow && sliding {
		return a.SlidingWindow
	}
	return 0
}

func (a *args) CacheSpec(layer int) nn.CacheSpec { return a.KVCacheSpec(a.window(layer)) }
