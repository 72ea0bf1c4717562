package mlx

// #include "operation_linux.h"
import "C"

// A target is a processor that a kernel is compiled for. 0 is the fastest that this one can run.
type target C.int

// targets returns how many this processor can run.
func targets() target { return target(C.tandem_targets()) }

// operation says how an operation of our own runs.
func (s *Scope) operation(on target) C.tandem_operation {
	return C.tandem_operation{stream: s.stream, target: C.int(on),
		threads: C.int(s.t.threads)}
}

// filled returns r, which an operation of our own has made, or notes why there is none.
func (s *Scope) filled(r *Array, how *C.tandem_operation, failed C.int) *Array {
	if failed != 0 {
		s.Fail(&Error{Message: C.GoString(&how.why[0])})
		return s.failed
	}
	return s.done(r, 0)
}
