// Package gptoss is gpt-oss, model type gpt_oss.
//
// Unusual in it:
//
//   - Every second layer attends a sliding window of 128 positions.
//   - Each head has a sink: one more score in the softmax, which belongs to no value. So the
//     weights of the values add up to less than 1.
//   - All projections have biases, those of the router and of each expert included.
//   - The router takes the softmax of the chosen experts' logits, not of all.
//   - The gate of an expert is clamped, and 1 is added to what it multiplies (nn.ClampedSwiGLU).
//   - Rotary embeddings are scaled by YaRN, and the bounds of its ramp are not rounded to whole
//     dimensions (truncate false). mlx_lm 0.32.2 ignores that key.
//   - As published, the rows of gate and up alternate in one tensor, quantized as mxfp4 in blocks of
//     32 values (16 bytes). MLX's conversions store them apart, under experts instead of switch_mlp.
package gptoss

import (
	"cmp"
	"strings"

	"tandem/engine/mlx"
	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	NumLocalExperts  int      `json:"num_local_experts"`
	NumExpertsPerTok int      `json:"num_experts_per_tok"`
	SlidingWindow    int      `json:"sliding_window"`
	LayerTypes       []string `json:"layer_types"` // default: sliding and full in turn
	AttentionBias    *bool    `json:"attention_bias"`
	SwigluLimit      float64  `json:"swiglu_limit"`
	SwigluAlpha      float64  `json:"swiglu_alpha"`
	HiddenAct        string   `json:"hidden_act"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{
		Args: nn.Args{
			HiddenSize: 2880, NumHiddenLayers: 36, IntermediateSize: 2880,
			NumAttentionHeads: 64, NumKeyValueHeads: 8, HeadDim: 64,
			RMSNormEps: 1e-5, VocabSize: 201088, MaxPositionEmbeddings: 131072,
		},
		NumLocalExperts: 128, NumExpertsPerTok: 4, SlidingWindow: 128,
		SwigluLimit: 7, SwigluAlpha: 1.702,
	}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetDefaults(&a.Args, 150000) // rope_theta
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions},
			nn.Size{Name: "num_local_experts", Value: a.NumLocalExperts, Max: nn.MaxExperts},
			nn.Size{Name: "num_experts_per_tok", Value: a.NumExpertsPerTok,
				Max: a.NumLocalExperts}),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	switch {
	case err != nil:
		return err
	case a.AttentionBias != nil && !*a.AttentionBias:
		return nn.Unsupported("config.json: attention_bias false is not supported for gpt_oss")
	}
	return nn.CheckPositive(
		nn.Number{Name: "swiglu_limit", Value: float64(a.SwigluLimit)},
		nn.Number{Name: "swiglu_alpha", Value: float64(a.SwigluAlpha)})
}

// newBlock reads one layer.
func (a *args) newBlock(w *nn.Weights, path string, rope *nn.Rope, layer int) *nn.Block {
	return &nn.Block{
		Mixer: w.Attention(path+".self_attn", nn.AttentionSpec{
			Hidden: a.HiddenSize, Heads: a.Heads(float64(a.HeadDim)), Bias: true, Sinks: true,
			Rope: rope, Layer: layer, Window: a.window(layer),
		}),
		MLP: &nn.MoE{
			Router: &router{
				linear: w.Linear(path+".mlp.router", a.HiddenSize, a.NumLocalExperts, true),
				topK:   a.NumExpertsPerTok,
			},
			Experts: w.Experts(path+".mlp", nn.ExpertsShape{
				Count: a.NumLocalExperts, Hidden: a.HiddenSize, Intermediate: a.IntermediateSize,
				Gate: nn.ClampedSwiGLU(a.SwigluAlpha, a.SwigluLimit), Bias: true, InterleavedGateUp: true,
			}),
		},
		InputLayernorm:         a.Norm(w, path+".input_layernorm"),
		PostAttentionLayernorm: a.Norm(w, path+".post_attention_layernorm"),
	}
}

// A router weighs the experts of the largest logits by their probabilities among the chosen.
type router struct {
	linear *nn.Linear // (E)
	topK   int
}

// Route implements nn.Router.
func (r *router) Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array) {
	logits := r.linear.Forward(s, x) // (rows, E)
	chosen = nn.TopExperts(s, logits, r.topK)
	return chosen, s.Softmax(s.TakeAlong(logits, chosen, -1), -1)
}

func (a *args) New(w *nn.Weights) nn.Model {
	return w.RopeDecoder(&a.Args, &a.RopeArgs, a.Tied(w), a.newBlock)
}

// window returns the positions that a layer attends, 0 for all.
func (a *args) window(layer int) int {
	sliding := layer%2 == 0
	if a.LayerTypes != nil {
		sliding = a.LayerTypes[layer] == nn.SlidingAttention
	}
	if sliding {
		return a.SlidingWindow
	}
	return 0
}

func (a *args) CacheSpec(layer int) nn.CacheSpec { return a.KVCacheSpec(a.window(layer)) }

// openAINames maps the ends of the names of OpenAI's experts to those of MLX's conversions.
var openAINames = strings.NewReplacer("_proj_blocks", "_proj.weight", "_proj_scales", "_proj.scales",
	"_proj_bias", "_proj.bias")

// Sanitize implements nn.Architecture. Experts get the names that other families have.
func (a *args) Sanitize(name string) (string, bool) {
	name, keep := a.LMHeadArgs.Sanitize(name)
	if path, module, ok := strings.Cut(name, ".mlp.experts."); ok {
		name = path + ".mlp.switch_mlp." + openAINames.Replace(module)
	}
	return name, keep
}
