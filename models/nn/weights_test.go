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
