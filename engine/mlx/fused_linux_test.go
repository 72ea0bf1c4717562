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

// TestRotatedHeadsIsNormAndRotation expects the bits of the operations that it stands for, on each kernel, for rows that
// lie in any order.
func TestRotatedHeadsIsNormAndRotation(t *testing.T) {
	th := newThread(t)
	r := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct{ q, kv, dim, rows, turned int }{{9, 3, 64, 1, 64}, {1, 1, 34, 7, 34}, {4, 2, 96, 64, 24}} {
		for _, with := range []struct{ norm, rope bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
			t.Run(fmt.Sprint(c, with), func(t *testing.T) {
				width := (c.q + 2*c.kv) * c.dim
				x, weight := normal(r, c.rows*width), normal(r, (c.q+c.kv)*c.dim)
				cos, sin := normal(r, c.rows*c.turned), normal(r, c.rows*c.turned)
				for on := range targets() {
					do(t, th, func(s *Scope) error {
						rows := New(s, x, c.rows, width)
						heads := s.Transpose(s.Reshape(rows, 1, c.rows, c.q+2*c.kv, c.dim), 0, 2, 1, 3)
						h := HeadSplit{Q: c.q, KV: c.kv, Dim: c.dim, Eps: 1e-6}
						qk := s.Slice(heads, 1, 0, c.q+c.kv)
						if with.norm {
							h.Norm = New(s, weight, c.q+c.kv, 1, c.dim)
							qk = s.fusedRMSNorm(qk, h.Norm, h.Eps, on)
						}
						if with.rope {
							h.Cos, h.Sin = New(s, cos, c.rows, c.turned), New(s, sin, c.rows, c.turned)
							qk = s.rotate(qk, h.Cos, h.Sin, on)
						}
						want := []*Array{s.Slice(qk, 1, 0, c.q), s.Slice(qk, 1, c.q, c.q+c.kv),
							s.Slice(heads, 1, c.q+c.kv, c.q+2*c.kv)}
						columns := s.Transpose(s.Contiguous(s.Transpose(rows, 1, 0)), 1, 0)
						for _, x := range []*Array{rows, columns} {
							q, k, v := s.rotatedHeads(x, h, on)
							for i, got := range []*Array{q, k, v} {
								bits, err := Read[float32](s, s.Contiguous(want[i]))
								if err != nil {
									return err
								}
								checkSame(t, fmt.Sprint("part ", i), s, got, bits)
							}
						}
						return nil
					})
				}
			})
		}
	}
}

// TestRotatedHeadsRefusesOtherShapes changes one thing of a split at a time.
func TestRotatedHeadsRefusesOtherShapes(t *testing.T) {
	th := newThread(t)
	for name, change := range map[string]func(s *Scope, h *HeadSplit){
		"":                func(*Scope, *HeadSplit) {},
		"no keys":         func(s *Scope, h *HeadSplit) { h.KV = 0 },
		"large heads":     func(s *Scope, h *HeadSplit) { h.Dim, h.Cos, h.Sin = 2*MaxHeadDim, nil, nil },
		"a norm of rows":  func(s *Scope, h *HeadSplit) { h.Norm = s.Zeros(Float32, 16) },
		"a norm of 16":    func(s *Scope, h *HeadSplit) { h.Norm = s.Zeros(BFloat16, 3, 1, 16) },
		"cosines alone":   func(s *Scope, h *HeadSplit) { h.Sin = nil },
		"few cosines":     func(s *Scope, h *HeadSplit) { h.Cos = s.Zeros(Float32, 1, 16); h.Sin = h.Cos },
		"other sines":     func(s *Scope, h *HeadSplit) { h.Sin = s.Zeros(Float32, 2, 8) },
		"wide tables":     func(s *Scope, h *HeadSplit) { h.Cos, h.Sin = s.Zeros(Float32, 2, 32), s.Zeros(Float32, 2, 32) },
		"odd tables":      func(s *Scope, h *HeadSplit) { h.Cos, h.Sin = s.Zeros(Float32, 2, 7), s.Zeros(Float32, 2, 7) },
		"sines of 16 bit": func(s *Scope, h *HeadSplit) { h.Sin = s.Zeros(Float16, 2, 16) },
	} {
		var refused error
		do(t, th, func(s *Scope) error {
			h := HeadSplit{Q: 2, KV: 1, Dim: 16, Cos: s.Zeros(Float32, 2, 16), Sin: s.Zeros(Float32, 2, 16)}
			change(s, &h)
			x := s.Zeros(Float32, 2, (h.Q+2*h.KV)*h.Dim)
			refused = s.Try(func() error { s.RotatedHeads(x, h); return nil })
			return nil
		})
		if (refused == nil) != (name == "") {
			t.Errorf("%q: %v", name, refused)
		}
	}
	do(t, th, func(s *Scope) error {
		for _, x := range []*Array{s.Zeros(Float32, 2, 48), s.Zeros(Float16, 2, 64), s.Zeros(Float32, 2, 1, 64)} {
			if s.Try(func() error { s.RotatedHeads(x, HeadSplit{Q: 2, KV: 1, Dim: 16}); return nil }) == nil {
				t.Errorf("%v of %v is split", x.Dtype(), x.Shape())
			}
		}
		return nil
	})
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
