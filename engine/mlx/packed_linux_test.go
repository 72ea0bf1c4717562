package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A packing is how a matrix is quantized, and the type that holds its scales exactly. Biases of a centred one follow
// from scales.
type packing struct {
	q       Quantization
	scales  Dtype
	centred bool
}

var packings = []packing{
	{Quantization{GroupSize: 64, Bits: 2, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 16, Bits: 2, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 16, Bits: 4, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 16, Bits: 6, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 16, Bits: 8, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 32, Bits: 3, Mode: "affine"}, Float16, false},
	{Quantization{GroupSize: 32, Bits: 4, Mode: "affine"}, Float16, false},
	{Quantization{GroupSize: 128, Bits: 4, Mode: "affine"}, BFloat16, false},
	{Quantization{GroupSize: 64, Bits: 5, Mode: "affine"}, BFloat16, false},
	{Quantization{GroupSize: 64, Bits: 6, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 32, Bits: 8, Mode: "affine"}, Float16, false},
	{Quantization{GroupSize: 128, Bits: 8, Mode: "affine"}, Float32, false},
	{Quantization{GroupSize: 32, Bits: 4, Mode: "affine"}, Float16, true},
	{Quantization{GroupSize: 64, Bits: 5, Mode: "affine"}, BFloat16, true},
	{Quantization{GroupSize: 16, Bits: 6, Mode: "affine"}, Float32, true},
	{Quantization{GroupSize: 128, Bits: 8, Mode: "affine"}, Float16, true},
	{Quantization{GroupSize: 32, Bits: 4, Mode: "mxfp4"}, 0, true},
	{Quantization{GroupSize: 16, Bits: 4, Mode: "nvfp4"}, 0, true},
	{Quantization{GroupSize: 32, Bits: 8, Mode: "mxfp8"}, 0, true},
}

func (p packing) String() string { return fmt.Sprint(p.q, p.scales, p.centred) }

// pack returns random matrices (shape..., in), packed, and the same dequantized by MLX.
func (p packing) pack(s *Scope, r *rand.Rand, shape ...int) (*Packed, *Array) {
	shape = slices.Clone(shape)
	n, in := 1, shape[len(shape)-1]
	for _, d := range shape {
		n *= d
	}
	numbers := make([]uint32, n*p.q.Bits/32)
	for i := range numbers {
		numbers[i] = r.Uint32()
		if p.q.Mode == "mxfp8" {
			numbers[i] &^= 0x04040404 // no NaN
		}
	}
	shape[len(shape)-1] = in * p.q.Bits / 32
	w := New(s, numbers, shape...)
	shape[len(shape)-1] = in / p.q.GroupSize
	groups := n / p.q.GroupSize
	if p.q.Mode != "affine" {
		codes := make([]uint8, groups)
		for i := range codes {
			codes[i] = uint8(115 + r.IntN(8))
			if p.q.Mode == "nvfp4" {
				codes[i] = uint8(r.IntN(127))
			}
		}
		scales := New(s, codes, shape...)
		return s.Pack(w, scales, nil, nil, p.q, true), s.Dequantize(w, scales, nil, p.q, Float32)
	}
	exactly := func(x []float32) *Array {
		return s.AsType(s.AsType(New(s, x, shape...), p.scales), Float32)
	}
	scales, biases := exactly(normal(r, groups)), exactly(normal(r, groups))
	stored := biases
	if p.centred {
		stored, biases = nil, s.Mul(scales, s.Scalar(-float64(int(1)<<(p.q.Bits-1)), Float32))
	}
	packed := s.Pack(w, scales, stored, nil, p.q, p.scales != Float32)
	if p.q.GroupSize >= 32 {
		return packed, s.Dequantize(w, scales, biases, p.q, Float32)
	}
	shape[len(shape)-1] = in / 32 // MLX has no smaller groups
	one := s.Dequantize(w, s.Add(s.Zeros(Float32, shape...), s.Scalar(1, Float32)), s.Zeros(Float32, shape...),
		Quantization{GroupSize: 32, Bits: p.q.Bits, Mode: "affine"}, Float32)
	each := s.Add(s.Mul(s.Reshape(one, groups, p.q.GroupSize), s.Reshape(scales, groups, 1)), s.Reshape(biases, groups, 1))
	shape[len(shape)-1] = in
	return packed, s.Reshape(each, shape...)
}

// TestPackedMatMul compares products of packed and of dequantized matrices, on each kernel that the processor has. A row
// has the same bits alone and in a batch.
func TestPackedMatMul(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, p := range packings {
		for _, c := range []struct{ rows, in, out int }{
			{1, 128, 1}, {1, 256, 33}, {2, 384, 47}, {7, 512, 95}, {8, 384, 48}, {16, 256, 64}, {17, 384, 130}, {64, 640, 70},
			{18, 384, 16}, {17, 512, 47},
		} {
			t.Run(fmt.Sprint(p, c), func(t *testing.T) {
				x := normal(r, c.rows*c.in)
				for on := range targets() {
					do(t, th, func(s *Scope) error {
						a := New(s, x, c.rows, c.in)
						packed, weights := p.pack(s, r, c.out, c.in)
						unpacked, err := Read[float32](s, weights)
						if err != nil {
							return err
						}
						got, err := Read[float32](s, s.packedMatMul(a, packed, on))
						if err != nil {
							return err
						}
						checkNear(t, got, multiply(x, unpacked, c.rows, c.in, c.out), 100*c.in)
						turned := s.Transpose(s.Contiguous(s.Transpose(a, 1, 0)), 1, 0)
						checkSame(t, "another order of x", s, s.packedMatMul(turned, packed, on), got)
						var alone []*Array
						for i := range c.rows {
							alone = append(alone, s.packedMatMul(s.Slice(a, 0, i, i+1), packed, on))
						}
						checkSame(t, "rows alone", s, s.Concat(0, alone...), got)
						if c.out > 32 {
							first, last := packed.Outputs(0, 32), packed.Outputs(32, c.out)
							checkSame(t, "some outputs", s,
								s.Concat(1, s.packedMatMul(a, first, on), s.packedMatMul(a, last, on)), got)
						}
						if on > 0 || p.scales == Float32 || p.q.Mode == "nvfp4" {
							return nil // MLX rounds twice
						}
						ids := New(s, []int32{int32(c.out - 1), 0}, 2)
						want, err := Read[float32](s, s.Take(weights, ids, 0))
						if err != nil {
							return err
						}
						checkSame(t, "rows of the matrix", s, s.PackedRows(packed, ids), want)
						return nil
					})
				}
			})
		}
	}
}

// TestPackedGatherMM sends rows to packed matrices of a stack. They get what they get from each matrix alone.
func TestPackedGatherMM(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(7, 8))
	const matrices, in, out = 5, 256, 45
	for _, p := range packings {
		for _, own := range []int{1, 3} {
			t.Run(fmt.Sprint(p, own), func(t *testing.T) {
				const n, k = 40, 3
				x, ids := normal(r, n*own*in), make([]uint32, n*k)
				for i := range ids {
					ids[i] = uint32(r.IntN(matrices - 1))
				}
				for on := range targets() {
					do(t, th, func(s *Scope) error {
						packed, _ := p.pack(s, r, matrices, out, in)
						rows, chosen := New(s, x, n, own, 1, in), New(s, ids, n, k)
						got, err := Read[float32](s, s.packedGatherMM(rows, packed, chosen, on))
						if err != nil {
							return err
						}
						for i, id := range ids {
							one := *packed
							one.Blocks = s.Slice(packed.Blocks, 0, int(id), int(id)+1)
							row := s.Reshape(s.Slice(s.Slice(rows, 0, i/k, i/k+1), 1, i%k%own, i%k%own+1), 1, in)
							checkSame(t, "alone", s, s.packedMatMul(row, &one, on), got[i*out:(i+1)*out])
						}
						return nil
					})
				}
			})
		}
	}
}

// TestScalesTakeTheFewestBits finds the smallest type that holds numbers exactly.
func TestScalesTakeTheFewestBits(t *testing.T) {
	for _, c := range []struct {
		x    float32
		want int
	}{
		{0, scalesFloat16}, {float32(math.Copysign(0, -1)), scalesFloat16}, {1.5, scalesFloat16}, {65504, scalesFloat16},
		{0x1p-24, scalesFloat16}, {-0x1.8p-23, scalesFloat16}, {0x1.ffcp-15, scalesFloat32}, {0x1p-25, scalesBFloat16},
		{65536, scalesBFloat16}, {0x1.02p0, scalesFloat16}, {0x1.002p0, scalesFloat32}, {0x1.02p20, scalesBFloat16},
		{0x1.004p0, scalesFloat16}, {float32(math.Inf(1)), scalesBFloat16}, {math.Pi, scalesFloat32},
	} {
		do(t, newThread(t), func(s *Scope) error {
			if got := scalesFormat(s, New(s, []float32{1, c.x}, 2)); got != c.want {
				t.Errorf("%g takes format %d, want %d", c.x, got, c.want)
			}
			return nil
		})
	}
}

// TestPackedMatMulFuses computes products of rows that an operation makes, with a summand, in one operation and in
// several. They are equal to the bit.
func TestPackedMatMulFuses(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(9, 10))
	const in, out = 256, 45
	for _, rows := range []int{1, 8, 33} {
		x, wide, weight, add := normal(r, rows*in), normal(r, rows*2*in), normal(r, in), normal(r, rows*out)
		for name, made := range map[string]func(s *Scope) *Array{
			"norm":       func(s *Scope) *Array { return s.FusedRMSNorm(New(s, x, rows, in), New(s, weight, in), 1e-5) },
			"plain norm": func(s *Scope) *Array { return s.FusedRMSNorm(New(s, x, rows, in), nil, 1e-5) },
			"gate":       func(s *Scope) *Array { return s.Gated(New(s, wide, rows, 2*in), -math.Log2E, 0) },
			"turned gate": func(s *Scope) *Array {
				return s.Gated(s.Transpose(New(s, wide, 2*in, rows), 1, 0), -math.Log2E, 0)
			},
			"rows": func(s *Scope) *Array { return New(s, x, rows, in) },
		} {
			do(t, th, func(s *Scope) error {
				packed, _ := packings[6].pack(s, r, out, in)
				first := made(s)
				if _, err := Read[float32](s, first); err != nil { // computed, it is not taken over
					return err
				}
				y := s.PackedMatMul(first, packed)
				want, err := Read[float32](s, s.Add(y, New(s, add, rows, out)))
				if err != nil {
					return err
				}
				for n, summand := range map[string]*Array{"summand": New(s, add, rows, out), "turned summand": s.Transpose(
					s.Contiguous(s.Transpose(New(s, add, rows, out), 1, 0)), 1, 0)} {
					checkSame(t, name+", "+n, s, s.FusedAdd(summand, s.PackedMatMul(made(s), packed)), want)
				}
				vector := New(s, add[:out], out)
				if want, err = Read[float32](s, s.Add(y, vector)); err != nil {
					return err
				}
				checkSame(t, name+", vector", s, s.FusedAdd(vector, s.PackedMatMul(made(s), packed)), want)
				sum := s.FusedAdd(first, s.FusedAdd(first, made(s)))
				if !strings.HasSuffix(name, "norm") {
					return nil
				}
				normed, err := Read[float32](s, s.Add(first, s.Add(first, first)))
				if err != nil {
					return err
				}
				checkSame(t, name+" twice", s, sum, normed)
				return nil
			})
		}
	}
}

// TestPackedGatherMMFuses sends the rows of gates to matrices of a stack, in one operation and in two.
func TestPackedGatherMMFuses(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(13, 14))
	const matrices, in, out, n, k = 5, 256, 45, 21, 3
	ids := make([]uint32, n*k)
	for i := range ids {
		ids[i] = uint32(r.IntN(matrices))
	}
	for _, own := range []int{1, k} {
		wide := normal(r, n*own*2*in)
		do(t, th, func(s *Scope) error {
			packed, _ := packings[6].pack(s, r, matrices, out, in)
			chosen := New(s, ids, n, k)
			for name, x := range map[string]*Array{"rows": New(s, wide, n, own, 1, 2*in), "turned rows": s.Transpose(
				New(s, wide, 2*in, n, own, 1), 1, 2, 3, 0)} {
				first := s.Gated(x, -math.Log2E, 0)
				if _, err := Read[float32](s, first); err != nil { // computed, it is not taken over
					return err
				}
				want, err := Read[float32](s, s.PackedGatherMM(first, packed, chosen))
				if err != nil {
					return err
				}
				got := s.PackedGatherMM(s.Gated(x, -math.Log2E, 0), packed, chosen)
				checkSame(t, fmt.Sprint(name, own), s, got, want)
			}
			return nil
		})
	}
}

// TestMemoryCountsPackedMatrices holds and frees matrices of several sizes, which share regions of memory.
func TestMemoryCountsPackedMatrices(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(11, 12))
	var held []*Array
	var bytes int64
	before := th.Memory().Active
	for _, out := range []int{16, 40, 9000, 100} {
		do(t, th, func(s *Scope) error {
			packed, _ := packings[6].pack(s, r, out, 4096)
			held = append(held, s.Keep(packed.Blocks))
			bytes += packed.Blocks.Bytes()
			return s.Eval(packed.Blocks)
		})
	}
	if got := th.Memory(); got.Active-before < bytes || got.Active-before > bytes+bytes/100 || got.Peak < got.Active {
		t.Errorf("%+v after %d, and the matrices take %d", got, before, bytes)
	}
	do(t, th, func(s *Scope) error {
		for _, a := range held {
			a.Free()
		}
		return nil
	})
	if got := th.Memory().Active - before; got != 0 {
		t.Errorf("%d bytes are active after all are freed", got)
	}
}
