package mlx

// A Packed is a quantized matrix (Out, In), or a stack of E of them, laid out for [Scope.PackedMatMul]. A tile
// of it has 16 outputs, each in one of 16 lanes; in it follow, group after group of inputs, a header with the scales
// and biases of the lanes and words of 32 bits with their numbers. So a product reads one stream of memory.
// The caller keeps and frees Blocks.
type Packed struct {
	Blocks  *Array // (E, words) of uint32
	In, Out int

	first  int  // output of Blocks at which this view begins, a multiple of packedLanes
	group  int  // inputs with one scale
	form   int  // of the numbers, see tandem_packed
	scales int  // of the groups, see tandem_packed
	biased bool // biases are stored, see tandem_packed
}

// packedLanes are the outputs of a tile.
const packedLanes = 16

// Outputs returns a view of the outputs [from, to). It fails unless from is a multiple of 16.
func (p *Packed) Outputs(from, to int) *Packed {
	if from%packedLanes != 0 {
		panic("mlx: a view of a packed matrix begins at a multiple of 16 outputs")
	}
	v := *p
	v.first, v.Out = p.first+from, to-from
	return &v
}
