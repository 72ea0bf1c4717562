package gguf

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
)

// TestWeightsAreThoseOfLlamaCPP compares what MLX unpacks with what llama.cpp's own package does,
// in a file with random blocks of each packed kind.
func TestWeightsAreThoseOfLlamaCPP(t *testing.T) {
	thread, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	d, err := Open(os.DirFS("testdata"), "kinds.gguf")
	if err != nil {
		t.Fatal(err)
	}
	losses := map[string]Loss{}
	for _, l := range d.Losses() {
		losses[l.Tensor] = l
	}
	want := readFloats(t, "testdata/kinds.f32")
	tried := map[kind]bool{}
	for _, e := range d.entries {
		if e.part != weight {
			continue
		}
		tried[e.kind] = true
		got := unpack(t, thread, d, e.source)
		squares, steps := 0.0, 0
		for i, v := range got {
			if e := float64(v - want[i]); e != 0 {
				squares += e * e
				steps++
			}
		}
		want = want[len(got):]
		loss, lossy := losses[e.tensor.name]
		switch {
		case !lossy && steps > 0:
			t.Errorf("%v: %d of %d weights differ", e.kind, steps, len(got))
		case lossy:
			t.Logf("%v in %d bits, groups of %d: rms %.3f and maximum %.2f steps", e.kind, loss.Bits,
				e.packing.group, loss.RMS, loss.Max)
			if loss.RMS <= 0 || loss.RMS >= 0.1 {
				t.Errorf("%v: the rms error is %v steps", e.kind, loss.RMS)
			}
			if rms := math.Sqrt(squares / float64(len(got))); !near(rms, loss.RMS*rmsStep(t, e)) {
				t.Errorf("%v: the rms error is %v, but %v was reported", e.kind, rms,
					loss.RMS*rmsStep(t, e))
			}
		}
	}
	for k := range kinds {
		if _, plain := plainTypes[k]; !plain && !tried[k] {
			t.Errorf("%v is not in the file", k)
		}
	}
}

// rmsStep returns the rms step of a tensor's scales.
func rmsStep(t *testing.T, e *entry) float64 {
	file, err := os.Open("testdata/kinds.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	blocks := make([]byte, e.bytes)
	if _, err := file.ReadAt(blocks, e.tensor.offset); err != nil {
		t.Fatal(err)
	}
	squares, n := 0.0, 0
	for size := e.kind.bytes(); len(blocks) > 0; blocks = blocks[size:] {
		s := unpackSlowly(e.kind, blocks[:size])
		for _, step := range s.step {
			squares += float64(step) * float64(step) * s.spacing * s.spacing
			n++
		}
	}
	return math.Sqrt(squares / float64(n))
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Abs(b) }

// unpack reads the tensors of a source and has MLX unpack them.
func unpack(t *testing.T, thread *mlx.Thread, d *Folder, of *source) (values []float32) {
	f, err := d.Open(weightsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensors := enginetest.TensorsIn(t, f)
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		q := mlx.Quantization{GroupSize: of.packing.group, Bits: of.packing.bits, Mode: of.packing.mode}
		w := tensors.Load(s, of.to)
		scales := tensors.Load(s, of.module()+".scales")
		var biases *mlx.Array
		if q.Mode == "affine" {
			scales = s.AsType(scales, mlx.Float32)
			biases = s.AsType(tensors.Load(s, of.module()+".biases"), mlx.Float32)
		}
		values, err = mlx.Read[float32](s, s.Dequantize(w, scales, biases, q, mlx.Float32))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func readFloats(t *testing.T, name string) []float32 {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
