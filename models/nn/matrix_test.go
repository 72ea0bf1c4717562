package nn

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/mlx"
)

// tensors is a checkpoint in memory.
type tensors map[string]tensor

type tensor struct {
	dtype string
	shape []int
	bytes []uint8
}

func (t tensors) Names() []string { return slices.Collect(maps.Keys(t)) }

func (t tensors) Info(name string) (mlx.TensorInfo, bool) {
	x, ok := t[name]
	return mlx.TensorInfo{Name: name, Dtype: x.dtype, Shape: x.shape, Bytes: int64(len(x.bytes))}, ok
}

func (t tensors) Load(s *mlx.Scope, name string) *mlx.Array {
	x := t[name]
	types := map[string]mlx.Dtype{"U32": mlx.Uint32, "F16": mlx.Float16, "BF16": mlx.BFloat16,
		"F32": mlx.Float32, "I32": mlx.Int32, "I64": mlx.Int64}
	bytes := mlx.New(s, x.bytes, len(x.bytes))
	if d, ok := types[x.dtype]; ok {
		bytes = s.View(bytes, d)
	}
	return s.Reshape(bytes, x.shape...)
}

// random returns a tensor of random bytes below most. Any such bytes are finite scales.
func random(rng *rand.Rand, dtype string, most, size int, shape ...int) tensor {
	for _, d := range shape {
		size *= d
	}
	x := tensor{dtype: dtype, shape: shape, bytes: make([]uint8, size)}
	for i := range x.bytes {
		x.bytes[i] = uint8(rng.IntN(most))
	}
	return x
}

// TestPackedProductHasTheTypeOfItsRows multiplies rows of each type with matrices whose scales are
// of each type, and compares with the product of what MLX dequantizes in float32.
func TestPackedProductHasTheTypeOfItsRows(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const in, out, rows = 64, 24, 5
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		scales string
		dtype  mlx.Dtype // that the model computes in
		wide   bool
	}{
		{"F16", mlx.Float32, false}, {"BF16", mlx.Float32, false}, {"F32", mlx.Float32, false},
		{"F16", mlx.BFloat16, true}, {"F32", mlx.BFloat16, true}, {"BF16", mlx.BFloat16, false},
		{"F16", mlx.Float16, false}, {"F32", mlx.Float16, true},
	} {
		size := map[string]int{"F16": 2, "BF16": 2, "F32": 4}[c.scales]
		src := tensors{
			"a.weight": random(rng, "U32", 256, 4, out, in/8),
			"a.scales": random(rng, c.scales, 60, size, out, in/32),
			"a.biases": random(rng, c.scales, 60, size, out, in/32),
		}
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			w := NewWeights(s, src, nil)
			w.Dtype = c.dtype
			l := w.Linear("a", in, out, false)
			defer w.Free()
			if err := w.Err(); err != nil {
				return err
			}
			load := func(name string) *mlx.Array { return src.Load(s, name) }
			whole := s.Dequantize(load("a.weight"), s.AsType(load("a.scales"), mlx.Float32),
				s.AsType(load("a.biases"), mlx.Float32),
				mlx.Quantization{GroupSize: 32, Bits: 4, Mode: "affine"}, mlx.Float32)
			x := s.AsType(s.Normal(s.Key(3), mlx.Float32, 0, 1, rows, in), c.dtype)
			want := s.MatMul(s.AsType(x, mlx.Float32), s.Transpose(whole, 1, 0))
			got := l.Forward(s, x)
			if got.Dtype() != c.dtype || l.parts[0].float32Scales != c.wide {
				t.Errorf("%s scales and %s rows: %s, wide %v", c.scales, c.dtype, got.Dtype(),
					l.parts[0].float32Scales)
			}
			compareArrays(t, s, got, want, c.dtype)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// compareArrays allows for a few roundings to type d. MLX's CPU sums products of bfloat16 in it.
func compareArrays(t *testing.T, s *mlx.Scope, got, want *mlx.Array, d mlx.Dtype) {
	t.Helper()
	a, errA := mlx.Read[float32](s, s.Contiguous(s.AsType(got, mlx.Float32)))
	b, errB := mlx.Read[float32](s, s.Contiguous(s.AsType(want, mlx.Float32)))
	if errA != nil || errB != nil || len(a) != len(b) {
		t.Errorf("%d numbers, want %d; %v, %v", len(a), len(b), errA, errB)
		return
	}
	limit := map[mlx.Dtype]float64{mlx.Float32: 1e-5, mlx.Float16: 2e-3, mlx.BFloat16: 3e-2}[d]
	most, off := 0.0, 0.0
	for i := range a {
		most = max(most, math.Abs(float64(b[i])))
		off = max(off, math.Abs(float64(a[i])-float64(b[i])))
	}
	if !(off <= limit*most) || most == 0 {
		t.Errorf("off by %g of at most %g", off, most)
	}
}

// TestStoredVectorStaysWide holds that a vector that only chooses keeps its type where the model
// computes in 16 bits.
func TestStoredVectorStaysWide(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	src := tensors{"a": random(rand.New(rand.NewPCG(1, 2)), "F32", 60, 4, 8),
		"b": random(rand.New(rand.NewPCG(1, 2)), "BF16", 60, 2, 8)}
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		for _, dtype := range []mlx.Dtype{mlx.BFloat16, mlx.Float32} {
			w := NewWeights(s, src, nil)
			defer w.Free()
			w.Dtype = dtype
			if got := w.StoredVector("a", 8).Dtype(); got != mlx.Float32 {
				t.Errorf("float32 becomes %s in %s", got, dtype)
			}
			if got := w.StoredVector("b", 8).Dtype(); got != dtype {
				t.Errorf("bfloat16 becomes %s in %s", got, dtype)
			}
			if err := w.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGlobalScaleMultipliesEveryUse holds that a global scale multiplies products, rows of an
// embedding, views of outputs and experts alike.
func TestGlobalScaleMultipliesEveryUse(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const in, out, n = 64, 32, 3
	rng := rand.New(rand.NewPCG(3, 4))
	src := tensors{}
	for i, path := range []string{"a", "b", "e.experts.0.down_proj", "e.experts.1.down_proj",
		"e.experts.2.down_proj"} {
		src[path+".weight"] = random(rng, "U8", 256, 1, out, in/2)
		src[path+".weight_scale"] = random(rng, "F8_E4M3", 64, 1, out, in/16)
		factor := math.Float32bits(float32(i+1) / 8)
		src[path+".weight_scale_2"] = tensor{"F32", []int{}, []uint8{uint8(factor),
			uint8(factor >> 8), uint8(factor >> 16), uint8(factor >> 24)}}
		src[path+".input_scale"] = src[path+".weight_scale_2"]
	}
	modelopt, err := ReadQuantization([]byte(`{"quant_method": "modelopt", "quant_algo": "NVFP4"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		w := NewWeights(s, src, modelopt)
		w.Dtype = mlx.Float32
		w.Sanitize(func(name string) (string, bool) { return name, true })
		ab := w.Stacked(in, false, Part{"a", out}, Part{"b", out})
		experts := w.experts("e", ExpertsShape{Count: n}, in, Part{"down_proj", out})
		defer w.Free()
		if err := w.Err(); err != nil {
			return err
		}
		if len(ab.parts) != 1 {
			t.Errorf("the projections are %d parts", len(ab.parts))
		}
		// float16 holds no product of such weights without their factor
		h := NewWeights(s, src, modelopt)
		h.Dtype = mlx.Float16
		h.Sanitize(func(name string) (string, bool) { return name, true })
		defer h.Free()
		inHalf := h.Stacked(in, false, Part{"a", out}, Part{"b", out})
		whole := func(path string, factor float64) *mlx.Array { // (in, out)
			y := s.Dequantize(s.View(src.Load(s, path+".weight"), mlx.Uint32),
				src.Load(s, path+".weight_scale"), nil,
				mlx.Quantization{GroupSize: 16, Bits: 4, Mode: "nvfp4"}, mlx.Float32)
			return s.Transpose(s.Mul(y, s.Scalar(factor, mlx.Float32)), 1, 0)
		}
		view := w.Outputs(ab, out-16, out+5)
		a, b := whole("a", 1./8), whole("b", 2./8)
		x := s.Normal(s.Key(3), mlx.Float32, 0, 1, 2, in)
		both := s.MatMul(x, s.Concat(1, a, b))
		compareArrays(t, s, ab.Forward(s, x), both, mlx.Float32)
		compareArrays(t, s, view.Forward(s, x), s.Slice(both, 1, out-16, out+5), mlx.Float32)
		ids := mlx.New(s, []uint32{30, 2}, 2)
		compareArrays(t, s, ab.parts[0].rows(s, ids, mlx.Float32),
			s.Take(s.Transpose(s.Concat(1, a, b), 1, 0), ids, 0), mlx.Float32)
		y := experts.matmul(s, s.Reshape(x, 2, 1, 1, in), mlx.New(s, []uint32{2, 1}, 2, 1))
		want := s.Concat(0,
			s.MatMul(s.Slice(x, 0, 0, 1), whole("e.experts.2.down_proj", 5./8)),
			s.MatMul(s.Slice(x, 0, 1, 2), whole("e.experts.1.down_proj", 4./8)))
		compareArrays(t, s, y, want, mlx.Float32)
		half := inHalf.Forward(s, s.AsType(s.Mul(x, s.Scalar(64, mlx.Float32)), mlx.Float16))
		compareArrays(t, s, half, s.Mul(both, s.Scalar(64, mlx.Float32)), mlx.Float16)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWeightsInBlocksAreRead reads rows of a matrix as blocks of 16 bytes, as gpt-oss has them.
func TestWeightsInBlocksAreRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	src := tensors{
		"e.switch_mlp.down_proj.weight": random(rng, "U8", 256, 1, 3, 8, 2, 16),
		"e.switch_mlp.down_proj.scales": random(rng, "U8", 130, 1, 3, 8, 2),
	}
	config, err := ReadQuantization([]byte(`{"quant_method": "mxfp4"}`))
	if err != nil {
		t.Fatal(err)
	}
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		w := NewWeights(s, src, config)
		experts := w.experts("e", ExpertsShape{Count: 3}, 64, Part{"down_proj", 8})
		defer w.Free()
		if err := w.Err(); err != nil {
			return err
		}
		words := experts.parts[0].weight
		if !slices.Equal(words.Shape(), []int{3, 8, 8}) || words.Dtype() != mlx.Uint32 {
			t.Errorf("the words are %s %v", words.Dtype(), words.Shape())
		}
		got, err := mlx.Read[uint32](s, words)
		first := src["e.switch_mlp.down_proj.weight"].bytes
		want := uint32(first[0]) | uint32(first[1])<<8 | uint32(first[2])<<16 | uint32(first[3])<<24
		if err != nil || got[0] != want {
			t.Errorf("the first word is %x, want %x; %v", got[0], want, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
