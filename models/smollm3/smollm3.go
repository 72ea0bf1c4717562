// Package smollm3 is SmolLM3, model type smollm3: the layers of Llama.
//
// Unusual in it:
//
//   - Some layers have no rotary embedding (NoPE). no_rope_layers has a 0 for each of these. Without
//     that list it is every no_rope_layer_interval-th (4th).
package smollm3

import (
	"cmp"
	"fmt"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	NoRopeLayers        []int    `json:"no_rope_layers"` // 1 = the layer has a rotary embedding
	NoRopeLayerInterval int      `json:"no_rope_layer_interval"`
	AttentionBias       bool     `json:"attention_bias"`
	MLPBias             bool     `json:"mlp_bias"`
	LayerTypes          []string `json:"layer_types"`
	UseSlidingWindow    bool     `json:"use_sliding_window"`
	HiddenAct           string   `json:"hidden_act"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{Args: nn.Args{MaxPositionEmbeddings: 2048}, NoRopeLayerInterval: 4}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	if a.NumKeyValueHeads == 0 {
		a.NumKeyValueHeads = a.NumAttentionHeads
	}
	a.SetHeadDim()
	a.SetDefaults(&a.Args, 10000)
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(nn.Size{Name: "no_rope_layer_interval", Value: a.NoRopeLayerInterval,
			Max: nn.MaxLayers}),
		a.CheckFullRotary(),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	switch {
	case err != nil:
		return err
	case a.NoRopeLayers != nil && len(a.NoRopeLayers) != a.NumHiddenLayers:
		return fmt.Errorf("config.json: no_rope_layers lists %d layers of %d",
			len(a.NoRopeLayers), a.NumHiddenLayers)
	}
	return nn.CheckNoWindow(a.UseSlidingWindow, "smollm3")
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	if !a.rotated(layer) {
		rope = nil
	}
	return &nn.Block{
		Mixer: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), Bias: a.AttentionBias,
			Rope: rope, Layer: layer,
		}),
		MLP:                    w.MLP(path+".mlp", a.HiddenSize, a.IntermediateSize, a.MLPBias, nn.SwiGLU),
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
}

// rotated reports whether a layer has a rotary embedding.
func (a *args) rotated(layer int) bool {
	if a.NoRopeLayers != nil {
		return a.NoRopeLayers[layer] != 0
	}
	return (layer+1)%a.NoRopeLayerInterval != 0
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.RopeDecoder(&a.Args, &a.RopeArgs, a.Tied(w), a.newBlock)
}
