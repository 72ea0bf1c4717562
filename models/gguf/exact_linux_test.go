package gguf

import (
	"context"
	"os"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestExactWeightsAreThoseOfLlamaCPP compares the weights that repacking changes with what llama.cpp's own
// package unpacks, as rows of a packed matrix.
func TestExactWeightsAreThoseOfLlamaCPP(t *testing.T) {
	d, err := Open(os.DirFS("testdata"), "kinds.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.OpenExact()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensors := enginetest.TensorsIn(t, f)
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	want := readFloats(t, "testdata/kinds.f32")
	tried := 0
	for _, e := range d.entries {
		if e.part != weight {
			continue
		}
		n := 1
		for _, d := range e.tensor.shape {
			n *= d
		}
		values := want[:n]
		want = want[n:]
		bits, group, ok := d.Exact(e.to)
		if ok != e.kind.isApproximated() {
			t.Errorf("%v is there: %v", e.kind, ok)
		}
		if !ok {
			continue
		}
		tried++
		var got []float32
		if err := thread.Do(context.Background(), func(s *mlx.Scope) error {
			p := s.Pack(tensors.Load(s, e.to), tensors.Load(s, e.module()+".scales"),
				tensors.Load(s, e.module()+".biases"), nil,
				mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"}, false)
			got, err = mlx.Read[float32](s, s.PackedRows(p, s.Arange(0, p.Out, mlx.Int32)))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, values) { // 0 may have another sign
			t.Errorf("%v: other weights", e.kind)
		}
	}
	if tried != len(approximations) || tensors.Len() != 3*tried {
		t.Errorf("%d kinds of %d, in %d tensors", tried, len(approximations), tensors.Len())
	}
}
