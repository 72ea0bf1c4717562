package glm4moelite

import (
	"cmp"
	"fmt"
	"math"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	QLoraRank      *int   `json:"q_lora_rank"` // null = queries come from the row itself
	KVLoraRank     int    `json:"kv_lora_rank"`
	QKNopeHeadDim  int    `json:"qk_nope_head_dim"`
	QKRopeHeadDim  int    `json:"qk_rope_head_dim"`
	VHeadDim       int    `json:"v_head_dim"`
	RopeInterleave *bool  `json:"rope_interleave"`
	AttentionBias  bool   `json:"attention_bias"`
	HiddenAct      string `json:"hidden_act"`

	MoeIntermediateSize int     `json:"moe_intermediate_size"`
	NRoutedExperts      *int    `json:"n_routed_experts"` // null = no layer has experts
	NSharedExperts      *int    `json:"n_shared_experts"`
	NumExpertsPerTok    int     `json:"num_experts_per_tok"`
	NGroup              int     `json:"n_group"`
	TopkGroup           int     `json:"topk_group"`
	TopkMethod          string  `json:"topk_method"`
	ScoringFunc         string  `json:"scoring_func"`
	NormTopkProb        bool    `json:"norm_topk_prob"`
	RoutedScalingFactor float64 `json:"routed_scaling_factor"`
	FirstKDenseReplace  int     `json:"first_k_dense_replace"`
	MoeLayerFreq        int     `json:"moe_layer_freq"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{
		Args: nn.Args{
			HiddenSize: 2048, NumHiddenLayers: 47, IntermediateSize: 10240, NumAttentionHeads: 20,
			RMSNormEps: 1e-5, VocabSize: 154880, MaxPositionEmbeddings: 202752,
		},
		QLoraRank: new(768), KVLoraRank: 512, QKNopeHeadDim: 192, QKRopeHeadDim: 64, VHeadDim: 256,
		MoeIntermediateSize: 1536, NRoutedExperts: new(64), NSharedExperts: new(1),
		NumExpertsPerTok: 4, NGroup: 1, TopkGroup: 1, TopkMethod: "noaux_tc", ScoringFunc: "sigmoid",
		NormTopkProb: true, RoutedScalingFactor: 1.8, FirstKDenseReplace: 1, MoeLayerFreq: 1,
	}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetDefaults(&a.Args, 1e6)
	// All heads share the latent. What config.json says of keys and values means nothing here.
	a.NumKeyValueHeads, a.HeadDim = a.NumAttentionHeads, a.QKNopeHeadDim+a.QKRopeHeadDim
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	err := cmp.Or(
		nn.CheckSizes(
			nn.Size{Name: "kv_lora_rank", Value: a.KVLoraRank, Max: nn.MaxHidden},
			nn.Size{Name: "qk_nope_head_dim", Value: a.QKNopeHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "qk_rope_head_dim", Value: a.QKRopeHeadDim, Max: nn.MaxHeadDim},
			nn.Size{Name: "v_head_dim", Value: a.VHeadDim, Max: nn.MaxHeadDim}),
		a.Check(),
		a.CheckFullRotary(),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"),
		a.checkExperts())
	switch {
	case err != nil:
		return err
	case a.QLoraRank != nil:
		err = nn.CheckSizes(nn.Size{Name: "q_lora_rank", Value: *a.QLoraRank, Max: nn.MaxHidden})
	}
	if err == nil && a.RopeInterleave != nil && !*a.RopeInterleave {
		return nn.Unsupported("config.json: rope_interleave false is not supported for glm4_moe_lite")
	}
	return err
}

// checkExperts refuses sizes of experts outside their limits, and other ways to choose them.
func (a *args) checkExperts() error {
	if a.NRoutedExperts == nil {
		return nil
	}
	shared := 1
	if a.NSharedExperts != nil {
		shared = *a.NSharedExperts
	}
	err := cmp.Or(
		nn.CheckSizes(
			nn.Size{Name: "moe_intermediate_size", Value: a.MoeIntermediateSize,
				Max: nn.MaxIntermediate},
			nn.Size{Name: "n_shared_experts", Value: shared, Max: nn.MaxHeads},
			nn.Size{Name: "moe_layer_freq", Value: a.MoeLayerFreq, Max: nn.MaxLayers}),
		a.router().Check())
	switch {
	case err != nil:
		return err
	case a.TopkMethod != "noaux_tc":
		return nn.Unsupported("config.json: topk_method %q is not supported, only noaux_tc", a.TopkMethod)
	case a.ScoringFunc != "sigmoid":
		return nn.Unsupported("config.json: scoring_func %q is not supported, only sigmoid",
			a.ScoringFunc)
	case a.FirstKDenseReplace < 0:
		return fmt.Errorf("config.json: first_k_dense_replace is %d, which is below 0",
			a.FirstKDenseReplace)
	}
	return nil
}

// router returns how the experts of a layer are chosen.
func (a *args) router() nn.SigmoidRouterSpec {
	return nn.SigmoidRouterSpec{
		Experts: *a.NRoutedExperts, TopK: a.NumExpertsPerTok,
		Normalize: a.NormTopkProb, Scale: a.RoutedScalingFactor,
		Groups: a.NGroup, TopGroups: a.TopkGroup,
	}
}

// sparse reports whether a layer has experts.
func (a *args) sparse(layer int) bool {
	return a.NRoutedExperts != nil && layer >= a.FirstKDenseReplace && layer%a.MoeLayerFreq == 0
}

// scale returns what scores are multiplied by. A rope that stretches with mscale_all_dim raises it.
func (a *args) scale() float32 {
	scale := math.Pow(float64(a.QKNopeHeadDim+a.QKRopeHeadDim), -0.5)
	if r := a.RopeScaling; r != nil && r.MscaleAllDim != 0 && r.Factor > 1 {
		m := 0.1*r.MscaleAllDim*math.Log(r.Factor) + 1
		scale *= m * m
	}
	return float32(scale)
}
