package enginetest

import (
	"math"

	"tandem/engine/mlx"
)

// quantize fills in what a cache holds of heads of dim elements, and what a query attends. Each head is
// quantized by itself, so that a row that depends on its neighbours is found out. The elements are put
// together here, one by one.
func (c *cacheTest) quantize(list []cacheHeads, dim int) {
	group := 64
	if dim%group != 0 {
		group = 32
	}
	bits := c.kind.Bits
	for i := range list {
		x := &list[i]
		x.attended = nil
		for h := range kvHeads {
			words, scales, biases := c.quantized(x.written[h*dim:][:dim], group)
			x.held = append(x.held, words...)
			for _, list := range [][]float32{scales, biases} {
				for _, v := range list {
					x.held = append(x.held, math.Float32bits(v))
				}
			}
			for d := range dim {
				q := words[d*bits/32] >> (d * bits % 32) & (1<<bits - 1)
				x.attended = append(x.attended, scales[d/group]*float32(q)+biases[d/group])
			}
		}
	}
}

// quantized returns MLX's affine form of one row.
func (c *cacheTest) quantized(row []float32, group int) (words []uint32, scales, biases []float32) {
	c.t.Helper()
	c.do(func(s *mlx.Scope) (err error) {
		w, a, b := s.Quantize(mlx.New(s, row, 1, len(row)),
			mlx.Quantization{GroupSize: group, Bits: c.kind.Bits, Mode: "affine"})
		if err := s.Eval(w, a, b); err != nil {
			return err
		}
		if words, err = mlx.Read[uint32](s, w); err != nil {
			return err
		}
		if scales, err = mlx.Read[float32](s, a); err != nil {
			return err
		}
		biases, err = mlx.Read[float32](s, b)
		return err
	})
	return words, scales, biases
}
