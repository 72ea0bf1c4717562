package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/engine/mlx"
)

// TestAttentionOnCPUEqualsMLX compares attention on the CPU with MLX's own, which Metal uses, with
// sinks and without.
func TestAttentionOnCPUEqualsMLX(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, heads := range [][2]int{{4, 4}, {4, 2}, {6, 1}} {
		for _, size := range [][2]int{{1, 1}, {1, 40}, {5, 5}, {5, 40}, {64, 80}} {
			n, keys := size[0], size[1]
			for _, kind := range []string{"all", "causal", "window", "sinks", "causal sinks",
				"window sinks"} {
				err := th.Do(t.Context(), func(s *mlx.Scope) error {
					q := s.Mul(s.Scalar(4, mlx.Float32),
						s.Normal(s.Key(1), mlx.Float32, 0, 1, 1, heads[0], n, 16))
					// a view of a larger buffer
					k := s.Slice(s.Normal(s.Key(2), mlx.Float32, 0, 1, 1, heads[1], keys+3, 16), 2,
						0, keys)
					v := s.Slice(s.Normal(s.Key(3), mlx.Float32, 0, 1, 1, heads[1], keys+3, 16), 2,
						0, keys)
					h := Heads{Scale: 0.25}
					mask, sinks := strings.CutSuffix(kind, "sinks")
					if sinks { // some larger than all scores
						h.Sinks = s.Normal(s.Key(4), mlx.Float32, 2, 4, heads[0])
					}
					var got, want *mlx.Array
					switch strings.TrimSpace(mask) {
					case "all", "":
						got, want = h.ScaledDotProductAttention(s, q, k, v, nil),
							s.Attention(q, k, v, h.Scale, nil, h.Sinks)
					case "causal":
						got, want = h.CausalAttention(s, q, k, v),
							s.CausalAttention(q, k, v, h.Scale, h.Sinks)
					case "window":
						row := s.ExpandDims(s.Arange(keys-n, keys, mlx.Int32), 1)
						mask := s.LessEqual(s.Sub(row,
							s.ExpandDims(s.Arange(0, keys, mlx.Int32), 0)), s.Scalar(3, mlx.Int32))
						got, want = h.ScaledDotProductAttention(s, q, k, v, mask),
							s.Attention(q, k, v, h.Scale, mask, h.Sinks)
					}
					diff, err := mlx.Read[float32](s, s.Contiguous(s.Sub(got, want)))
					for _, d := range diff {
						if !(math.Abs(float64(d)) <= 1e-5) {
							return fmt.Errorf("off by %g", d)
						}
					}
					return err
				})
				if err != nil {
					t.Errorf("%s, heads %v, %d queries at %d keys: %v", kind, heads, n, keys, err)
				}
			}
		}
	}
}

// TestGatesOnCPUEqualDefinitions compares the gates on the CPU with their definitions, the far ends
// included.
func TestGatesOnCPUEqualDefinitions(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const up = 1.5
	var x []float32
	for g := -200.0; g <= 200; g += 0.37 {
		x = append(x, float32(g))
	}
	for name, gate := range map[string]struct {
		layer Gate
		of    func(g float64) float64
	}{
		"SwiGLU": {SwiGLU, func(g float64) float64 { return g / (1 + math.Exp(-g)) }},
		"GeGLU": {GeGLU, func(g float64) float64 {
			return g / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g)))
		}},
		"ClampedSwiGLU": {ClampedSwiGLU(1.702, 7), func(g float64) float64 {
			g = min(g, 7)
			return g / (1 + math.Exp(-1.702*g)) * (up + 1) / up
		}},
		"ClampedSwiGLU of up": {ClampedSwiGLU(1.702, 0.5), func(g float64) float64 {
			g = min(g, 0.5)
			return g / (1 + math.Exp(-1.702*g)) * (0.5 + 1) / up
		}},
	} {
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			gates := mlx.New(s, x, len(x), 1)
			got, err := mlx.Read[float32](s, gate.layer(s,
				s.Concat(1, gates, s.BroadcastTo(s.Scalar(up, mlx.Float32), len(x), 1))))
			for i, y := range got {
				want := up * gate.of(float64(x[i]))
				if !(math.Abs(float64(y)-want) <= 1e-6*max(1, math.Abs(want))) {
					return fmt.Errorf("of %g: %g, want %g", x[i], y, want)
				}
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
