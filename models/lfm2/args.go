package lfm2

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tandem/models/nn"
)

// convolution is the value of layer_types for a layer without attention.
const convolution = "conv"

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	ModelType    string   `json:"model_type"`
	NormEps      float64  `json:"norm_eps"`
	TieEmbedding *bool    `json:"tie_embedding"` // wins over tie_word_embeddings
	LayerTypes   []string `json:"layer_types"`
	FullAttnIdxs []int    `json:"full_attn_idxs"` // older form of layer_types
	ConvLCache   int      `json:"conv_L_cache"`   // rows that a convolution sees
	ConvBias     bool     `json:"conv_bias"`

	// Dense.
	BlockDim              int      `json:"block_dim"`
	BlockFFDim            int      `json:"block_ff_dim"` // wins over intermediate_size
	BlockAutoAdjustFFDim  bool     `json:"block_auto_adjust_ff_dim"`
	BlockFFNDimMultiplier *float64 `json:"block_ffn_dim_multiplier"`
	BlockMultipleOf       int      `json:"block_multiple_of"`

	// With experts.
	NumDenseLayers      int     `json:"num_dense_layers"` // the first layers, without experts
	NumExperts          int     `json:"num_experts"`
	NumExpertsPerTok    int     `json:"num_experts_per_tok"`
	MoeIntermediateSize int     `json:"moe_intermediate_size"`
	NormTopkProb        bool    `json:"norm_topk_prob"`
	UseExpertBias       bool    `json:"use_expert_bias"`
	RoutedScalingFactor float64 `json:"routed_scaling_factor"`
}

// Parse reads and checks a config.json.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{RoutedScalingFactor: 1}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.RMSNormEps = a.NormEps
	a.TieWordEmbeddings = cmp.Or(a.TieEmbedding, a.TieWordEmbeddings)
	if a.NumAttentionHeads > 0 {
		a.HeadDim = a.HiddenSize / a.NumAttentionHeads
	}
	a.MergeNewer()
	if a.RopeTheta == nil {
		a.RopeTheta = new(1000000.0)
	}
	if err := cmp.Or(a.setLayerTypes(), a.setWidth(), a.check()); err != nil {
		return nil, err
	}
	return a, nil
}

// setLayerTypes turns full_attn_idxs into layer_types.
func (a *args) setLayerTypes() error {
	if a.FullAttnIdxs == nil {
		if a.LayerTypes == nil {
			return errors.New("config.json: layer_types is missing")
		}
		return nil
	}
	types := slices.Repeat([]string{convolution}, max(min(a.NumHiddenLayers, nn.MaxLayers), 0))
	for _, i := range a.FullAttnIdxs {
		if i < 0 || i >= len(types) {
			return fmt.Errorf("config.json: full_attn_idxs has layer %d of %d", i, len(types))
		}
		types[i] = nn.FullAttention
	}
	if a.LayerTypes != nil && !slices.Equal(a.LayerTypes, types) {
		return errors.New("config.json: full_attn_idxs and layer_types contradict each other")
	}
	a.LayerTypes = types
	return nil
}

// setWidth sets intermediate_size to the width of a dense MLP.
func (a *args) setWidth() error {
	if a.NumExperts > 0 {
		return nil
	}
	if a.BlockDim != 0 && a.BlockDim != a.HiddenSize {
		return nn.Unsupported("config.json: block_dim %d is not supported, only hidden_size %d",
			a.BlockDim, a.HiddenSize)
	}
	width := cmp.Or(a.BlockFFDim, a.IntermediateSize)
	if err := nn.CheckSizes(
		nn.Size{Name: "block_ff_dim", Value: width, Max: nn.MaxIntermediate}); err != nil {
		return err
	}
	if a.BlockAutoAdjustFFDim {
		if err := nn.CheckSizes(nn.Size{Name: "block_multiple_of", Value: a.BlockMultipleOf,
			Max: nn.MaxIntermediate}); err != nil {
			return err
		}
		width = 2 * width / 3
		if m := a.BlockFFNDimMultiplier; m != nil {
			if !(*m > 0 && *m <= nn.MaxIntermediate) {
				return fmt.Errorf("config.json: block_ffn_dim_multiplier is %v", *m)
			}
			width = int(*m * float64(width))
		}
		width = (width + a.BlockMultipleOf - 1) / a.BlockMultipleOf * a.BlockMultipleOf
	}
	a.IntermediateSize = width
	return nil
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(nn.Size{Name: "conv_L_cache", Value: a.ConvLCache, Max: 64}),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, convolution),
		a.checkExperts())
	switch {
	case err != nil:
		return err
	case a.ConvLCache < 2:
		return fmt.Errorf("config.json: conv_L_cache is %d, which is no convolution", a.ConvLCache)
	case a.RopeScaling.Kind() != "default":
		return nn.Unsupported("config.json: rope type %q is not supported for %s",
			a.RopeScaling.Kind(), a.ModelType)
	}
	return nil
}

// checkExperts refuses sizes of experts outside their limits.
func (a *args) checkExperts() error {
	if a.ModelType == "lfm2" && a.NumExperts == 0 {
		return nil
	}
	if a.NumDenseLayers != 0 { // none may be dense
		if err := nn.CheckSizes(nn.Size{Name: "num_dense_layers", Value: a.NumDenseLayers,
			Max: a.NumHiddenLayers}); err != nil {
			return err
		}
	}
	return nn.CheckSizes(
		nn.Size{Name: "num_experts", Value: a.NumExperts, Max: nn.MaxExperts},
		nn.Size{Name: "num_experts_per_tok", Value: a.NumExpertsPerTok, Max: a.NumExperts},
		nn.Size{Name: "moe_intermediate_size", Value: a.MoeIntermediateSize,
			Max: nn.MaxIntermediate})
}

// attends reports whether a layer is attention. Otherwise it is a convolution.
func (a *args) attends(layer int) bool { return a.LayerTypes[layer] == nn.FullAttention }
