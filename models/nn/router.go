package nn

import "tandem/engine/mlx"

// A SigmoidRouter scores each expert by itself, with the logistic function, in float32. It chooses
// the TopK largest sums of a score and a bias. The bias does not weigh. DeepSeek-V3 calls this
// noaux_tc.
type SigmoidRouter struct {
	Gate *Linear    // (E)
	Bias *mlx.Array // (E)

	SigmoidRouterSpec
}

// A SigmoidRouterSpec says how experts are chosen and weighed.
type SigmoidRouterSpec struct {
	Experts, TopK int
	Normalize     bool    // the weights of the chosen experts add up to Scale
	Scale         float64 // of the weights

	// The experts are divided into Groups. Those outside the TopGroups with the largest sums of two
	// experts are out.
	Groups, TopGroups int
}

// SigmoidRouter reads the module at path: weight and e_score_correction_bias.
func (w *Weights) SigmoidRouter(path string, hidden int, spec SigmoidRouterSpec) *SigmoidRouter {
	return &SigmoidRouter{
		Gate:              w.Linear(path, hidden, spec.Experts, false),
		Bias:              w.StoredVector(path+".e_score_correction_bias", spec.Experts),
		SigmoidRouterSpec: spec,
	}
}

// Check refuses numbers of experts and groups that do not fit. The names are as in config.json.
func (r SigmoidRouterSpec) Check() error {
	err := CheckSizes(
		Size{"n_routed_experts", r.Experts, MaxExperts},
		Size{"num_experts_per_tok", r.TopK, r.Experts},
		Size{"n_group", r.Groups, r.Experts},
		Size{"topk_group", r.TopGroups, r.Groups})
	switch {
	case err != nil:
		return err
	case r.Experts%r.Groups != 0 || r.Groups > 1 && r.Experts/r.Groups < 2:
		return Unsupported("config.json: n_group %d does not divide n_routed_experts %d into groups "+
			"of two or more", r.Groups, r.Experts)
	case r.TopK > r.Experts/r.Groups*r.TopGroups:
		return Unsupported("config.json: num_experts_per_tok %d is more than the experts of "+
			"topk_group %d", r.TopK, r.TopGroups)
	}
	return nil
}

// Route implements [Router].
func (r *SigmoidRouter) Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array) {
	all := s.Sigmoid(s.AsType(r.Gate.Forward(s, x), mlx.Float32)) // (rows, E)
	by := s.Add(all, r.Bias)
	if r.Groups > r.TopGroups {
		by = r.dropGroups(s, by)
	}
	chosen = s.Slice(s.Argpartition(s.Neg(by), r.TopK-1, -1), 1, 0, r.TopK)
	scores = s.TakeAlong(all, chosen, -1)
	if r.Normalize && r.TopK > 1 {
		lowest := constant(s, 1e-20, mlx.Float32) // no division by 0
		scores = s.Div(scores, s.Add(s.Sum(scores, -1, true), lowest))
	}
	return chosen, s.Mul(scores, constant(s, r.Scale, mlx.Float32))
}

// dropGroups returns by (rows, E) with 0 for the experts whose groups are out.
func (r *SigmoidRouter) dropGroups(s *mlx.Scope, by *mlx.Array) *mlx.Array {
	rows, size, drop := by.Dim(0), r.Experts/r.Groups, r.Groups-r.TopGroups
	groups := s.Reshape(by, rows, r.Groups, size)
	top := s.Slice(s.Sort(groups, -1), 2, size-2, size)
	sums := s.Sum(top, -1, true) // (rows, Groups, 1)
	out := s.Slice(s.Argpartition(sums, drop-1, 1), 1, 0, drop)
	groups = s.PutAlong(groups, out, constant(s, 0, mlx.Float32), 1)
	return s.Reshape(groups, rows, r.Experts)
}
