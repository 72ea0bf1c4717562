package mlx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestFusedOperations compares them with their definitions, in float64, on each kernel that the processor has. Rows
// lie in any order, and what a row gets does not depend on the rows that come with it.
func TestFusedOperations(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct{ heads, rows, d int }{{1, 1, 2}, {3, 1, 64}, {5, 7, 34}, {9, 64, 96}, {2, 40, 300}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			n := c.heads * c.rows * c.d
			x, weight := normal(r, n), normal(r, c.heads*c.d)
			cos, sin := normal(r, c.rows*c.d), normal(r, c.rows*c.d)
			const a, b, eps = -1.5, 0.25, 1e-5
			var norm, turned, gated []float64
			for i := 0; i < n; i += c.d {
				head, pos, sum := i/c.d/c.rows, i/c.d%c.rows, 0.0
				row := x[i : i+c.d]
				for _, v := range row {
					sum += float64(v) * float64(v)
				}
				for j, v := range row {
					norm = append(norm, float64(v)/math.Sqrt(sum/float64(c.d)+eps)*float64(weight[head*c.d+j]))
					other := row[(j+c.d/2)%c.d]
					turned = append(turned, float64(v)*float64(cos[pos*c.d+j])+float64(other)*float64(sin[pos*c.d+j]))
					if gate := float64(v); j < c.d/2 {
						gated = append(gated, gate*float64(row[j+c.d/2])/(1+math.Exp2(gate*(a+b*gate*gate))))
					}
				}
			}
			for on := range targets() {
				do(t, th, func(s *Scope) error {
					heads := New(s, x, 1, c.heads, c.rows, c.d)
					rows := s.Contiguous(s.Transpose(heads, 0, 2, 1, 3))
					columns := s.Contiguous(s.Transpose(heads, 0, 1, 3, 2))
					w := New(s, weight, c.heads, 1, c.d)
					tables := []*Array{New(s, cos, c.rows, c.d), New(s, sin, c.rows, c.d)}
					for name, f := range map[string]struct {
						of   func(x *Array, from, to int) *Array
						want []float64
					}{
						"norm": {func(x *Array, _, _ int) *Array { return s.fusedRMSNorm(x, w, eps, on) }, norm},
						"gate": {func(x *Array, _, _ int) *Array { return s.gated(x, a, b, on) }, gated},
						"rotate": {func(x *Array, from, to int) *Array {
							return s.rotate(x, s.Slice(tables[0], 0, from, to), s.Slice(tables[1], 0, from, to), on)
						}, turned},
					} {
						got, err := Read[float32](s, f.of(heads, 0, c.rows))
						if err != nil {
							return err
						}
						checkNear(t, got, f.want, 20)
						checkSame(t, name+" of rows in turn", s, f.of(s.Transpose(rows, 0, 2, 1, 3), 0, c.rows), got)
						checkSame(t, name+" of columns", s, f.of(s.Transpose(columns, 0, 1, 3, 2), 0, c.rows), got)
						var alone []*Array
						for i := range c.rows {
							alone = append(alone, f.of(s.Slice(heads, 2, i, i+1), i, i+1))
						}
						checkSame(t, name+" of rows alone", s, s.Concat(2, alone...), got)
					}
					return nil
				})
			}
		})
	}
}

// TestGatesOfFarNumbers expects gates that are open or shut, and never a number that is none.
func TestGatesOfFarNumbers(t *testing.T) {
	do(t, newThread(t), func(s *Scope) error {
		x := []float32{-1e4, -200, -90, 0, 90, 1e4, 3, 3, 3, 3, 3, 3}
		got, err := Read[float32](s, s.Gated(New(s, x, 1, 12), -math.Log2E, 0))
		if err != nil {
			return err
		}
		for i, want := range []float64{0, 0, 0, 0, 270, 3e4} {
			if math.Abs(float64(got[i])-want) > 1e-6*want+1e-30 {
				t.Errorf("gate %g: %g, want %g", x[i], got[i], want)
			}
		}
		return nil
	})
}
