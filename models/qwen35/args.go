package qwen35

import (
	"cmp"

	"tandem/models/nn"
)

// args is config.json, or its text_config. It implements nn.Architecture.
type args struct {
	nn.HybridArgs
	nn.LMHeadArgs

	AttnOutputGate *bool `json:"attn_output_gate"`

	// Of the head for multi-token prediction.
	MTPNumHiddenLayers        int  `json:"mtp_num_hidden_layers"`
	MTPUseDedicatedEmbeddings bool `json:"mtp_use_dedicated_embeddings"`

	modelLayers int // of the model that brings a head; 0 where the head came by itself
}

// Parse reads and checks a config.json. What it leaves out has the defaults of mlx_lm's
// TextModelArgs.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{HybridArgs: nn.HybridArgs{
		Args:       nn.Args{RMSNormEps: 1e-6},
		DeltaArgs:  nn.DeltaArgs{FullAttentionInterval: 4, LinearConvKernelDim: 4},
		ExpertArgs: nn.ExpertArgs{NormTopkProb: true},
	}}
	head, err := nn.ReadTextConfig(config, a)
	if err != nil {
		return nil, err
	}
	a.TieWordEmbeddings = cmp.Or(a.TieWordEmbeddings, head.TieWordEmbeddings)
	a.MergeNewer()
	a.Stretch(a.RopeScaling)
	a.setDefaults()
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// setDefaults fills in what follows from other fields.
func (a *args) setDefaults() {
	if a.NumExperts > 0 { // then every layer has some
		a.IntermediateSize = a.MoeIntermediateSize
		a.DecoderSparseStep, a.MLPOnlyLayers = 1, nil
	}
	a.SetHeadDim()
	if a.RopeTheta == nil {
		a.RopeTheta = new(100000.0)
	}
	if a.PartialRotaryFactor == nil {
		a.PartialRotaryFactor = new(0.25)
	}
}

func (a *args) check() error {
	err := cmp.Or(
		a.Check(), a.CheckNotTraditional(), nn.CheckPart(*a.PartialRotaryFactor),
		a.CheckDelta(&a.Args),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"))
	switch {
	case err != nil:
		return err
	case a.AttnOutputGate != nil && !*a.AttnOutputGate:
		return nn.Unsupported("config.json: attn_output_gate false is not supported for qwen3_5")
	}
	return a.CheckExperts(a.SharedExpertSize())
}
