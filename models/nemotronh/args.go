package nemotronh

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"tandem/models/nn"
)

// Kinds of layers, as hybrid_override_pattern has them. Each layer is one of these alone.
const (
	mambaLayer     = "M"
	attentionLayer = "*"
	mlpLayer       = "-"
	moeLayer       = "E"
)

// kinds are the names in layers_block_type and layer_types, which are newer forms.
var kinds = map[string]string{
	"mamba": mambaLayer, "linear_attention": mambaLayer, "conv": mambaLayer,
	"attention": attentionLayer, "full_attention": attentionLayer,
	"mlp": mlpLayer, "moe": moeLayer,
	mambaLayer: mambaLayer, attentionLayer: attentionLayer, mlpLayer: mlpLayer, moeLayer: moeLayer,
}

// A pattern lists the kinds of all layers: letters of one string, or names.
type pattern []string

// UnmarshalJSON parses either form.
func (p *pattern) UnmarshalJSON(text []byte) error {
	var letters string
	if json.Unmarshal(text, &letters) == nil {
		*p = strings.Split(letters, "")
		return nil
	}
	return json.Unmarshal(text, (*[]string)(p))
}

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.LMHeadArgs

	LayerNormEpsilon      float64 `json:"layer_norm_epsilon"`
	HybridOverridePattern pattern `json:"hybrid_override_pattern"`
	LayersBlockType       pattern `json:"layers_block_type"`
	LayerTypes            pattern `json:"layer_types"`
	AttentionBias         bool    `json:"attention_bias"`
	MLPBias               bool    `json:"mlp_bias"`
	MLPHiddenAct          string  `json:"mlp_hidden_act"`

	MambaNumHeads  int    `json:"mamba_num_heads"`
	MambaHeadDim   int    `json:"mamba_head_dim"`
	MambaProjBias  bool   `json:"mamba_proj_bias"`
	MambaHiddenAct string `json:"mamba_hidden_act"`
	SSMStateSize   int    `json:"ssm_state_size"`
	NGroups        int    `json:"n_groups"` // of heads that share B and C
	ConvKernel     int    `json:"conv_kernel"`
	UseConvBias    bool   `json:"use_conv_bias"`

	// TimeStepLimit bounds the time steps. Its end is infinite in published files, which no float64
	// is read from.
	TimeStepLimit []json.Number `json:"time_step_limit"`

	NRoutedExperts                  int     `json:"n_routed_experts"`
	NSharedExperts                  *int    `json:"n_shared_experts"` // null = none
	NumExpertsPerTok                int     `json:"num_experts_per_tok"`
	NGroup                          int     `json:"n_group"` // of experts
	TopkGroup                       int     `json:"topk_group"`
	NormTopkProb                    bool    `json:"norm_topk_prob"`
	RoutedScalingFactor             float64 `json:"routed_scaling_factor"`
	MoeIntermediateSize             int     `json:"moe_intermediate_size"`
	MoeSharedExpertIntermediateSize int     `json:"moe_shared_expert_intermediate_size"`
	MoeLatentSize                   *int    `json:"moe_latent_size"` // null = experts take whole rows
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{NGroup: 1, TopkGroup: 1, RoutedScalingFactor: 1}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	if a.HybridOverridePattern == nil {
		a.HybridOverridePattern = a.LayersBlockType
	}
	if a.HybridOverridePattern == nil {
		a.HybridOverridePattern = a.LayerTypes
	}
	a.NumHiddenLayers = len(a.HybridOverridePattern)
	a.RMSNormEps = a.LayerNormEpsilon
	a.SetHeadDim()
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	if a.HybridOverridePattern == nil {
		return errors.New("config.json: hybrid_override_pattern is missing")
	}
	experts, caches := false, false
	for i, name := range a.HybridOverridePattern {
		kind, ok := kinds[name]
		if !ok {
			return nn.Unsupported("config.json: layer type %q is not supported", name)
		}
		a.HybridOverridePattern[i] = kind
		experts = experts || kind == moeLayer
		caches = caches || a.keeps(i)
	}
	err := cmp.Or(
		a.Check(
			nn.Size{Name: "mamba_num_heads", Value: a.MambaNumHeads, Max: nn.MaxHeads},
			nn.Size{Name: "mamba_head_dim", Value: a.MambaHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "ssm_state_size", Value: a.SSMStateSize, Max: nn.MaxHeadDim},
			nn.Size{Name: "n_groups", Value: a.NGroups, Max: a.MambaNumHeads},
			nn.Size{Name: "conv_kernel", Value: a.ConvKernel, Max: 64}),
		nn.CheckActivation("mlp_hidden_act", a.MLPHiddenAct, "relu2"),
		nn.CheckActivation("mamba_hidden_act", a.MambaHiddenAct, "silu", "swish"))
	_, _, limits := a.timeSteps()
	switch {
	case err != nil:
		return err
	case a.MambaNumHeads%a.NGroups != 0:
		return fmt.Errorf("config.json: %d heads of mamba can't share %d groups",
			a.MambaNumHeads, a.NGroups)
	case a.ConvKernel < 2:
		return fmt.Errorf("config.json: conv_kernel is %d, which is no convolution", a.ConvKernel)
	case limits != nil:
		return limits
	case !caches:
		return errors.New("config.json: hybrid_override_pattern has no layer that remembers the text, " +
			"neither M nor *")
	case experts:
		return a.checkExperts()
	}
	return nil
}

// checkExperts refuses sizes of experts outside their limits.
func (a *args) checkExperts() error {
	sizes := []nn.Size{
		{Name: "moe_intermediate_size", Value: a.MoeIntermediateSize, Max: nn.MaxIntermediate}}
	if a.NSharedExperts != nil {
		sizes = append(sizes, nn.Size{Name: "moe_shared_expert_intermediate_size",
			Value: a.MoeSharedExpertIntermediateSize, Max: nn.MaxIntermediate})
	}
	if a.MoeLatentSize != nil {
		sizes = append(sizes,
			nn.Size{Name: "moe_latent_size", Value: *a.MoeLatentSize, Max: nn.MaxHidden})
	}
	return cmp.Or(nn.CheckSizes(sizes...), a.router().Check())
}

// router returns how the experts of a layer are chosen.
func (a *args) router() nn.SigmoidRouterSpec {
	return nn.SigmoidRouterSpec{
		Experts: a.NRoutedExperts, TopK: a.NumExpertsPerTok,
		Normalize: a.NormTopkProb, Scale: a.RoutedScalingFactor,
		Groups: a.NGroup, TopGroups: a.TopkGroup,
	}
}

// timeSteps returns the bounds of time steps: 0 and infinity if config.json has none.
func (a *args) timeSteps() (low, high float64, err error) {
	if a.TimeStepLimit == nil {
		return 0, math.Inf(1), nil
	}
	if len(a.TimeStepLimit) == 2 {
		low, err = a.TimeStepLimit[0].Float64()
		if a.TimeStepLimit[1] == nn.NonFinite {
			high = math.Inf(1)
		} else if err == nil {
			high, err = a.TimeStepLimit[1].Float64()
		}
		if err == nil && 0 <= low && low < high {
			return low, high, nil
		}
	}
	return 0, 0, fmt.Errorf("config.json: time_step_limit %v is not two ascending bounds",
		a.TimeStepLimit)
}

// innerWidth is the elements of a row in a mamba layer, convWidth those of what its convolution
// takes: the row, B and C.
func (a *args) innerWidth() int { return a.MambaNumHeads * a.MambaHeadDim }
func (a *args) convWidth() int  { return a.innerWidth() + 2*a.NGroups*a.SSMStateSize }

// kind returns the kind of a layer.
func (a *args) kind(layer int) string { return a.HybridOverridePattern[layer] }

// keeps reports whether a layer has a cache.
func (a *args) keeps(layer int) bool {
	return a.kind(layer) == mambaLayer || a.kind(layer) == attentionLayer
}

// cache returns which of the caches a layer has.
func (a *args) cache(layer int) int {
	n := 0
	for i := range layer {
		if a.keeps(i) {
			n++
		}
	}
	return n
}

func (a *args) CacheSpec(layer int) nn.CacheSpec {
	switch a.kind(layer) {
	case mambaLayer:
		state := a.innerWidth() * a.SSMStateSize
		return nn.CacheSpec{State: state + (a.ConvKernel-1)*a.convWidth()}
	case attentionLayer:
		return a.KVCacheSpec(0)
	}
	return nn.CacheSpec{}
}
