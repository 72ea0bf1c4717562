package nn

import "tandem/engine/mlx"

// totals sums up the tensors that were asked for.
type totals struct {
	quantized  quantizedCount // elements of quantized matrices
	parameters int64
	bytes      int64
	computed   Computed
	plain      Plain // all of those asked for
}

// Parameters returns the number of weights asked for so far. A quantized weight counts as one.
func (t *totals) Parameters() int64 { return t.parameters }

// Bytes returns the memory of the arrays kept so far.
func (t *totals) Bytes() int64 { return t.bytes }

// Computed returns the memory of what loading computes. It is complete once everything was asked for.
func (t *totals) Computed() Computed { return t.computed }

// QuantizationName names the quantization for a person, such as "4-bit", "mxfp4" or "mixed 4-bit". It
// returns "" if no matrix is quantized.
func (t *totals) QuantizationName() string { return t.quantized.String() }

// Computed is the memory that loading takes beyond the tensors of the checkpoint, for arrays that it
// computes from them.
type Computed struct {
	Quantized int64 // bytes of what has one type, whatever the model computes in
	Floats    int64 // bytes of the rest, as it is stored
	Elements  int64 // of the rest

	Packed int64 // bytes that quantized matrices take more than their tensors, where the CPU packs or dequantizes them
	Stacks Plain // experts that are not quantized; the CPU holds them in float32
	Convs  Plain // kernels of convolutions, always held in float32

	Quantizable Quantizable // what Weights.Bits quantizes
	Cut         Cut         // of the target's head
}

// Quantizable counts the plain matrices that can be quantized.
type Quantizable struct {
	Plain
	Scales int64 // of them quantized, and as many biases
}

// Cut is the size of the rows that a drafter reads from the head of its target.
type Cut struct {
	Rows, Width int64
}

// Plain counts matrices that are not quantized.
type Plain struct {
	Elements int64
	Bytes    int64 // as stored
}

// add counts a tensor.
func (p *Plain) add(t mlx.TensorInfo) {
	p.Elements += t.Size()
	p.Bytes += t.Bytes
}

// addFloats adds an array like a tensor of the checkpoint.
func (m *Computed) addFloats(like mlx.TensorInfo) {
	m.Floats += like.Bytes
	m.Elements += like.Size()
}
