package nn

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// TestAttentionOnCPUEqualsMLX compares attention on the CPU with MLX's own, which Metal uses, with
// sinks and without. Values of 24 elements are attended in MLX's operations.
func TestAttentionOnCPUEqualsMLX(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, dim := range []int{16, 24} {
		for _, heads := range [][2]int{{4, 4}, {4, 2}, {6, 1}} {
			for _, size := range [][2]int{{1, 1}, {1, 40}, {1, 130}, {5, 5}, {5, 40}, {64, 80},
				{70, 200}} {
				for _, kind := range []string{"all", "causal", "window", "sinks", "causal sinks",
					"window sinks"} {
					err := th.Do(t.Context(), func(s *mlx.Scope) error {
						return compareAttention(s, kind, dim, heads, size)
					})
					if err != nil {
						t.Errorf("%s, %d elements, heads %v, %d queries at %d keys: %v", kind, dim,
							heads, size[0], size[1], err)
					}
				}
			}
		}
	}
}

// compareAttention compares attention of a kind with MLX's own. heads are those of queries and of
// keys, size is the number of queries and of keys.
func compareAttention(s *mlx.Scope, kind string, dim int, heads, size [2]int) error {
	n, keys := size[0], size[1]
	random := func(key, heads, rows int) *mlx.Array {
		return s.Normal(s.Key(uint64(key)), mlx.Float32, 0, 1, 1, heads, rows, dim)
	}
	q := s.Mul(s.Scalar(4, mlx.Float32), random(1, heads[0], n))
	// a view of a larger buffer
	k := s.Slice(random(2, heads[1], keys+3), 2, 0, keys)
	v := s.Slice(random(3, heads[1], keys+3), 2, 0, keys)
	if n == 5 { // elements that are not neighbours
		v = s.Transpose(s.Contiguous(s.Transpose(v, 0, 1, 3, 2)), 0, 1, 3, 2)
	}
	h := Heads{Scale: 0.25}
	mask, sinks := strings.CutSuffix(kind, "sinks")
	if sinks { // some larger than all scores
		h.Sinks = s.Normal(s.Key(4), mlx.Float32, 2, 4, heads[0])
	}
	var got, want *mlx.Array
	switch strings.TrimSpace(mask) {
	case "all", "":
		got, want = h.ScaledDotProductAttention(s, q, k, v, nil),
			joinHeads(s, s.Attention(q, k, v, h.Scale, nil, h.Sinks))
	case "causal":
		got, want = h.CausalAttention(s, q, k, v), joinHeads(s, s.CausalAttention(q, k, v, h.Scale, h.Sinks))
	case "window":
		row := s.ExpandDims(s.Arange(keys-n, keys, mlx.Int32), 1)
		mask := s.LessEqual(s.Sub(row, s.ExpandDims(s.Arange(0, keys, mlx.Int32), 0)),
			s.Scalar(3, mlx.Int32))
		got, want = h.ScaledDotProductAttention(s, q, k, v, mask),
			joinHeads(s, s.Attention(q, k, v, h.Scale, mask, h.Sinks))
	}
	return near(s, got, want)
}

// near returns an error if a number of got is not the wanted one, but for rounding.
func near(s *mlx.Scope, got, want *mlx.Array) error {
	diff, err := mlx.Read[float32](s, s.Contiguous(s.Sub(got, want)))
	for _, d := range diff {
		if !(math.Abs(float64(d)) <= 1e-5) {
			return fmt.Errorf("off by %g", d)
		}
	}
	return err
}

// TestAttentionOnCPUTakesMixedTypes attends keys, values and sinks of other types than the queries
// have, as checkpoints give them whose norms alone are float32.
func TestAttentionOnCPUTakesMixedTypes(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for _, dim := range []int{16, 8} { // 8 is attended in MLX's operations
		for i, types := range [][3]mlx.Dtype{
			{mlx.Float32, mlx.BFloat16, mlx.Float32},
			{mlx.BFloat16, mlx.Float32, mlx.Float32},
			{mlx.Float32, mlx.Float32, mlx.BFloat16},
			{mlx.Float16, mlx.BFloat16, mlx.Float16},
		} {
			err := th.Do(t.Context(), func(s *mlx.Scope) error {
				random := func(d mlx.Dtype, shape ...int) *mlx.Array {
					return s.AsType(s.Normal(s.Key(1), mlx.Float32, 0, 1, shape...), d)
				}
				q := random(mlx.Float32, 1, 4, 5, dim)
				k, v := random(types[0], 1, 2, 40, dim), random(types[1], 1, 2, 40, dim)
				h := Heads{Scale: 0.25, Sinks: random(types[2], 4)}
				mask := causalMask(s, 5, 40)
				outs := []*mlx.Array{
					h.ScaledDotProductAttention(s, q, k, v, mask), h.CausalAttention(s, q, k, v)}
				want := joinHeads(s, s.CausalAttention(q, s.AsType(k, mlx.Float32), s.AsType(v, mlx.Float32),
					h.Scale, s.AsType(h.Sinks, mlx.Float32))) // MLX's own
				for _, got := range outs {
					if got.Dtype() != mlx.Float32 {
						return fmt.Errorf("attention is %v", got.Dtype())
					}
					if err := near(s, got, want); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d elements, types %d: %v", dim, i, err)
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

// TestAttentionOfARowDoesNotDependOnOthers attends rows alone and in blocks that begin and end
// anywhere. No bit may differ.
func TestAttentionOfARowDoesNotDependOnOthers(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const keys, window = 300, 70
	for _, dim := range []int{16, 64, 96} {
		for _, kind := range []string{"causal", "sinks", "window"} {
			err := th.Do(t.Context(), func(s *mlx.Scope) error {
				var kept []*mlx.Array // through the evaluations below
				defer func() {
					for _, a := range kept {
						a.Free()
					}
				}()
				random := func(scale float32, shape ...int) *mlx.Array {
					key := s.Key(uint64(len(kept)))
					kept = append(kept, s.Keep(s.Normal(key, mlx.Float32, 0, scale, shape...)))
					return kept[len(kept)-1]
				}
				q, k, v := random(3, 1, 6, keys, dim), random(1, 1, 2, keys, dim),
					random(1, 1, 2, keys, dim)
				h := Heads{Scale: 0.25}
				if kind == "sinks" {
					h.Sinks = random(4, 6)
				}
				rows := func(from, to int) ([]float32, error) {
					own, seen := s.Slice(q, 2, from, to), func(a *mlx.Array) *mlx.Array {
						return s.Slice(a, 2, 0, to)
					}
					out := h.causal(s, own, seen(k), seen(v))
					if kind == "window" {
						at := s.ExpandDims(s.Arange(from, to, mlx.Int32), 1)
						behind := s.Sub(at, s.ExpandDims(s.Arange(0, to, mlx.Int32), 0))
						mask := s.And(s.LessEqual(behind, s.Scalar(window, mlx.Int32)),
							s.LessEqual(s.Scalar(0, mlx.Int32), behind))
						out = h.ScaledDotProductAttention(s, own, seen(k), seen(v), mask)
					}
					return mlx.Read[float32](s, s.Contiguous(out))
				}
				var alone []float32
				for i := range keys {
					row, err := rows(i, i+1)
					if err != nil {
						return err
					}
					alone = append(alone, row...)
				}
				for _, cut := range [][2]int{{0, keys}, {0, 63}, {63, 65}, {64, 128}, {130, 290}} {
					block, err := rows(cut[0], cut[1])
					if err != nil {
						return err
					}
					for i, x := range block {
						want := alone[cut[0]*6*dim+i]
						if math.Float32bits(x) != math.Float32bits(want) {
							return fmt.Errorf("rows %v: row %d is %g, alone %g", cut,
								cut[0]+i/(6*dim), x, want)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s, %d elements: %v", kind, dim, err)
			}
		}
	}
}

// TestRowsApartAreAttendedTogetherWhereTheyMayBe attends rows that must not depend on each other, with
// a mask and without. Each row has the bits that it has alone. In float32 on Linux one operation takes
// all of them, in other widths and types each has its own.
func TestRowsApartAreAttendedTogetherWhereTheyMayBe(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const n, keys = 8, 100
	for _, c := range []struct {
		dim      int
		dtype    mlx.Dtype
		together bool
	}{
		{64, mlx.Float32, runtime.GOOS == "linux"}, {24, mlx.Float32, false},
		{64, mlx.BFloat16, false},
	} {
		for _, masked := range []bool{false, true} {
			err := th.Do(t.Context(), func(s *mlx.Scope) error {
				random := func(key, heads, rows int) *mlx.Array {
					return s.AsType(s.Normal(s.Key(uint64(key)), mlx.Float32, 0, 1, 1, heads, rows,
						c.dim), c.dtype)
				}
				h := Heads{Q: 4, KV: 2, Dim: c.dim, Scale: 0.25}
				q, view := random(1, 4, n), cache.View{K: random(2, 2, keys), V: random(3, 2, keys)}
				if masked {
					view.Mask = causalMask(s, n, keys)
				} else {
					view.Causal = true
				}
				pos := keys - n
				want := h.attendByRow(s, q, view, pos)
				if c.together {
					pos = keys // only what takes rows one by one looks at it
				}
				got := h.attend(s, q, view, lm.Sequence{N: n, Pos: pos, Apart: true})
				a, errA := mlx.Read[float32](s, s.Contiguous(s.AsType(got, mlx.Float32)))
				b, errB := mlx.Read[float32](s, s.Contiguous(s.AsType(want, mlx.Float32)))
				if !slices.Equal(a, b) {
					t.Errorf("%d elements of %s, mask %v: other bits than alone", c.dim, c.dtype,
						masked)
				}
				return errors.Join(errA, errB)
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
