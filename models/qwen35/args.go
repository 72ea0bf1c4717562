package qwen35

import (
	"cmp"
	"encoding/json"
	"fmt"

	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.HeadArgs

	FullAttentionInterval int      `json:"full_attention_interval"`
	LayerTypes            []string `json:"layer_types"` // newer form of the interval
	LinearNumValueHeads   int      `json:"linear_num_value_heads"`
	LinearNumKeyHeads     int      `json:"linear_num_key_heads"`
	LinearKeyHeadDim      int      `json:"linear_key_head_dim"`
	LinearValueHeadDim    int      `json:"linear_value_head_dim"`
	LinearConvKernelDim   int      `json:"linear_conv_kernel_dim"`
	AttentionBias         bool     `json:"attention_bias"`
	AttnOutputGate        *bool    `json:"attn_output_gate"`
	HiddenAct             string   `json:"hidden_act"`

	// With experts.
	NumExperts                   int  `json:"num_experts"` // 0 = dense
	NumExpertsPerTok             int  `json:"num_experts_per_tok"`
	MoeIntermediateSize          int  `json:"moe_intermediate_size"`
	SharedExpertIntermediateSize int  `json:"shared_expert_intermediate_size"`
	NormTopkProb                 bool `json:"norm_topk_prob"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's
// TextModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	var outer struct {
		nn.HeadArgs
		TextConfig json.RawMessage `json:"text_config"`
	}
	if err := nn.ReadConfig(config, &outer); err != nil {
		return nil, err
	}
	text := config
	if len(outer.TextConfig) > 0 {
		text = outer.TextConfig
	}
	a := &args{
		Args:                  nn.Args{RMSNormEps: 1e-6},
		FullAttentionInterval: 4, LinearConvKernelDim: 4, NormTopkProb: true,
	}
	if err := nn.ReadConfig(text, a); err != nil {
		return nil, err
	}
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, outer.TieWordEmbeddings)
	if p := a.RopeParameters; p != nil && p.Theta != nil {
		a.RopeTheta = p.Theta // wins over rope_theta, unlike in other architectures
	}
	a.Merge()
	a.Stretch(a.RopeScaling)
	a.setDefaults()
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// setDefaults fills in what follows from other fields.
func (a *args) setDefaults() {
	if a.NumExperts > 0 {
		a.IntermediateSize = a.MoeIntermediateSize
	}
	if a.HeadDim == 0 && a.NumAttentionHeads > 0 {
		a.HeadDim = a.HiddenSize / a.NumAttentionHeads
	}
	if a.RopeTheta == nil {
		a.RopeTheta = new(100000.0)
	}
	if a.PartialRotaryFactor == nil {
		a.PartialRotaryFactor = new(0.25)
	}
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "full_attention_interval", Value: a.FullAttentionInterval,
				Max: nn.MaxLayers},
			nn.Size{Name: "linear_num_value_heads", Value: a.LinearNumValueHeads, Max: nn.MaxHeads},
			nn.Size{Name: "linear_num_key_heads", Value: a.LinearNumKeyHeads,
				Max: a.LinearNumValueHeads},
			nn.Size{Name: "linear_key_head_dim", Value: a.LinearKeyHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "linear_value_head_dim", Value: a.LinearValueHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "linear_conv_kernel_dim", Value: a.LinearConvKernelDim, Max: 64}),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	switch {
	case err != nil:
		return err
	case a.LinearNumValueHeads%a.LinearNumKeyHeads != 0:
		return fmt.Errorf("config.json: %d linear value heads can't share %d key heads",
			a.LinearNumValueHeads, a.LinearNumKeyHeads)
	case a.LinearConvKernelDim < 2:
		return fmt.Errorf("config.json: linear_conv_kernel_dim is %d, which is no convolution",
			a.LinearConvKernelDim)
	case !(*a.PartialRotaryFactor > 0 && *a.PartialRotaryFactor <= 1):
		return fmt.Errorf("config.json: partial_rotary_factor is %v, which is not between 0 and 1",
			*a.PartialRotaryFactor)
	case a.AttnOutputGate != nil && !*a.AttnOutputGate:
		return &nn.UnsupportedError{Message: "config.json: attn_output_gate false is not supported for qwen3_5"}
	}
	return cmp.Or(a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.LinearAttention),
		a.checkExperts())
}

// checkExperts refuses sizes of experts outside their limits.
func (a *args) checkExperts() error {
	if a.NumExperts == 0 {
		return nil
	}
	return nn.CheckSizes(
		nn.Size{Name: "num_experts", Value: a.NumExperts, Max: nn.MaxHidden},
		nn.Size{Name: "num_experts_per_tok", Value: a.NumExpertsPerTok, Max: a.NumExperts},
		nn.Size{Name: "moe_intermediate_size", Value: a.MoeIntermediateSize,
			Max: nn.MaxIntermediate},
		nn.Size{Name: "shared_expert_intermediate_size", Value: a.SharedExpertIntermediateSize,
			Max: nn.MaxIntermediate})
}

// linear reports whether a layer is a gated delta net.
func (a *args) linear(layer int) bool {
	if a.LayerTypes != nil {
		return a.LayerTypes[layer] == nn.LinearAttention
	}
	return (layer+1)%a.FullAttentionInterval != 0
}

// valueWidth is the elements of a row's values in a gated delta net, convWidth those of queries,
// keys and values, which its convolution takes.
func (a *args) valueWidth() int { return a.LinearNumValueHeads * a.LinearValueHeadDim }
func (a *args) convWidth() int {
	return 2*a.LinearNumKeyHeads*a.LinearKeyHeadDim + a.valueWidth()
}
