package nn

import "tandem/engine/mlx"

// Linear is x W^T + b, for one module or for several stacked ones that share their input.
type Linear struct {
	parts []matrix
	bias  *mlx.Array // (out) or nil
}

// A Part is one module of a stacked Linear.
type Part struct {
	Path string
	Out  int
}

// Linear reads the module at path, which maps in to out elements.
func (w *Weights) Linear(path string, in, out int, bias bool) *Linear {
	return w.Stacked(in, bias, Part{path, out})
}

// Stacked reads modules with a common input as one. Their outputs are joined in the given order.
func (w *Weights) Stacked(in int, bias bool, parts ...Part) *Linear {
	l := &Linear{}
	var biases []*mlx.Array
	for _, p := range parts {
		m := w.matrix(p.Path, p.Out, in)
		if n := len(l.parts); n == 0 || !l.parts[n-1].stack(w.scope, m) {
			l.parts = append(l.parts, m)
		}
		if bias {
			biases = append(biases, w.float(p.Path+".bias", p.Out))
			w.parameters += int64(p.Out)
		}
	}
	var arrays []*mlx.Array // kept together, because keep frees the rest of the scope
	for i := range l.parts {
		arrays = append(arrays, l.parts[i].layout(w.scope)...)
	}
	if bias {
		l.bias = w.scope.Concat(0, biases...)
		arrays = append(arrays, l.bias)
	}
	w.keep(arrays)
	if parts[0].Path != headPath {
		w.parts.linears = append(w.parts.linears, product{l, in})
	}
	return l
}

// Outputs returns a Linear that computes the outputs [from, to) of l alone. It shares the memory of
// l.
func (w *Weights) Outputs(l *Linear, from, to int) *Linear {
	s, out := w.scope, &Linear{}
	var views []*mlx.Array
	at := 0 // first output of the part
	for _, m := range l.parts {
		lo, hi := max(from-at, 0), min(to-at, m.out())
		at += m.out()
		if lo >= hi {
			continue
		}
		if m.packed != nil && lo%16 != 0 {
			w.fail(Unsupported("the outputs from %d on of a quantized matrix are used alone, and %d is no multiple "+
				"of 16", lo, lo))
			return out
		}
		part := m.outputs(s, lo, hi)
		out.parts = append(out.parts, part)
		views = append(views, part.arrays()...)
	}
	if l.bias != nil {
		out.bias = s.Slice(l.bias, 0, from, to)
		views = append(views, out.bias)
	}
	w.keep(nil, views...)
	return out
}

// Out returns the number of outputs.
func (l *Linear) Out() int {
	n := 0
	for i := range l.parts {
		n += l.parts[i].out()
	}
	return n
}

// Forward maps x (rows, in) to (rows, out).
func (l *Linear) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if m := &l.parts[0]; len(l.parts) == 1 && l.bias != nil && m.packed == nil && !m.quantized() &&
		!s.TiledMatMulFits(x, m.weight) {
		return s.AddMM(l.bias, x, m.weight)
	}
	outs := make([]*mlx.Array, len(l.parts))
	for i := range l.parts {
		outs[i] = l.parts[i].matmul(s, x)
	}
	y := s.Concat(-1, outs...)
	if l.bias != nil {
		y = s.FusedAdd(l.bias, y)
	}
	return y
}
