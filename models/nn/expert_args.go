package nn

import "slices"

// ExpertArgs is what config.json says about experts, and which layers have them, in families whose
// router is a [SoftmaxRouter]. An architecture embeds it in its own args.
type ExpertArgs struct {
	NumExperts          int   `json:"num_experts"` // or 0
	NumExpertsPerTok    int   `json:"num_experts_per_tok"`
	MoeIntermediateSize int   `json:"moe_intermediate_size"`
	NormTopkProb        bool  `json:"norm_topk_prob"`
	DecoderSparseStep   int   `json:"decoder_sparse_step"`
	MLPOnlyLayers       []int `json:"mlp_only_layers"`
}

// CheckExperts refuses sizes outside their limits. more are further sizes of layers with experts.
func (a *ExpertArgs) CheckExperts(more ...Size) error {
	if a.NumExperts == 0 {
		return nil
	}
	return CheckSizes(append([]Size{
		{"num_experts", a.NumExperts, MaxExperts},
		{"num_experts_per_tok", a.NumExpertsPerTok, a.NumExperts},
		{"moe_intermediate_size", a.MoeIntermediateSize, MaxIntermediate},
		{"decoder_sparse_step", a.DecoderSparseStep, MaxLayers},
	}, more...)...)
}

// Sparse reports whether a layer has experts: every decoder_sparse_step-th one that is not in
// mlp_only_layers.
func (a *ExpertArgs) Sparse(layer int) bool {
	return a.NumExperts > 0 && (layer+1)%a.DecoderSparseStep == 0 &&
		!slices.Contains(a.MLPOnlyLayers, layer)
}

// MoE reads the router (gate) and the experts of the MLP at path. The caller adds a shared expert.
func (a *ExpertArgs) MoE(w *Weights, path string, hidden int) *MoE {
	return &MoE{
		Router: &SoftmaxRouter{
			Gate: w.Linear(path+".gate", hidden, a.NumExperts, false),
			TopK: a.NumExpertsPerTok, Normalize: a.NormTopkProb,
		},
		Experts: w.Experts(path, ExpertsShape{
			Count: a.NumExperts, Hidden: hidden, Intermediate: a.MoeIntermediateSize, Gate: SwiGLU,
		}),
	}
}

// SharedExpert reads the expert of the MLP at path that all rows share, and its gate.
func (w *Weights) SharedExpert(path string, hidden, intermediate int) *SharedExpert {
	return &SharedExpert{
		MLP:  w.MLP(path+".shared_expert", hidden, intermediate, false, SwiGLU),
		Gate: w.Linear(path+".shared_expert_gate", hidden, 1, false),
	}
}
