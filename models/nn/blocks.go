package nn

import (
	"slices"

	"tandem/engine/mlx"
)

// Blocks are the form of quant_method mxfp4: 32 elements of 4 bits in 16 bytes, with a scale. Their
// bytes are those of MLX's mode mxfp4.
const (
	blockElements = 32
	blockBytes    = 16
)

// byteTypes are the types of blocks and of their scales, as safetensors spells them.
var byteTypes = []string{"U8"}

// blocks reads the module at path, whose weight is stored in blocks. Its shape has rows of in
// elements, n elements in all. It is not kept yet.
func (w *Weights) blocks(path string, in int, shape []int, n int64) matrix {
	if in%blockElements != 0 {
		w.fail(unsupported("%s has rows of %d elements; blocks of mxfp4 take a multiple of %d",
			path, in, blockElements))
	}
	lead := shape[:len(shape)-1]
	groups := append(slices.Clone(lead), in/blockElements)
	bytes := w.load(path+".blocks", byteTypes, append(slices.Clone(groups), blockBytes))
	m := matrix{
		scales:       w.load(path+".scales", byteTypes, groups),
		quantization: mlx.Quantization{GroupSize: blockElements, Bits: 4, Mode: "mxfp4"},
	}
	columns := append(slices.Clone(lead), in/8) // of uint32
	if bytes.Dtype() == mlx.Uint8 {
		m.weight = w.scope.Reshape(w.scope.View(bytes, mlx.Uint32), columns...)
	} else { // zeros, see load
		m.weight = w.scope.Zeros(mlx.Uint32, columns...)
	}
	w.packed.add(m.quantization, n)
	stored, _ := w.src.Info(w.names[path+".blocks"])
	scales, _ := w.src.Info(w.names[path+".scales"])
	w.unpacking.add(n, stored, scales)
	return m
}

// evenFirst returns a stack of matrices with the even outputs of each before the odd ones.
func (m matrix) evenFirst(s *mlx.Scope) matrix {
	m.weight = evenFirst(s, m.weight)
	m.scales = evenFirst(s, m.scales)
	m.biases = evenFirst(s, m.biases)
	return m
}

// evenFirst puts the even entries of the second axis of a (E, n, ...) before the odd ones. It
// returns nil for nil.
func evenFirst(s *mlx.Scope, a *mlx.Array) *mlx.Array {
	if a == nil {
		return nil
	}
	pairs := s.Reshape(a, a.Dim(0), a.Dim(1)/2, 2, -1)
	return s.Reshape(s.Transpose(pairs, 0, 2, 1, 3), a.Shape()...)
}
