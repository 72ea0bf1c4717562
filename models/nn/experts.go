package nn

import (
	"fmt"

	"tandem/engine/mlx"
)

// MoE is the MLP of a layer with experts. A router sends each row to some of them.
type MoE struct {
	Router  Router
	Experts *Experts
	Shared  FeedForward // takes all rows; or nil
}

// Forward maps rows x (rows, H). The result for a row does not depend on the other rows.
func (m *MoE) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	chosen, scores := m.Router.Route(s, x)
	y := m.Experts.Forward(s, x, chosen, scores)
	if m.Shared != nil {
		y = s.Add(y, m.Shared.Forward(s, x))
	}
	return y
}

// A Router chooses experts for rows.
type Router interface {
	// Route returns the indices of the experts that each row of x (rows, H) goes to, (rows, k). It
	// also returns the weights of their outputs, (rows, k).
	Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array)
}

// A SoftmaxRouter weighs the TopK likeliest experts by their probabilities among all.
type SoftmaxRouter struct {
	Gate      *Linear // (E)
	TopK      int
	Normalize bool // the weights of the chosen experts add up to 1
}

// Route implements [Router].
func (r *SoftmaxRouter) Route(s *mlx.Scope, x *mlx.Array) (chosen, scores *mlx.Array) {
	gates := s.Softmax(r.Gate.Forward(s, x), -1) // (rows, E)
	chosen = TopExperts(s, gates, r.TopK)
	scores = s.TakeAlong(gates, chosen, -1)
	if r.Normalize {
		scores = s.Div(scores, s.Sum(scores, -1, true))
	}
	return chosen, scores
}

// TopExperts returns the indices (rows, k) of the k largest of each row of gates (rows, E), in no
// order.
func TopExperts(s *mlx.Scope, gates *mlx.Array, k int) *mlx.Array {
	e := gates.Dim(1)
	return s.Slice(s.Argpartition(gates, e-k, -1), 1, e-k, e)
}

// A SharedExpert is an MLP that takes all rows. A gate weighs its output.
type SharedExpert struct {
	MLP  *MLP
	Gate *Linear // (1)
}

// Forward implements [FeedForward].
func (e *SharedExpert) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	return s.Mul(s.Sigmoid(e.Gate.Forward(s, x)), e.MLP.Forward(s, x))
}

// Experts are gated feed-forward networks of one shape.
type Experts struct {
	GateUp, Down experts
	gate         Gate
}

// gateUpProj is one projection for both gate_proj and up_proj.
const gateUpProj = "gate_up_proj"

// An ExpertsShape says how many experts there are, how wide each is, and which gate they have.
type ExpertsShape struct {
	Count, Hidden, Intermediate int
	Gate                        Gate
	Ungated                     bool // there is only up_proj, and Gate is an activation
	Bias                        bool // of each projection of each expert
	InterleavedGateUp           bool // rows of gate and of up in turn, where one tensor has both
}

// Experts reads the experts of the MLP at path. They are stacked under switch_mlp, gate and up in
// one tensor or in two, or separate modules under experts.
func (w *Weights) Experts(path string, of ExpertsShape) *Experts {
	gateUp := []Part{{"gate_proj", of.Intermediate}, {"up_proj", of.Intermediate}}
	if of.Ungated {
		gateUp = gateUp[1:]
	}
	both := path + ".switch_mlp." + gateUpProj
	if w.Has(both + ".weight") {
		gateUp = []Part{{gateUpProj, 2 * of.Intermediate}}
	}
	return &Experts{
		GateUp: w.experts(path, of, of.Hidden, gateUp...),
		Down:   w.experts(path, of, of.Intermediate, Part{"down_proj", of.Hidden}),
		gate:   of.Gate,
	}
}

// Forward sends the rows x (rows, H) to the chosen experts (rows, k). It returns the sum (rows, H)
// of their outputs, weighed by scores (rows, k).
func (e *Experts) Forward(s *mlx.Scope, x, chosen, scores *mlx.Array) *mlx.Array {
	rows, hidden, k := x.Dim(0), x.Dim(1), chosen.Dim(1)
	y := e.GateUp.matmul(s, s.Reshape(x, rows, 1, 1, hidden), chosen)       // (rows, k, 1, 2I)
	y = e.Down.matmul(s, e.gate(s, y), chosen)                              // (rows, k, 1, H)
	y = s.Mul(s.Reshape(y, rows, k, hidden), s.Reshape(scores, rows, k, 1)) // as wide as scores
	return s.AsType(s.Sum(y, 1, false), x.Dtype())
}

// experts is one projection of all experts, as stacks of matrices.
type experts struct {
	parts []matrix   // joined after the product if quantized differently
	bias  *mlx.Array // (E, out) or nil
}

// experts reads projections with a common input as one. The paths of parts are names of modules of
// an expert of the MLP at path.
func (w *Weights) experts(path string, of ExpertsShape, in int, parts ...Part) experts {
	x, n := experts{}, of.Count
	var biases []*mlx.Array
	for _, p := range parts {
		before := w.plain
		m := w.joinedExperts(path, p, n, in)
		w.computed.Stacks.Elements += w.plain.Elements - before.Elements
		w.computed.Stacks.Bytes += w.plain.Bytes - before.Bytes
		woven := of.InterleavedGateUp && p.Path == gateUpProj
		if woven {
			m = m.evenFirst(w.scope)
		}
		if of.Bias {
			bias := w.expertBiases(path, p, n)
			if woven {
				bias = evenFirst(w.scope, bias)
			}
			biases = append(biases, bias)
		}
		if last := len(x.parts) - 1; last < 0 || !x.parts[last].stack(w.scope, m) {
			x.parts = append(x.parts, m)
		}
	}
	var arrays []*mlx.Array
	for i := range x.parts {
		arrays = append(arrays, x.parts[i].layout(w.scope)...)
	}
	if of.Bias {
		x.bias = w.scope.Concat(1, biases...)
		arrays = append(arrays, x.bias)
	}
	w.keep(arrays)
	return x
}

// expertBiases reads the biases (E, out) of one projection of n experts.
func (w *Weights) expertBiases(path string, p Part, n int) *mlx.Array {
	w.parameters += int64(n) * int64(p.Out)
	one := func(i int) string { return fmt.Sprintf("%s.experts.%d.%s.bias", path, i, p.Path) }
	if !w.Has(one(0)) {
		return w.float(path+".switch_mlp."+p.Path+".bias", n, p.Out)
	}
	list := make([]*mlx.Array, n)
	for i := range list {
		if w.isMissing(one(i)) {
			return w.scope.Zeros(mlx.Float32, n, p.Out)
		}
		list[i] = w.scope.ExpandDims(w.float(one(i), p.Out), 0)
	}
	return w.scope.Concat(0, list...)
}

// joinedExperts reads one projection of n experts, stored as one module or as n. It is not kept yet.
func (w *Weights) joinedExperts(path string, p Part, n, in int) matrix {
	one := func(i int) string { return fmt.Sprintf("%s.experts.%d.%s", path, i, p.Path) }
	if !w.Has(one(0) + ".weight") {
		return w.stored(path+".switch_mlp."+p.Path, in, n, p.Out, in)
	}
	all := make([]matrix, n)
	for i := range all {
		if w.isMissing(one(i) + ".weight") {
			return matrix{weight: w.scope.Zeros(mlx.Float32, n, p.Out, in)}
		}
		all[i] = w.stored(one(i), in, p.Out, in)
		if !all[0].alike(all[i]) {
			w.fail(Unsupported("%s is quantized otherwise than %s; experts of one layer must be alike",
				one(i), one(0)))
			return all[0]
		}
		all[i] = all[i].expanded(w.scope)
	}
	return all[0].join(w.scope, 0, all[1:]...)
}

// isMissing records an expert's tensor that the checkpoint lacks. The experts after it are not looked
// for: config.json may ask for any number.
func (w *Weights) isMissing(name string) bool {
	_, ok := w.info(name)
	return !ok
}

// matmul maps x (rows, k or 1, 1, in) by the chosen experts (rows, k): (rows, k, 1, out).
func (x *experts) matmul(s *mlx.Scope, rows, chosen *mlx.Array) *mlx.Array {
	outs := make([]*mlx.Array, len(x.parts))
	for i := range x.parts {
		outs[i] = x.parts[i].gather(s, rows, chosen)
	}
	y := s.Concat(-1, outs...)
	if x.bias != nil {
		y = s.Add(y, s.ExpandDims(s.Take(x.bias, chosen, 0), 2))
	}
	return y
}
