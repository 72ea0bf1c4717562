package nn

import (
	"strings"

	"tandem/engine/mlx"
)

// MoE is the MLP of a layer with experts. A router sends each row to TopK experts. One more expert
// takes all rows.
type MoE struct {
	Gate             *Linear // the router: (E)
	GateUp, Down     experts
	SharedExpert     *MLP
	SharedExpertGate *Linear // (1)

	of MoEShape
}

// A MoEShape says how many experts there are and how wide they are.
type MoEShape struct {
	Experts, TopK        int
	Intermediate, Shared int  // width of each expert, and of the shared one
	Normalize            bool // the weights of the chosen experts add up to 1
}

// MoE reads the module at path. Experts are stacked under switch_mlp, gate and up in one tensor or
// in two.
func (w *Weights) MoE(path string, hidden int, of MoEShape) *MoE {
	experts := path + ".switch_mlp"
	gateUp := []Part{{experts + ".gate_proj", of.Intermediate},
		{experts + ".up_proj", of.Intermediate}}
	if both := experts + ".gate_up_proj"; w.Has(both + ".weight") {
		gateUp = []Part{{both, 2 * of.Intermediate}}
	}
	return &MoE{
		Gate:   w.Linear(path+".gate", hidden, of.Experts, false),
		GateUp: w.experts(of.Experts, hidden, gateUp...),
		Down: w.experts(of.Experts, of.Intermediate,
			Part{experts + ".down_proj", hidden}),
		SharedExpert:     w.MLP(path+".shared_expert", hidden, of.Shared, false, SwiGLU),
		SharedExpertGate: w.Linear(path+".shared_expert_gate", hidden, 1, false),
		of:               of,
	}
}

// Forward maps rows x (rows, H). The result for a row does not depend on the other rows: every
// product is of one row with one expert.
func (m *MoE) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	rows, hidden, e, k := x.Dim(0), x.Dim(1), m.of.Experts, m.of.TopK
	gates := s.Softmax(m.Gate.Forward(s, x), -1) // (rows, E)
	chosen := s.Slice(s.Argpartition(gates, e-k, -1), 1, e-k, e)
	scores := s.TakeAlong(gates, chosen, -1) // (rows, k)
	if m.of.Normalize {
		scores = s.Div(scores, s.Sum(scores, -1, true))
	}
	y := m.GateUp.matmul(s, s.Reshape(x, rows, 1, 1, hidden), chosen) // (rows, k, 1, 2I)
	y = m.Down.matmul(s, SwiGLU(s, y), chosen)                        // (rows, k, 1, H)
	y = s.Sum(s.Mul(s.Reshape(y, rows, k, hidden), s.Reshape(scores, rows, k, 1)), 1, false)
	shared := s.Mul(s.Sigmoid(m.SharedExpertGate.Forward(s, x)), m.SharedExpert.Forward(s, x))
	return s.Add(y, shared)
}

// experts is one projection of all experts, plain or packed.
type experts struct {
	parts []stackedExperts // joined after the product if packed differently
}

type stackedExperts struct {
	weight         *mlx.Array // plain: (E, in, out), a view; packed: (E, out, in*bits/32) uint32
	scales, biases *mlx.Array // packed: (E, out, in/group), else nil
	quantization   mlx.Quantization
}

// experts reads projections with a common input as one.
func (w *Weights) experts(n, in int, parts ...Part) experts {
	s, x := w.scope, experts{}
	for _, p := range parts {
		m := w.stackedExperts(p.Path, n, p.Out, in)
		last := len(x.parts) - 1
		if last < 0 || x.parts[last].quantization != m.quantization {
			x.parts = append(x.parts, m)
			continue
		}
		l := &x.parts[last]
		l.weight = s.Concat(1, l.weight, m.weight)
		if l.scales != nil {
			l.scales, l.biases = s.Concat(1, l.scales, m.scales), s.Concat(1, l.biases, m.biases)
		}
	}
	var arrays []*mlx.Array
	for i := range x.parts {
		m := &x.parts[i]
		if m.scales != nil {
			arrays = append(arrays, m.weight, m.scales, m.biases)
			continue
		}
		if !s.Thread().GPU() {
			m.weight = s.AsType(m.weight, mlx.Float32) // the only type that the CPU multiplies
		}
		m.weight = s.Transpose(m.weight, 0, 2, 1)
		arrays = append(arrays, m.weight)
	}
	w.keep(arrays)
	return x
}

// stackedExperts reads (E, out, in) as the checkpoint has it. It is not kept yet.
func (w *Weights) stackedExperts(path string, n, out, in int) stackedExperts {
	w.parameters += int64(n) * int64(out) * int64(in)
	weight, scales := w.Shape(path+".weight"), w.Shape(path+".scales")
	if len(weight) != 3 || len(scales) != 3 {
		return stackedExperts{weight: w.float(path+".weight", n, out, in)}
	}
	stored := strings.TrimSuffix(w.names[path+".scales"], ".scales")
	q, err := w.config.of(stored, in, weight[2], scales[2])
	if err != nil {
		w.fail(err)
	}
	if w.packing.Bits == 0 {
		w.packing = q
	}
	return stackedExperts{
		weight:       w.load(path+".weight", packedTypes, []int{n, out, weight[2]}),
		scales:       w.float(path+".scales", n, out, scales[2]),
		biases:       w.float(path+".biases", n, out, scales[2]),
		quantization: q,
	}
}

// matmul maps x (rows, k or 1, 1, in) by the chosen experts (rows, k): (rows, k, 1, out).
func (x *experts) matmul(s *mlx.Scope, rows, chosen *mlx.Array) *mlx.Array {
	outs := make([]*mlx.Array, len(x.parts))
	for i, m := range x.parts {
		if m.scales != nil {
			outs[i] = s.GatherQuantizedMatMul(rows, m.weight, m.scales, m.biases, chosen,
				m.quantization)
		} else {
			out := s.GatherMM(s.AsType(rows, m.weight.Dtype()), m.weight, chosen)
			outs[i] = s.AsType(out, rows.Dtype())
		}
	}
	return s.Concat(-1, outs...)
}
