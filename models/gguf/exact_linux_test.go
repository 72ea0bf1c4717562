package gguf

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestPackedWeightsAreThoseOfLlamaCPP compares the weights of each kind, as rows of a packed matrix, with what
// llama.cpp's own package unpacks.
func TestPackedWeightsAreThoseOfLlamaCPP(t *testing.T) {
	d, err := Open(os.DirFS("testdata"), "kinds.gguf")
	if err != nil {
		t.Fatal(err)
	}
	open := func(f fs.File, err error) *mlx.Tensors {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return enginetest.TensorsIn(t, f)
	}
	shown, exact := open(d.Open(weightsFile)), open(d.OpenExact())
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
		tensors := exact
		if !ok {
			if e.packing == nil {
				continue
			}
			tensors, bits, group = shown, e.packing.bits, e.packing.group
		}
		tried++
		var got []float32
		if err := thread.Do(context.Background(), func(s *mlx.Scope) error {
			q := mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"}
			scales := tensors.Load(s, e.module()+".scales")
			var biases *mlx.Array
			if e.kind == mxfp4 {
				q.Mode = "mxfp4"
			} else {
				scales = s.AsType(scales, mlx.Float32)
			}
			if e.kind != mxfp4 && !d.Centred(e.to) {
				biases = s.AsType(tensors.Load(s, e.module()+".biases"), mlx.Float32)
			}
			p := s.Pack(tensors.Load(s, e.to), scales, biases, nil, q, !ok)
			got, err = mlx.Read[float32](s, s.PackedRows(p, s.Arange(0, p.Out, mlx.Int32)))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, values) { // 0 may have another sign
			t.Errorf("%v: other weights", e.kind)
		}
	}
	if all := len(approximations) + len(packings); tried != all || exact.Len() != 3*len(approximations) {
		t.Errorf("%d kinds of %d, and %d exact tensors", tried, all, exact.Len())
	}
}
