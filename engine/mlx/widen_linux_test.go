package mlx

import (
	"fmt"
	"math"
	"testing"
)

// Every number of 16 bits becomes the float32 that MLX makes of it. This holds on each kernel that
// the processor has, at any length, and from arrays that lie in memory in another order.
func TestWidenEqualsAsType(t *testing.T) {
	th := newThread(t)
	for _, d := range []Dtype{Float16, BFloat16} {
		for on := range targets() {
			t.Run(fmt.Sprintf("%v on %d", d, on), func(t *testing.T) {
				do(t, th, func(s *Scope) error {
					bits := s.AsType(s.Arange(0, 1<<16, Uint32), Uint16)
					x := s.View(bits, d)
					for _, a := range []*Array{x, s.Concat(0, x, x, x), s.Slice(x, 0, 3, 40_001),
						s.Transpose(s.Reshape(x, 256, 256), 1, 0), s.Zeros(d, 0)} {
						got, err := Read[float32](s, s.widen(a, on))
						if err != nil {
							return err
						}
						want, err := Read[float32](s, s.Contiguous(s.AsType(a, Float32)))
						if err != nil {
							return err
						}
						if len(got) != len(want) {
							return fmt.Errorf("%d numbers of %d", len(got), len(want))
						}
						for i := range want {
							a, b := got[i], want[i]
							if math.Float32bits(a) != math.Float32bits(b) && (a == a || b == b) {
								return fmt.Errorf("number %d is %v, not %v", i, a, b)
							}
						}
					}
					return nil
				})
			})
		}
	}
}

func TestWidenRefusesOtherTypes(t *testing.T) {
	th := newThread(t)
	err := th.Do(t.Context(), func(s *Scope) error {
		s.Widen(s.Zeros(Int32, 2))
		return s.Err()
	})
	if err == nil || err.Error() != "mlx: cannot widen I32" {
		t.Errorf("it gives %v", err)
	}
}
