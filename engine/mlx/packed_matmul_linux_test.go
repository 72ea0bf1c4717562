package mlx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPackedMatMul multiplies packed matrices, on each kernel that the processor has. They get what
// MLX's product gets, but for rounding. A row alone gets the same bits, and so do some of the outputs.
func TestPackedMatMul(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ rows, in, out, bits, group int }{
		{1, 64, 1, 4, 64}, {1, 64, 33, 8, 32}, {2, 320, 47, 4, 32}, {3, 576, 31, 8, 64},
		{8, 256, 48, 8, 128}, {13, 640, 96, 4, 128}, {40, 384, 130, 8, 64},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x, w := normal(r, c.rows*c.in), normal(r, c.out*c.in)
			q := Quantization{GroupSize: c.group, Bits: c.bits, Mode: "affine"}
			var fastest []float32
			for on := range targets() {
				do(t, th, func(s *Scope) error {
					a := New(s, x, c.rows, c.in)
					packed, scales, biases := s.Quantize(New(s, w, c.out, c.in), q)
					if !s.PackedMatMulFits(a, scales, q) {
						t.Fatal("it does not fit")
					}
					product := func(a *Array, from, to int) *Array {
						return s.packedMatMul(a, s.Slice(packed, 0, from, to),
							s.Slice(scales, 0, from, to), s.Slice(biases, 0, from, to), q, on)
					}
					unpacked, err := Read[float32](s, s.Dequantize(packed, scales, biases, q, Float32))
					if err != nil {
						return err
					}
					got, err := Read[float32](s, product(a, 0, c.out))
					if err != nil {
						return err
					}
					checkNear(t, got, multiply(x, unpacked, c.rows, c.in, c.out), c.in)
					if on == 0 {
						fastest = got
					} else if on < targets()-1 && !slices.Equal(got, fastest) {
						t.Errorf("target %d: other bits than the fastest", on)
					}
					checkSame(t, "some outputs", s, s.Concat(1, product(a, 0, c.out/2), product(a, c.out/2, c.out)), got)
					turned := s.Transpose(s.Contiguous(s.Transpose(a, 1, 0)), 1, 0)
					checkSame(t, "another order of x", s, product(turned, 0, c.out), got)
					var alone []*Array
					for i := range c.rows {
						alone = append(alone, product(s.Slice(a, 0, i, i+1), 0, c.out))
					}
					checkSame(t, "rows alone", s, s.Concat(0, alone...), got)
					return nil
				})
			}
		})
	}
}
