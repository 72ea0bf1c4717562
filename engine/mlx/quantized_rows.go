package mlx

// A RowFormat says how a quantized row of Dim elements is stored in words of 32 bits: the elements in Bits bits each,
// in the affine mode, then the scales of all groups, then their biases. GroupSize divides Dim.
type RowFormat struct {
	Dim, GroupSize, Bits int   // Bits is 4 or 8
	Dtype                Dtype // of the elements, and so of scales and biases; 2 or 4 bytes
}

// Words returns the words of the elements of a row, and those of its scales and biases.
func (p RowFormat) Words() (elements, scales int) {
	return p.Dim * p.Bits / 32, 2 * p.Dim / p.GroupSize * p.Dtype.Size() / 4
}

func (p RowFormat) quantization() Quantization {
	return Quantization{GroupSize: p.GroupSize, Bits: p.Bits, Mode: "affine"}
}

// QuantizeRows quantizes rows x (..., Dim) to (..., words) of uint32. A row does not depend on the others.
func (s *Scope) QuantizeRows(x *Array, p RowFormat) *Array {
	elements, scales, biases := s.Quantize(x, p.quantization())
	if !s.ready(elements) {
		return s.failed
	}
	last := len(x.Shape()) - 1
	return s.Concat(last, elements, s.View(s.Concat(last, scales, biases), Uint32))
}

// DequantizeRows undoes QuantizeRows, as far as it can be undone.
func (s *Scope) DequantizeRows(x *Array, p RowFormat) *Array {
	if !s.ready(x) {
		return s.failed
	}
	elements, scales := p.Words()
	last, groups := len(x.Shape())-1, p.Dim/p.GroupSize
	both := s.View(s.Slice(x, last, elements, elements+scales), p.Dtype)
	return s.Dequantize(s.Slice(x, last, 0, elements), s.Slice(both, last, 0, groups),
		s.Slice(both, last, groups, 2*groups), p.quantization(), p.Dtype)
}
