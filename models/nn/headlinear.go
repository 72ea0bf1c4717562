package nn

import "tandem/engine/mlx"

// A headLinear is a linear map of each head by its own matrix, plain or quantized.
type headLinear struct{ m matrix }

// Forward maps x (1, heads, rows, in) to (1, heads, rows, out).
func (l *headLinear) Forward(s *mlx.Scope, x *mlx.Array) *mlx.Array {
	if !l.m.quantized() {
		return s.MatMul(x, l.m.weight)
	}
	m := &l.m
	y := s.QuantizedMatMul(m.operand(s, x), m.weight, m.scales, m.biases, m.quantization)
	factor := m.global // (heads, out) or nil
	if factor != nil {
		factor = s.ExpandDims(factor, 1)
	}
	return m.result(s, y, x, factor)
}

// headLinears keeps matrices (heads, out, in) as a checkpoint has them.
func (w *Weights) headLinears(matrices ...matrix) []*headLinear {
	var list []*headLinear
	var arrays []*mlx.Array
	for _, m := range matrices {
		if !m.quantized() {
			m.weight = w.scope.Contiguous(w.scope.Transpose(m.weight, 0, 2, 1))
		}
		arrays = append(arrays, m.arrays()...)
		list = append(list, &headLinear{m})
	}
	w.keep(arrays)
	return list
}

// latentMaps reads embed_q and unembed_out below path. Published checkpoints have both in kv_b_proj.
func (w *Weights) latentMaps(path string, spec LatentSpec) (embedQ, unembedOut *headLinear) {
	var keys, values matrix
	if w.Has(path + ".kv_b_proj.weight") {
		keys, values = w.splitLatentMaps(path+".kv_b_proj", spec)
	} else {
		keys = w.held(w.asStored(path+".embed_q", false, spec.Nope, spec.Heads, spec.Rank, spec.Nope))
		values = w.held(w.asStored(path+".unembed_out", false, spec.Rank, spec.Heads, spec.Value, spec.Rank))
	}
	list := w.headLinears(keys, values)
	return list[0], list[1]
}

// splitLatentMaps reads kv_b_proj, which has for each head the rows of its keys, then the rows of
// its values. Keys are turned, so quantized ones are dequantized and quantized again, as in mlx_lm.
func (w *Weights) splitLatentMaps(path string, spec LatentSpec) (keys, values matrix) {
	s, rows := w.scope, spec.Nope+spec.Value
	m := w.asStored(path, false, spec.Rank, spec.Heads*rows, spec.Rank)
	weight, q := m.weight, m.quantization
	if m.quantized() {
		if q.Mode != "affine" || spec.Nope%q.GroupSize != 0 {
			w.fail(Unsupported("%s is quantized as %s in groups of %d, and can't be split into keys of %d "+
				"elements and values", path, q.Mode, q.GroupSize, spec.Nope))
			return m, m
		}
		scales, _ := w.src.Info(w.names[path+".scales"])
		d := floatType(scales.Dtype) // as it is stored
		weight = s.Dequantize(m.weight, s.AsType(m.scales, d), s.AsType(m.biases, d), q, d)
	}
	weight = s.Reshape(weight, spec.Heads, rows, spec.Rank)
	keys.weight = s.Transpose(s.Slice(weight, 1, 0, spec.Nope), 0, 2, 1)
	values.weight = s.Slice(weight, 1, spec.Nope, rows)
	if m.quantized() {
		keys, values = w.quantizeLike(m, keys), w.quantizeLike(m, values)
	}
	return keys, values
}

// quantizeLike quantizes a plain matrix as m is quantized.
func (w *Weights) quantizeLike(m, plain matrix) matrix {
	s, d := w.scope, m.scales.Dtype()
	out := matrix{quantization: m.quantization, float32Scales: m.float32Scales}
	weight, scales, biases := s.Quantize(plain.weight, m.quantization)
	out.weight, out.scales, out.biases = weight, s.AsType(scales, d), s.AsType(biases, d)
	return w.held(out)
}
