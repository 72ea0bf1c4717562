package nn

import (
	"errors"
	"testing"

	"tandem/engine/mlx"
)

// TestFirstErrorIsReported expects the checkpoint's first failure from Err, in one line. Later
// failures of the checkpoint and of the scope do not replace it.
func TestFirstErrorIsReported(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	first := errors.New("config.json: first")
	th.Do(t.Context(), func(s *mlx.Scope) error {
		w := NewWeights(s, noTensors{}, nil)
		w.fail(first)
		s.Fail(errors.New("second"))
		w.fail(errors.New("third"))
		if err := w.Err(); err != first {
			t.Errorf("got %q, want %q", err, first)
		}
		return nil
	})
}

func TestElementsFollowConfigThenShapes(t *testing.T) {
	q := &Quantization{
		module: module{Bits: 4, GroupSize: 64},
		modules: map[string]*module{"a.v": {Bits: 8, GroupSize: 32}, "a.o": nil,
			"a.x": {Bits: 8, GroupSize: 64}},
	}
	for _, c := range []struct {
		name            string
		q               *Quantization
		path            string
		columns, groups int
		bits, in        int
	}{
		{"as all", q, "a.q", 32, 4, 4, 256},
		{"named", q, "a.v", 64, 8, 8, 256},
		{"named, could be of 4 bits", q, "a.x", 64, 4, 8, 256},
		{"named, as all", q, "a.v", 32, 4, 8, 128},
		{"not named, by shapes", q, "a.q", 64, 2, 8, 256},
		{"said to be float", q, "a.o", 32, 4, 4, 256},
		{"no config", nil, "a.q", 32, 4, 4, 256},
		{"no known packing", nil, "a.q", 7, 3, 0, 0},
	} {
		if bits, in := c.q.Elements(c.path, c.columns, c.groups); bits != c.bits || in != c.in {
			t.Errorf("%s: %d elements of %d bits, want %d of %d", c.name, in, bits, c.in, c.bits)
		}
	}
}
