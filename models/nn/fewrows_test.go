package nn

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

//go:embed testdata/simdgroup.cpp
var simdgroupProgram string

// TestFewRowsKernelEqualsProduct runs the body of the kernel on the CPU, lane by lane. The kernel
// needs a GPU, but its body is C++ too (testdata/simdgroup.cpp).
func TestFewRowsKernelEqualsProduct(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, c := range []struct{ rows, in, out, bits, group int }{
		{2, 64, 4, 4, 64},
		{8, 384, 36, 4, 64}, // the last threadgroup is not full
		{16, 1280, 64, 4, 32},
		{3, 256, 20, 8, 128},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(c.in)))
			words := make([]uint32, c.out*c.in*c.bits/32)
			for i := range words {
				words[i] = rng.Uint32()
			}
			floats := func(n int) []float32 {
				v := make([]float32, n)
				for i := range v {
					v[i] = float32(rng.NormFloat64())
				}
				return v
			}
			x, scales, biases := floats(c.rows*c.in), floats(c.out*c.in/c.group),
				floats(c.out*c.in/c.group)
			m := &matrix{quantization: mlx.Quantization{GroupSize: c.group, Bits: c.bits,
				Mode: "affine"}}
			var constants map[string]int
			var want []float32
			err := th.Do(t.Context(), func(s *mlx.Scope) (err error) {
				m.weight = mlx.New(s, words, c.out, c.in*c.bits/32)
				f := &fewRows{}
				if !f.takes(m, c.rows) {
					t.Error("the kernel does not take this shape")
				}
				constants = f.constants(m, c.rows)
				y := s.QuantizedMatMul(mlx.New(s, x, c.rows, c.in), m.weight,
					mlx.New(s, scales, c.out, c.in/c.group),
					mlx.New(s, biases, c.out, c.in/c.group), m.quantization)
				want, err = mlx.Read[float32](s, y)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			got := runBody(t, constants, map[string]any{"x": x, "w": words, "scales": scales,
				"biases": biases})
			if len(got) != len(want) {
				t.Fatalf("%d numbers, want %d", len(got), len(want))
			}
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			for i := range want {
				if off := math.Abs(float64(got[i] - want[i])); !(off <= 1e-5*largest) {
					t.Fatalf("number %d is %g, want %g", i, got[i], want[i])
				}
			}
		})
	}
}

// runBody compiles the kernel's body for some constants, runs it on the inputs and returns its
// output.
func runBody(t *testing.T, constants map[string]int, inputs map[string]any) []float32 {
	t.Helper()
	dir := t.TempDir()
	var declared strings.Builder
	for name, value := range constants {
		fmt.Fprintf(&declared, "constexpr uint %s = %d;\n", name, value)
	}
	source := strings.NewReplacer("// CONSTANTS", declared.String(), "// BODY",
		fewRowsBody).Replace(simdgroupProgram)
	if err := os.WriteFile(filepath.Join(dir, "body.cpp"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, values := range inputs {
		var data bytes.Buffer
		if err := binary.Write(&data, binary.LittleEndian, values); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compile := exec.CommandContext(t.Context(), "c++", "-std=c++17", "-O1", "-o", "body",
		"body.cpp")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "body"))
	run.Dir = dir
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, len(out)/4)
	if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestFewRowsTakesItsShapesOnly(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	err = th.Do(t.Context(), func(s *mlx.Scope) error {
		m := func(out, group, bits int) *matrix {
			return &matrix{weight: s.Zeros(mlx.Uint32, out, 32),
				quantization: mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"}}
		}
		f := &fewRows{}
		for _, c := range []struct {
			f    *fewRows
			m    *matrix
			rows int
			want bool
		}{
			{f, m(64, 64, 4), 2, true},
			{f, m(64, 64, 4), 16, true},
			{f, m(64, 64, 4), 1, false},
			{f, m(64, 64, 4), 17, false},
			{f, m(66, 64, 4), 8, false},
			{nil, m(64, 64, 4), 8, false},
		} {
			if got := c.f.takes(c.m, c.rows); got != c.want {
				t.Errorf("%d rows with %v: %v", c.rows, c.m.weight.Shape(), got)
			}
		}
		if th.GPU() {
			return nil
		}
		// Without a GPU the refusal is MLX's, and an error like any other.
		q := m(64, 64, 4)
		q.scales, q.biases = s.Zeros(mlx.Float32, 64, 4), s.Zeros(mlx.Float32, 64, 4)
		return s.Eval(newFewRows(s).matmul(s, s.Zeros(mlx.Float32, 2, 256), q))
	})
	if !th.GPU() && (err == nil || !strings.Contains(err.Error(), "Metal")) {
		t.Errorf("the kernel ran without a GPU: %v", err)
	}
}
