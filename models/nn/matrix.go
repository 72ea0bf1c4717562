package nn

import (
	"fmt"
	"slices"
	"strings"

	"tandem/engine/mlx"
)

// A matrix multiplies rows by its transpose. It is plain or quantized. It may also be a stack of
// matrices of one shape, with an axis of their number E before the axes named here.
type matrix struct {
	weight *mlx.Array // plain: (in, out), a transposed view; quantized: (out, in*bits/32) uint32

	scales, biases *mlx.Array // quantized: (out, in/group), else nil; only the affine mode has biases
	quantization   mlx.Quantization
	float32Scales  bool       // the scales are float32 and the rows are not
	global         *mlx.Array // quantized: (out), a factor of the outputs, or nil
	few            *fewRows   // nil = MLX's own product

	packs   bool        // layout packs it
	half    bool        // 16 bits hold its scales and biases
	centred bool        // packed, biases follow from scales, see [mlx.Scope.Pack]
	packed  *mlx.Packed // packed: takes the place of all others; else nil
}

func (m *matrix) quantized() bool { return m.scales != nil }

// matmul multiplies x (rows, in): (rows, out), in the type of x.
func (m *matrix) matmul(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if m.packed != nil {
		return s.PackedMatMul(x, m.packed)
	}
	if m.quantized() {
		if m.few.takes(m, x.Dim(0)) {
			return m.few.matmul(s, x, m)
		}
		y := s.QuantizedMatMul(m.operand(s, x), m.weight, m.scales, m.biases, m.quantization)
		return m.result(s, y, x, m.global)
	}
	if s.TiledMatMulFits(x, m.weight) {
		return s.TiledMatMul(x, m.weight)
	}
	return s.MatMul(x, m.weight)
}

// gather multiplies each of x (rows, k or 1, 1, in) with the matrices of a stack that chosen
// (rows, k) names: (rows, k, 1, out), in the type of x.
func (m *matrix) gather(s *mlx.Scope, x, chosen *mlx.Array) *mlx.Array {
	if m.packed != nil {
		return s.PackedGatherMM(x, m.packed, chosen)
	}
	if m.quantized() {
		y := s.GatherQuantizedMatMul(m.operand(s, x), m.weight, m.scales, m.biases, chosen,
			m.quantization)
		factor := m.global
		if factor != nil {
			factor = s.ExpandDims(s.Take(factor, chosen, 0), 2) // (rows, k, 1, out)
		}
		return m.result(s, y, x, factor)
	}
	rows := s.AsType(x, m.weight.Dtype())
	if s.TiledMatMulFits(rows, m.weight) {
		return s.AsType(s.TiledGatherMM(rows, m.weight, chosen), x.Dtype())
	}
	return s.AsType(s.GatherMM(rows, m.weight, chosen), x.Dtype())
}

// operand returns x for a quantized product. Without its global factor the product may be larger than
// float16 holds.
func (m *matrix) operand(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if m.global != nil && x.Dtype() == mlx.Float16 {
		return s.AsType(x, mlx.Float32)
	}
	return x
}

// result multiplies the quantized product y of x by the global factor, if any, and gives it the type
// of x.
func (m *matrix) result(s *mlx.Scope, y, x, factor *mlx.Array) *mlx.Array {
	if factor != nil {
		y = s.Mul(y, factor)
	} else if !m.float32Scales {
		return y
	}
	return s.AsType(y, x.Dtype())
}

// rows returns the rows (n, in) of m that ids (n) name. m is packed or not laid out. Quantized rows are
// dequantized to type d.
func (m *matrix) rows(s *mlx.Scope, ids *mlx.Array, d mlx.Dtype) *mlx.Array {
	if m.packed != nil {
		return s.PackedRows(m.packed, ids)
	}
	rows := s.Take(m.weight, ids, 0)
	if !m.quantized() {
		return rows
	}
	scales, biases := s.Take(m.scales, ids, 0), m.biases
	if biases != nil {
		biases = s.Take(biases, ids, 0)
	}
	if m.global == nil {
		return s.Dequantize(rows, scales, biases, m.quantization, d)
	}
	rows = s.Dequantize(rows, scales, biases, m.quantization, mlx.Float32)
	return s.AsType(s.Mul(rows, s.ExpandDims(s.Take(m.global, ids, 0), 1)), d)
}

// matrix reads the weight of the module at path, (out, in) as the checkpoint has it. It is not kept
// yet.
func (w *Weights) matrix(path string, out, in int) matrix { return w.stored(path, in, out, in) }

// stored reads the weight of the module at path. Its shape has rows of in elements. It is not kept
// yet.
func (w *Weights) stored(path string, in int, shape ...int) matrix {
	return w.held(w.asStored(path, true, in, shape...))
}

// held returns a matrix in the form for memory. Where matrices are packed, one that layout cannot pack is
// dequantized.
func (w *Weights) held(m matrix) matrix {
	if m.quantized() && !m.packs && w.Packs() {
		return m.dequantized(w.scope)
	}
	return m
}

// asStored is stored for a matrix in the form that the checkpoint has. packs says that layout may pack it.
func (w *Weights) asStored(path string, packs bool, in int, shape ...int) matrix {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	w.parameters += n
	info, ok := w.src.Info(w.names[path+".weight"])
	if !ok || !w.Has(path+".scales") && !w.config.isQuantized(info) {
		w.plain.Elements += n
		w.plain.Bytes += info.Bytes
		if group := groupSize(shape); group > 0 {
			w.computed.Quantizable.add(info)
			w.computed.Quantizable.Scales += n / int64(group)
		}
		return w.quantizeTo(matrix{weight: w.float(path+".weight", shape...)}, n)
	}
	weight, _ := w.info(path + ".weight")
	scales, ok := w.info(path + ".scales")
	if !ok { // which is recorded
		return matrix{weight: w.scope.Zeros(mlx.Float32, shape...)}
	}
	q, err := w.quantization(path, in, shape, weight, scales)
	if err != nil {
		w.fail(err)
		return matrix{weight: w.float(path+".weight", shape...)}
	}
	w.quantized.add(q, n)
	exact, isExact := w.exactForm(weight.Name)
	if !isExact {
		exact = q
	}
	centred := w.config.centred() || w.isCentred(weight.Name)
	if mlx.CanPack(exact) {
		biased := exact.Mode == "affine" && !centred
		w.computed.Packed += w.packedGrowth(path, exact, packs, biased, shape)
	}
	if isExact && w.Packs() {
		return w.loadExact(path, weight.Name, exact, packs)
	}
	if w.FewRows && w.fewRows == nil {
		w.fewRows = newFewRows(w.scope)
	}
	packs = packs && w.Packs() && mlx.CanPack(q)
	lead := shape[:len(shape)-1]
	groups := append(slices.Clone(lead), last(scales.Shape))
	m := matrix{
		weight:       w.words(path+".weight", weight, lead),
		global:       w.globalFactor(path, q, lead),
		quantization: q,
		few:          w.fewRows,
		packs:        packs,
		half:         w.hasHalfScales(path),
		centred:      centred && packs,
	}
	if q.Mode != "affine" {
		m.scales = w.load(path+".scales", foreignScales, groups)
		return m
	}
	m.scales, m.float32Scales = w.scales(path+".scales", groups)
	if !w.config.centred() {
		m.biases, _ = w.scales(path+".biases", groups)
		return m
	}
	half := w.scope.Scalar(-float64(int(1)<<(q.Bits-1)), m.scales.Dtype())
	m.biases = w.scope.Mul(m.scales, half)
	w.computed.addFloats(scales)
	return m
}

// loadExact returns the matrix at path as its file has it, whose tensor only comes near it. packs is as in
// asStored; else it is dequantized, as MLX has no groups so small.
func (w *Weights) loadExact(path, name string, q mlx.Quantization, packs bool) matrix {
	w.info(path + ".biases") // which are not read
	m := matrix{quantization: q, packs: packs, centred: packs && w.isCentred(name)}
	m.weight, m.scales, m.biases = w.src.(exactSource).LoadExact(w.scope, name)
	if !packs {
		return m.dequantized(w.scope)
	}
	return m
}

// Packs reports whether quantized matrices are held packed.
func (w *Weights) Packs() bool {
	return w.Dtype == mlx.Float32 && !w.stopped() && w.scope.Thread().Packs()
}

// dequantized returns a quantized matrix, or a stack, as a plain one in float32, with each weight rounded once.
func (m *matrix) dequantized(s *mlx.Scope) matrix {
	if s.Err() != nil {
		return matrix{weight: m.weight}
	}
	shape := m.weight.Shape()
	flat := func(a *mlx.Array) *mlx.Array {
		if a == nil {
			return nil
		}
		return s.Reshape(a, -1, last(a.Shape()))
	}
	factors := m.global
	if factors != nil {
		factors = s.Reshape(factors, -1)
	}
	p := s.Pack(flat(m.weight), flat(m.scales), flat(m.biases), factors, m.quantization, false)
	shape[len(shape)-1] = p.In
	return matrix{weight: s.Reshape(s.PackedRows(p, s.Arange(0, p.Out, mlx.Int32)), shape...)}
}

// groupSize returns the elements of a group in which a matrix is quantized. It is 0 for experts, and where
// no group divides a row: these stay as they are.
func groupSize(shape []int) int {
	for _, group := range []int{64, 32, 128} {
		if len(shape) == 2 && shape[1]%group == 0 {
			return group
		}
	}
	return 0
}

// quantizeTo quantizes a plain matrix of n elements in w.Bits.
func (w *Weights) quantizeTo(m matrix, n int64) matrix {
	group := groupSize(m.weight.Shape())
	if w.Bits == 0 || group == 0 || w.stopped() {
		return m
	}
	q := mlx.Quantization{GroupSize: group, Bits: w.Bits, Mode: "affine"}
	weight, scales, biases := w.scope.Quantize(m.weight, q)
	w.quantized.add(q, n)
	return matrix{weight: weight, scales: scales, biases: biases, quantization: q,
		packs: w.Packs() && mlx.CanPack(q)}
}

// quantization returns how the module at path is quantized, whose weight and scales have these types and
// shapes, and refuses what cannot be multiplied.
func (w *Weights) quantization(path string, in int, shape []int,
	weight, scales mlx.TensorInfo) (mlx.Quantization, error) {
	var none mlx.Quantization
	lead := len(shape) - 1
	columns := words(weight, lead)
	weights, allScales := w.config.types()
	if columns == 0 || len(scales.Shape) != len(shape) ||
		len(weight.Shape) != len(shape) && !w.config.isQuantized(weight) ||
		!slices.Contains(weights, weight.Dtype) || !slices.Contains(allScales, scales.Dtype) {
		return none, Unsupported(
			"%s is quantized in a way that is not supported (%s weight, %s scales)",
			path, weight.Dtype, scales.Dtype)
	}
	if !slices.Equal(weight.Shape[:lead], shape[:lead]) {
		return none, fmt.Errorf("%s.weight has shape %v, config.json asks for %v", path,
			weight.Shape, shape)
	}
	// The config names modules by the checkpoint's own paths.
	stored := strings.TrimSuffix(w.names[path+".scales"], ".scales")
	return w.config.of(stored, in, columns, last(scales.Shape), scales.Dtype)
}

// words reads a quantized weight as (lead..., words) of 32 bits.
func (w *Weights) words(name string, info mlx.TensorInfo, lead []int) *mlx.Array {
	a := w.load(name, foreignWeights, info.Shape)
	shape := append(slices.Clone(lead), words(info, len(lead)))
	if info.Dtype == "U32" && slices.Equal(info.Shape, shape) {
		return a
	}
	if w.stopped() {
		return w.scope.Zeros(mlx.Uint32, shape...)
	}
	return w.scope.Reshape(w.scope.View(a, mlx.Uint32), shape...)
}

// scales reads scales or biases. They are held in the type that the model computes in, if that
// holds their values. If not, they are float32, the type of MLX's product then.
func (w *Weights) scales(name string, shape []int) (a *mlx.Array, isFloat32 bool) {
	a = w.load(name, floatTypes, shape)
	if w.Dtype == 0 || a.Dtype() == w.Dtype {
		return a, false
	}
	if a.Dtype() != mlx.Float32 {
		a = w.scope.Widen(a)
	}
	return a, w.Dtype != mlx.Float32
}

// dtype returns the type of dequantized rows: the given one, or as stored if that is zero. Modes whose
// scales are integers store no type; bfloat16 holds their values.
func (m *matrix) dtype(given mlx.Dtype) mlx.Dtype {
	switch {
	case !m.quantized():
		return m.weight.Dtype()
	case given != 0:
		return given
	case m.biases != nil:
		return m.scales.Dtype()
	}
	return mlx.BFloat16
}

// alike reports whether b is quantized as m is, so that they can be joined.
func (m *matrix) alike(b matrix) bool {
	return m.quantized() == b.quantized() && m.quantization == b.quantization && m.half == b.half &&
		m.centred == b.centred && m.float32Scales == b.float32Scales && (m.global == nil) == (b.global == nil)
}

// stack puts the rows of b under the rows of m. It reports false if they are not quantized alike.
func (m *matrix) stack(s *mlx.Scope, b matrix) bool {
	if !m.alike(b) {
		return false
	}
	*m = m.join(s, -2, b)
	return true
}

// join returns m and others, quantized alike, joined along axis 0, or along -2, the axis of outputs.
func (m *matrix) join(s *mlx.Scope, axis int, others ...matrix) matrix {
	all := append([]matrix{*m}, others...)
	joined := func(axis int, of func(m *matrix) *mlx.Array) *mlx.Array {
		if of(m) == nil {
			return nil
		}
		arrays := make([]*mlx.Array, len(all))
		for i := range all {
			arrays[i] = of(&all[i])
		}
		return s.Concat(axis, arrays...)
	}
	out := *m
	out.weight = joined(axis, func(m *matrix) *mlx.Array { return m.weight })
	out.scales = joined(axis, func(m *matrix) *mlx.Array { return m.scales })
	out.biases = joined(axis, func(m *matrix) *mlx.Array { return m.biases })
	if axis < 0 {
		axis++ // it lacks the axis of inputs
	}
	out.global = joined(axis, func(m *matrix) *mlx.Array { return m.global })
	return out
}

// expanded returns m as a stack of one.
func (m *matrix) expanded(s *mlx.Scope) matrix {
	out := *m
	for _, a := range []**mlx.Array{&out.weight, &out.scales, &out.biases, &out.global} {
		if *a != nil {
			*a = s.ExpandDims(*a, 0)
		}
	}
	return out
}

// layout brings the arrays into the form that matmul and gather need. It returns them.
func (m *matrix) layout(s *mlx.Scope) []*mlx.Array {
	if m.packs {
		if m.centred {
			m.biases = nil
		}
		*m = matrix{packed: s.Pack(m.weight, m.scales, m.biases, m.global, m.quantization, m.half)}
		return []*mlx.Array{m.packed.Blocks}
	}
	if m.quantized() {
		return m.arrays()
	}
	w := m.weight
	if len(w.Shape()) == 3 {
		if !s.Thread().GPU() {
			w = s.AsType(w, mlx.Float32) // the only type that the CPU gathers
		}
		m.weight = s.Transpose(w, 0, 2, 1)
		return []*mlx.Array{m.weight}
	}
	m.weight = s.Transpose(w, 1, 0)
	return []*mlx.Array{m.weight}
}

// out returns the number of outputs. The matrix is laid out.
func (m *matrix) out() int {
	if m.packed != nil {
		return m.packed.Out
	}
	if m.quantized() {
		return m.weight.Dim(0)
	}
	return m.weight.Dim(1)
}

// outputs returns views of the outputs [from, to). The matrix is laid out.
func (m *matrix) outputs(s *mlx.Scope, from, to int) matrix {
	v := *m
	if m.packed != nil {
		v.packed = m.packed.Outputs(from, to)
		return v
	}
	if m.quantized() {
		v.weight = s.Slice(m.weight, 0, from, to)
		v.scales = s.Slice(m.scales, 0, from, to)
		if m.biases != nil {
			v.biases = s.Slice(m.biases, 0, from, to)
		}
		if m.global != nil {
			v.global = s.Slice(m.global, 0, from, to)
		}
		return v
	}
	v.weight = s.Slice(m.weight, 1, from, to)
	return v
}

// cut returns the outputs that ids (n) name, in new memory; those of a packed matrix dequantized. The
// matrix is laid out.
func (m *matrix) cut(s *mlx.Scope, ids *mlx.Array) matrix {
	if m.packed != nil {
		return matrix{weight: s.Transpose(s.PackedRows(m.packed, ids), 1, 0)}
	}
	v := *m
	if !m.quantized() {
		v.weight = s.Transpose(s.Take(s.Transpose(m.weight, 1, 0), ids, 0), 1, 0)
		return v
	}
	for _, a := range []**mlx.Array{&v.weight, &v.scales, &v.biases, &v.global} {
		if *a != nil {
			*a = s.Take(*a, ids, 0)
		}
	}
	return v
}

// arrays returns all arrays of a matrix that is not packed.
func (m *matrix) arrays() []*mlx.Array {
	all := []*mlx.Array{m.weight, m.scales, m.biases, m.global}
	return slices.DeleteFunc(all, func(a *mlx.Array) bool { return a == nil })
}
