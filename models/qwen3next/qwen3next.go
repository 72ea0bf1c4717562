// Package qwen3next is Qwen3-Next and Qwen3-Coder-Next, model type qwen3_next.
//
// Unusual in it:
//
//   - In each group of full_attention_interval (4) layers, all but the last are gated delta nets
//     (nn.GatedDelta). Their state does not grow. They need exact restore points and must not see
//     padding.
//   - The projections of a delta net are two modules, in_proj_qkvz and in_proj_ba. Their outputs
//     stand key head by key head, and are put in order when they are loaded.
//   - The last layer of a group is attention. Its q_proj has a gate beside each query. Its rotary
//     embedding turns only the first quarter of a head.
//   - Queries and keys are normalised per head before the rotary embedding.
//   - Published norms multiply by 1 + weight. MLX's conversions have added the 1 already, and have
//     turned conv1d, which tells them apart. The norm inside the delta nets is stored as it is used.
//   - Layers have experts, unless decoder_sparse_step or mlp_only_layers leave them out. One more
//     expert takes all rows. A gate weighs it.
//   - Published experts are modules of their own. MLX's conversions stack them.
//   - Checkpoints also hold a head for multi-token prediction (mtp.*). It is not loaded.
package qwen3next

import (
	"cmp"

	"tandem/models/nn"
)

// args is config.json. It implements nn.Architecture.
type args struct {
	nn.HybridArgs
	nn.LMHeadArgs

	UseSlidingWindow bool `json:"use_sliding_window"`
}

// Parse reads and checks a config.json. What it leaves out has the defaults of transformers'
// Qwen3NextConfig.
func Parse(config []byte) (nn.Architecture, error) {
	a := &args{HybridArgs: nn.HybridArgs{
		Args:       nn.Args{RMSNormEps: 1e-6},
		DeltaArgs:  nn.DeltaArgs{FullAttentionInterval: 4, LinearConvKernelDim: 4},
		ExpertArgs: nn.ExpertArgs{DecoderSparseStep: 1},
	}}
	if err := nn.ReadConfig(config, a); err != nil {
		return nil, err
	}
	a.SetDefaults(&a.Args, 0)
	if a.PartialRotaryFactor == nil {
		a.PartialRotaryFactor = new(0.25)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *args) check() error {
	return cmp.Or(
		a.Check(), a.CheckNotTraditional(), nn.CheckPart(*a.PartialRotaryFactor),
		a.CheckDelta(&a.Args),
		a.CheckExperts(a.SharedExpertSize()),
		nn.CheckActivation("hidden_act", a.HiddenAct, "silu", "swish"),
		a.CheckTheta(), nn.CheckNoWindow(a.UseSlidingWindow, "qwen3_next"))
}

func (a *args) New(w *nn.Weights) nn.Model { return a.Decoder(w, a.Tied(w)) }
