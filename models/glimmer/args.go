package glimmer

import (
	"cmp"
	"fmt"

	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.Args
	nn.RopeArgs
	nn.LMHeadArgs

	PostNormEps           float64   `json:"post_norm_eps"` // of the norms after attention and MLP
	SlidingWindow         int       `json:"sliding_window"`
	QKScaleFactor         float64   `json:"qk_scale_factor"`
	HiddenActivation      string    `json:"hidden_activation"`
	LayerTypes            []string  `json:"layer_types"`
	LayerRopeTheta        []float64 `json:"layer_rope_theta"` // 0 = no rotary embedding
	FinalLogitSoftcapping float64   `json:"final_logit_softcapping"`
	OutputMultiplier      float64   `json:"output_multiplier"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's ModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{
		Args:          nn.Args{HeadDim: 128, RMSNormEps: 1e-5, MaxPositionEmbeddings: 131072},
		PostNormEps:   1e-8,
		SlidingWindow: 2048, QKScaleFactor: 3.87, FinalLogitSoftcapping: 20,
		OutputMultiplier: 0.19611613513818404,
	}
	head, err := nn.ReadTextConfig(config, a)
	if err != nil {
		return nil, err
	}
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, head.TieWordEmbeddings)
	a.MergeNewer()
	a.setDefaults()
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// setDefaults fills in what follows from other fields.
func (a *args) setDefaults() {
	if a.RopeTheta == nil {
		a.RopeTheta = new(500000.0)
	}
	if a.LayerTypes == nil {
		for i := range max(min(a.NumHiddenLayers, nn.MaxLayers), 0) {
			kind := nn.SlidingAttention
			if i%4 == 3 {
				kind = nn.FullAttention
			}
			a.LayerTypes = append(a.LayerTypes, kind)
		}
	}
	if a.LayerRopeTheta == nil {
		for _, kind := range a.LayerTypes {
			theta := 0.0
			if kind == nn.SlidingAttention {
				theta = *a.RopeTheta
			}
			a.LayerRopeTheta = append(a.LayerRopeTheta, theta)
		}
	}
}

func (a *args) check() error {
	if err := cmp.Or(
		a.Check(nn.Size{Name: "sliding_window", Value: a.SlidingWindow, Max: nn.MaxPositions}),
		a.CheckFullRotary(), a.CheckNotTraditional(),
		a.CheckLayerTypes(a.LayerTypes, nn.FullAttention, nn.SlidingAttention),
		nn.CheckActivation("hidden_activation", a.HiddenActivation, "silu", "swish"),
		nn.CheckPositive(
			nn.Number{Name: "post_norm_eps", Value: a.PostNormEps},
			nn.Number{Name: "qk_scale_factor", Value: a.QKScaleFactor},
			nn.Number{Name: "final_logit_softcapping", Value: a.FinalLogitSoftcapping},
			nn.Number{Name: "output_multiplier", Value: a.OutputMultiplier})); err != nil {
		return err
	}
	if len(a.LayerRopeTheta) != a.NumHiddenLayers {
		return fmt.Errorf("config.json: layer_rope_theta lists %d layers of %d",
			len(a.LayerRopeTheta), a.NumHiddenLayers)
	}
	for _, theta := range a.LayerRopeTheta {
		if theta != 0 && theta != *a.RopeTheta {
			return nn.Unsupported("config.json: layer_rope_theta %v is "+
				"not supported, only 0 and rope_theta %v", theta, *a.RopeTheta)
		}
	}
	if kind := a.RopeScaling.Kind(); kind != "default" {
		return nn.Unsupported("config.json: rope type %q is not supported for muse_glimmer", kind)
	}
	return nil
}

// window returns the positions that a layer attends, 0 for all.
func (a *args) window(layer int) int {
	if a.LayerTypes[layer] == nn.SlidingAttention {
		return a.SlidingWindow
	}
	return 0
}

func (a *args) CacheSpec(layer int) nn.CacheSpec { return a.KVCacheSpec(a.window(layer)) }
