package nn

import (
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// A matrix multiplies rows by its transpose. It is plain or packed.
type matrix struct {
	weight *mlx.Array // plain: (in, out), a transposed view; packed: (out, in*bits/32) uint32

	// blocks is another view of a plain float32 weight on the CPU, (out/blockOut, in, blockOut), or
	// nil. For a few rows OpenBLAS repacks the whole matrix before it multiplies, unless the
	// product is small. A batch of small products reads the matrix once. Measured with one thread
	// and 768 x 4608: one row at 12.6 instead of 5.4 GB/s, four at 8.6 instead of 5.2, sixteen no
	// faster than both threads on the whole.
	blocks *mlx.Array

	scales, biases *mlx.Array // packed: (out, in/group), else nil
	quantization   mlx.Quantization
	few            *fewRows // nil = MLX's own product
}

const (
	blockOut  = 64
	blockRows = 4
)

func (m *matrix) packed() bool { return m.scales != nil }

// matmul multiplies x (rows, in): (rows, out).
func (m *matrix) matmul(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if m.packed() {
		if m.few.takes(m, x.Dim(0)) {
			return m.few.matmul(s, x, m)
		}
		return s.QuantizedMatMul(x, m.weight, m.scales, m.biases, m.quantization)
	}
	rows := x.Dim(0)
	if m.blocks == nil || rows > blockRows {
		return s.MatMul(x, m.weight)
	}
	y := s.MatMul(s.ExpandDims(x, 0), m.blocks) // (out/blockOut, rows, blockOut)
	if rows > 1 {
		y = s.Transpose(y, 1, 0, 2)
	}
	return s.Reshape(y, rows, -1)
}

// matrix reads the weight of the module at path, (out, in) as the checkpoint has it. It is not kept
// yet.
func (w *Weights) matrix(path string, out, in int) matrix {
	w.parameters += int64(out) * int64(in)
	if !w.Has(path + ".scales") {
		return matrix{weight: w.float(path+".weight", out, in)}
	}
	weight, ok := w.info(path + ".weight")
	scales, _ := w.info(path + ".scales")
	if !ok {
		return matrix{weight: w.float(path+".weight", out, in)}
	}
	if len(weight.Shape) != 2 || len(scales.Shape) != 2 ||
		!slices.Contains(packedTypes, weight.Dtype) || !slices.Contains(floatTypes, scales.Dtype) {
		w.fail(unsupported("%s is quantized in a way that is not supported (%s weight, %s scales); "+
			"only affine is", path, weight.Dtype, scales.Dtype))
		return matrix{weight: w.float(path+".weight", out, in)}
	}
	// The config names modules by the checkpoint's own paths.
	stored := strings.TrimSuffix(w.names[path+".scales"], ".scales")
	q, err := w.config.of(stored, in, weight.Shape[1], scales.Shape[1])
	if err != nil {
		w.fail(err)
	}
	if w.packing.Bits == 0 {
		w.packing = q
	}
	if w.FewRows && w.fewRows == nil {
		w.fewRows = newFewRows(w.scope)
	}
	return matrix{
		weight:       w.load(path+".weight", packedTypes, []int{out, weight.Shape[1]}),
		scales:       w.float(path+".scales", out, scales.Shape[1]),
		biases:       w.float(path+".biases", out, scales.Shape[1]),
		quantization: q,
		few:          w.fewRows,
	}
}

// stack puts the rows of b under the rows of m. It reports false if they are not packed alike.
func (m *matrix) stack(s *mlx.Scope, b matrix) bool {
	if m.packed() != b.packed() || m.quantization != b.quantization {
		return false
	}
	m.weight = s.Concat(0, m.weight, b.weight)
	if m.packed() {
		m.scales = s.Concat(0, m.scales, b.scales)
		m.biases = s.Concat(0, m.biases, b.biases)
	}
	return true
}

// layout brings the arrays into the form that matmul needs. It returns them, and views of them.
func (m *matrix) layout(s *mlx.Scope) (arrays, views []*mlx.Array) {
	if m.packed() {
		return []*mlx.Array{m.weight, m.scales, m.biases}, nil
	}
	w := m.weight
	out, in := w.Dim(0), w.Dim(1)
	m.weight = s.Transpose(w, 1, 0)
	if s.Thread().GPU() || w.Dtype() != mlx.Float32 || out%blockOut != 0 {
		return []*mlx.Array{m.weight}, nil
	}
	m.blocks = s.Transpose(s.Reshape(w, out/blockOut, blockOut, in), 0, 2, 1)
	return []*mlx.Array{m.weight}, []*mlx.Array{m.blocks}
}

// out returns the number of outputs. The matrix is laid out.
func (m *matrix) out() int {
	if m.packed() {
		return m.weight.Dim(0)
	}
	return m.weight.Dim(1)
}

// outputs returns views of the outputs [from, to). The matrix is laid out.
func (m *matrix) outputs(s *mlx.Scope, from, to int) matrix {
	v := matrix{quantization: m.quantization, few: m.few}
	if m.packed() {
		v.weight = s.Slice(m.weight, 0, from, to)
		v.scales = s.Slice(m.scales, 0, from, to)
		v.biases = s.Slice(m.biases, 0, from, to)
		return v
	}
	v.weight = s.Slice(m.weight, 1, from, to)
	if m.blocks != nil && from%blockOut == 0 && to%blockOut == 0 {
		v.blocks = s.Slice(m.blocks, 0, from/blockOut, to/blockOut)
	}
	return v
}

// arrays returns all arrays of the matrix.
func (m *matrix) arrays() []*mlx.Array {
	all := []*mlx.Array{m.weight, m.blocks, m.scales, m.biases}
	return slices.DeleteFunc(all, func(a *mlx.Array) bool { return a == nil })
}

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
	var arrays, views []*mlx.Array // kept in one go, because keep frees the rest of the scope
	for i := range l.parts {
		a, v := l.parts[i].layout(w.scope)
		arrays, views = append(arrays, a...), append(views, v...)
	}
	if bias {
		l.bias = w.scope.Concat(0, biases...)
		arrays = append(arrays, l.bias)
	}
	w.keep(arrays, views...)
	if parts[0].Path != headPath {
		w.parts.linears = append(w.parts.linears, product{l, in})
	}
	return l
}

// Outputs returns a Linear that computes the outputs [from, to) of l alone. It shares the memory of
// l. l has no bias.
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
		part := m.outputs(s, lo, hi)
		out.parts = append(out.parts, part)
		views = append(views, part.arrays()...)
	}
	w.keep(nil, views...)
	return out
}

// Forward maps x (rows, in) to (rows, out).
func (l *Linear) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if len(l.parts) == 1 && l.bias != nil && !l.parts[0].packed() {
		return s.AddMM(l.bias, x, l.parts[0].weight)
	}
	outs := make([]*mlx.Array, len(l.parts))
	for i := range l.parts {
		outs[i] = l.parts[i].matmul(s, x)
	}
	y := s.Concat(-1, outs...)
	if l.bias != nil {
		y = s.Add(y, l.bias)
	}
	return y
}
