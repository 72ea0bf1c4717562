package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTiledAttentionRefusesOtherTypes expects an error for each input that is not of the type that
// is read.
func TestTiledAttentionRefusesOtherTypes(t *testing.T) {
	th := newThread(t)
	for i, want := range []string{"float32", "float32", "float32", "float32", "mask"} {
		err := th.Do(t.Context(), func(s *Scope) error {
			in := []*Array{
				s.Zeros(Float32, 1, 2, 1, 16), s.Zeros(Float32, 1, 2, 3, 16),
				s.Zeros(Float32, 1, 2, 3, 16), s.Zeros(Float32, 2),
				s.Zeros(Bool, 1, 3),
			}
			in[i] = s.AsType(in[i], BFloat16)
			return s.Eval(s.TiledAttention(in[0], in[1], in[2],
				AttentionOptions{Scale: 1, Mask: in[4], Sinks: in[3]}))
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %d: %v", i, err)
		}
	}
}

// TestTiledAttentionRefusesOtherShapes expects an error for each shape that would be read beyond its
// end.
func TestTiledAttentionRefusesOtherShapes(t *testing.T) {
	th := newThread(t)
	for _, c := range []struct {
		what  string
		input int
		shape []int
		want  string
	}{
		{"axes of queries", 0, []int{4, 2, 16}, "queries [4 2 16]"},
		{"two texts", 0, []int{2, 4, 2, 16}, "queries [2 4 2 16]"},
		{"heads that share nothing", 0, []int{1, 3, 2, 16}, "queries [1 3 2 16]"},
		{"more queries than keys", 0, []int{1, 4, 4, 16}, "queries [1 4 4 16]"},
		{"width of keys", 1, []int{1, 2, 3, 32}, "keys [1 2 3 32]"},
		{"heads of keys", 1, []int{1, 4, 3, 16}, "keys [1 4 3 16]"},
		{"no heads of keys", 1, []int{1, 0, 3, 16}, "keys [1 0 3 16]"},
		{"fewer values than keys", 2, []int{1, 2, 2, 16}, "values [1 2 2 16]"},
		{"width of values", 2, []int{1, 2, 3, 24}, "values [1 2 3 24]"},
		{"sinks of other heads", 3, []int{2}, "sinks of [2]"},
		{"mask of fewer keys", 4, []int{2, 2}, "mask of [2 2]"},
		{"mask of fewer rows", 4, []int{1, 3}, "mask of [1 3]"},
	} {
		err := th.Do(t.Context(), func(s *Scope) error {
			shapes := [][]int{{1, 4, 2, 16}, {1, 2, 3, 16}, {1, 2, 3, 16}, {4}, {2, 3}}
			shapes[c.input] = c.shape
			in := []*Array{4: s.Zeros(Bool, shapes[4]...)}
			for i, shape := range shapes[:4] {
				in[i] = s.Zeros(Float32, shape...)
			}
			return s.Eval(s.TiledAttention(in[0], in[1], in[2],
				AttentionOptions{Mask: in[4], Sinks: in[3], Causal: true}))
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestTiledAttentionOfARowDoesNotDependOnOthers attends rows alone and in blocks that begin and end
// anywhere, on each target that the processor can run. No bit may differ. All targets agree with
// MLX's own attention.
func TestTiledAttentionOfARowDoesNotDependOnOthers(t *testing.T) {
	th := newThread(t)
	const heads, shared, keys, window = 6, 2, 150, 70
	for on := range targets() {
		for _, dim := range []int{16, 48} {
			for _, kind := range []string{"causal", "sinks", "window"} {
				r := rand.New(rand.NewPCG(7, uint64(dim)))
				queries, sinks := normal(r, heads*keys*dim), normal(r, heads)
				const hidden = 3 // rows before the first key
				k, v := normal(r, shared*(hidden+keys)*dim), normal(r, shared*(1+keys)*dim)
				attend := func(from, to int) (rows []float32) { // (to-from, heads, dim)
					do(t, th, func(s *Scope) (err error) {
						q := s.Slice(New(s, queries, 1, heads, keys, dim), 2, from, to)
						k := s.Slice(New(s, k, 1, shared, hidden+keys, dim), 2, hidden, hidden+to)
						v := s.Slice(New(s, v, 1, shared, 1+keys, dim), 2, 1, 1+to)
						o := AttentionOptions{Scale: 0.25, Causal: kind != "window"}
						if kind == "sinks" {
							o.Sinks = New(s, sinks, heads)
						}
						at := s.ExpandDims(s.Arange(from, to, Int32), 1)
						behind := s.Sub(at, s.ExpandDims(s.Arange(0, to, Int32), 0))
						mask := s.LessEqual(s.Scalar(0, Int32), behind)
						if kind == "window" {
							mask = s.And(s.LessEqual(behind, s.Scalar(window, Int32)), mask)
							o.Mask = mask
						}
						out := s.tiledAttention(q, k, v, o, on)
						if from == 0 {
							want, err := Read[float32](s, s.Contiguous(s.Transpose(
								s.Attention(q, k, v, o.Scale, mask, o.Sinks), 0, 2, 1, 3)))
							if err != nil {
								return err
							}
							got, err := Read[float32](s, out)
							for i := range want {
								if !(math.Abs(float64(got[i]-want[i])) <= 1e-5) {
									return fmt.Errorf("number %d is %g, want %g", i, got[i], want[i])
								}
							}
							if err != nil {
								return err
							}
						}
						rows, err = Read[float32](s, out)
						return err
					})
					return rows
				}
				var alone []float32
				for i := range keys {
					alone = append(alone, attend(i, i+1)...)
				}
				for _, cut := range [][2]int{{0, keys}, {0, 63}, {63, 65}, {64, 128}, {130, 145}} {
					if !slices.Equal(attend(cut[0], cut[1]),
						alone[cut[0]*heads*dim:cut[1]*heads*dim]) {
						t.Errorf("target %d, %s, %d elements: rows %v have other bits than alone",
							on, kind, dim, cut)
					}
				}
			}
		}
	}
}
