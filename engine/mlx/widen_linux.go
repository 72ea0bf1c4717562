package mlx

// #include "widen_linux.h"
import "C"

import "fmt"

// Widen returns a, of float16 or bfloat16, in float32, as [Scope.AsType] does. On the CPU an operation
// of our own does it, with vectors and on all threads, because loading spends most of its time here.
func (s *Scope) Widen(a *Array) *Array {
	if s.t.gpu {
		return s.AsType(a, Float32)
	}
	return s.widen(a, 0)
}

func (s *Scope) widen(a *Array, on target) *Array {
	if !s.ready(a) {
		return s.failed
	}
	if d := a.Dtype(); d != Float16 && d != BFloat16 {
		s.Fail(fmt.Errorf("mlx: cannot widen %v", d))
		return s.failed
	}
	r := s.new()
	how := s.operation(on)
	return s.filled(r, &how, C.tandem_widen(&r.c, a.c, &how))
}
