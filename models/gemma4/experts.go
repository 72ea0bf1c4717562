package gemma4

import (
	"math"

	"tandem/engine/mlx"
	"tandem/models/nn"
)

// experts stand beside the MLP of a layer. Router and experts take the rows before the norm of the
// MLP.
type experts struct {
	Router                    *router
	Experts                   *nn.Experts
	PreFeedforwardLayernorm2  *nn.RMSNorm // of the experts' input
	PostFeedforwardLayernorm1 *nn.RMSNorm // of the MLP's output
	PostFeedforwardLayernorm2 *nn.RMSNorm // of the experts' output
}

// newExperts reads the experts of the layer at path.
func newExperts(w *nn.Weights, path string, a *args) *experts {
	return &experts{
		Router: newRouter(w, path+".router", a),
		Experts: w.Experts(path+".experts", nn.ExpertsShape{
			Count: a.NumExperts, Hidden: a.HiddenSize, Intermediate: a.MoEIntermediateSize,
			Gate: nn.GeGLU,
		}),
		PreFeedforwardLayernorm2:  a.Norm(w, path+".pre_feedforward_layernorm_2"),
		PostFeedforwardLayernorm1: a.Norm(w, path+".post_feedforward_layernorm_1"),
		PostFeedforwardLayernorm2: a.Norm(w, path+".post_feedforward_layernorm_2"),
	}
}

// Forward adds what the experts make of the rows x (rows, H) to what the MLP made of them.
func (e *experts) Forward(s *mlx.Scope, mlp, x *mlx.Array) *mlx.Array {
	chosen, scores := e.Router.Route(s, x)
	y := e.Experts.Forward(s, e.PreFeedforwardLayernorm2.Forward(s, x), chosen, scores)
	return s.Add(e.PostFeedforwardLayernorm1.Forward(s, mlp),
		e.PostFeedforwardLayernorm2.Forward(s, y))
}

// router implements nn.Router. It weighs the likeliest experts by their probabilities among these,
// and by a factor of each expert.
type router struct {
	Proj           *nn.Linear // (E)
	Scale          *mlx.Array // (H), of the norm of its input
	PerExpertScale *mlx.Array // (E)

	topK int
	root float64 // times Scale
	eps  float32
}

func newRouter(w *nn.Weights, path string, a *args) *router {
	return &router{
		Proj:           w.Linear(path+".proj", a.HiddenSize, a.NumExperts, false),
		Scale:          w.Vector(path+".scale", a.HiddenSize),
		PerExpertScale: w.Vector(path+".per_expert_scale", a.NumExperts),
		topK:           a.TopKExperts,
		root:           math.Pow(float64(a.HiddenSize), -0.5),
		eps:            float32(a.RMSNormEps),
	}
}

func (r *router) Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array) {
	scale := s.Mul(r.Scale, s.Scalar(r.root, r.Scale.Dtype()))
	gates := r.Proj.Forward(s, s.RMSNorm(x, scale, r.eps)) // (rows, E)
	chosen = nn.TopExperts(s, gates, r.topK)
	scores = s.SoftmaxInType(s.TakeAlong(gates, chosen, -1), -1)
	return chosen, s.Mul(scores, s.Take(r.PerExpertScale, chosen, 0))
}
