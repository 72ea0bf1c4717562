package nn

import (
	"fmt"
	"math"
	"testing"

	"tandem/engine/mlx"
)

// noTensors is an empty checkpoint.
type noTensors struct{}

func (noTensors) Names() []string                           { return nil }
func (noTensors) Info(string) (mlx.TensorInfo, bool)        { return mlx.TensorInfo{}, false }
func (noTensors) Load(s *mlx.Scope, name string) *mlx.Array { panic("load of " + name) }

// TestRopeTableEqualsKernel compares the table used on the CPU with MLX's own rotation, which Metal
// uses.
func TestRopeTableEqualsKernel(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, c := range []struct {
		name    string
		scaling *RopeScaling
	}{
		{"default", nil},
		{"linear", &RopeScaling{Type: "linear", Factor: 8}},
		{"llama3", &RopeScaling{Type: "llama3", Factor: 8, OriginalMaxPositionEmbeddings: new(256.0)}},
		{"yarn", &RopeScaling{OldType: "yarn", Factor: 4, OriginalMaxPositionEmbeddings: new(256.0)}},
	} {
		for _, pos := range []int{0, 1, 700, 4096} {
			for _, n := range []int{1, 5} {
				err := th.Do(t.Context(), func(s *mlx.Scope) error {
					w := NewWeights(s, noTensors{}, nil)
					defer w.Free()
					table := w.Rope(64, 10000, false, c.scaling)
					if table.inverse == nil {
						return fmt.Errorf("no table on the CPU")
					}
					if err := w.Err(); err != nil {
						return err
					}
					kernel := &Rope{rope: table.rope, mscale: table.mscale}
					x := s.Normal(s.Key(1), mlx.Float32, 0, 1, 1, 3, n, 64)
					diff := s.Sub(table.Forward(s, x, pos), kernel.Forward(s, x, pos))
					got, err := mlx.Read[float32](s, s.Contiguous(diff))
					for _, d := range got {
						// The angle itself is rounded to float32.
						if limit := 1e-6 * float64(max(pos, 4)); !(math.Abs(float64(d)) <= limit) {
							return fmt.Errorf("off by %g, allowed %g", d, limit)
						}
					}
					return err
				})
				if err != nil {
					t.Errorf("%s, %d rows from %d: %v", c.name, n, pos, err)
				}
			}
		}
	}
}
