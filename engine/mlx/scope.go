package mlx

// #include "mlx/c/mlx.h"
import "C"

import (
	"errors"
	"runtime/debug"
	"time"
)

// A Scope owns the arrays that are made through it during one [Thread.Do]. It is valid only inside
// that call, on the thread. Operations are its methods; the package comment describes ownership and
// errors.
type Scope struct {
	t      *Thread
	stream C.mlx_stream
	arrays []*Array
	failed *Array // an empty array, which operations return after a failure
	err    error
	memo   map[any]*Array
	pause  func(mark int, live []*Array) // see WithPause; may be nil
	start  time.Time                     // of the C call under way, when the thread is timed
}

func newScope(t *Thread) *Scope {
	s := &Scope{t: t, stream: t.stream}
	s.failed = &Array{}
	return s
}

// errIdle is the failure of an idle scope.
var errIdle = errors.New("mlx: an idle scope computes nothing")

// NewIdleScope returns a scope of no thread that has failed. Its operations do nothing and return
// empty arrays, so that code that builds graphs can be followed without MLX.
func NewIdleScope() *Scope {
	return &Scope{t: &Thread{}, failed: &Array{}, err: errIdle}
}

// Err returns the first failure recorded in this scope.
func (s *Scope) Err() error { return s.err }

// Fail records err unless the scope has failed before. Code that builds graphs calls it to refuse
// its input.
func (s *Scope) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Try runs fn, returns the failure that it records, a panic included, and clears it from the scope.
// So the rest of the scope can go on. After an error, arrays that fn made must not be used. If the
// scope has failed before, Try returns that failure and does not run fn.
func (s *Scope) Try(fn func() error) (err error) {
	if s.err != nil {
		return s.err
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err == nil {
			err = s.err
		}
		s.err = nil
	}()
	return fn()
}

// Thread returns the thread the scope belongs to.
func (s *Scope) Thread() *Thread { return s.t }

// Keep moves a out of the scope to a longer-lived owner, which must Free it on the thread. It
// returns a.
func (s *Scope) Keep(a *Array) *Array {
	if a.scope == s {
		last := len(s.arrays) - 1
		s.arrays[a.index] = s.arrays[last]
		s.arrays[a.index].index = a.index
		s.arrays[last] = nil
		s.arrays = s.arrays[:last]
		a.scope = nil
	}
	return a
}

// Adopt moves a kept array back into the scope, which frees it when it closes or evaluates. It
// returns a.
func (s *Scope) Adopt(a *Array) *Array {
	if a.scope == nil && a.c.ctx != nil {
		s.adopt(a)
	}
	return a
}

func (s *Scope) adopt(a *Array) {
	a.scope, a.index = s, len(s.arrays)
	s.arrays = append(s.arrays, a)
}

// Eval computes the arrays of keep and waits for them (mlx_eval). First it frees every other array
// of the scope, so that MLX can reuse their buffers in place. Arrays in keep stay valid, and so do
// kept arrays of other owners. It counts as a sync.
func (s *Scope) Eval(keep ...*Array) error { return s.EvalSince(0, keep...) }

// EvalSince is Eval, and leaves the arrays that were made before mark as they are.
func (s *Scope) EvalSince(mark int, keep ...*Array) error {
	s.t.syncs.Add(1)
	s.t.unread = false
	return s.eval(mark, keep, func(v C.mlx_vector_array) C.int { return C.mlx_eval(v) })
}

// Mark returns the mark of this moment for [Scope.EvalSince] and [Scope.Pause].
func (s *Scope) Mark() int { return len(s.arrays) }

// WithPause calls run, with pause as what [Scope.Pause] calls meanwhile, or nil for nothing. So the
// caller of a long forward can evaluate what there is of it and lend the thread.
func (s *Scope) WithPause(pause func(mark int, live []*Array), run func() error) error {
	old := s.pause
	s.pause = pause
	defer func() { s.pause = old }()
	return run()
}

// Pause is called between the layers of a forward. Of the arrays made since mark, only those of live
// are valid afterwards.
func (s *Scope) Pause(mark int, live ...*Array) {
	if s.pause != nil && s.err == nil {
		s.pause(mark, live)
	}
}

// AsyncEval is Eval without the wait: it dispatches the work and returns (mlx_async_eval).
func (s *Scope) AsyncEval(keep ...*Array) error {
	s.t.unread = true
	return s.eval(0, keep, func(v C.mlx_vector_array) C.int { return C.mlx_async_eval(v) })
}

// Synchronize waits for all work that was dispatched, also in a scope that has failed
// (mlx_synchronize).
func (s *Scope) Synchronize() {
	s.t.syncs.Add(1)
	s.t.unread = false
	if err := check(C.mlx_synchronize(s.stream)); err != nil {
		s.Fail(err)
	}
}

func (s *Scope) eval(mark int, keep []*Array, run func(C.mlx_vector_array) C.int) error {
	if !s.ready(keep...) {
		return s.err
	}
	v := s.vector(keep)
	defer C.mlx_vector_array_free(v)
	s.release(mark, keep)
	s.status(run(v))
	return s.err
}

// release frees the arrays of the scope that were made since mark and are not in keep. One made later
// may have taken the place of an array that was kept, and then stays until the next Eval.
func (s *Scope) release(mark int, keep []*Array) {
	clear(s.memo)
	for _, a := range keep {
		a.marked = true
	}
	mark = min(mark, len(s.arrays))
	live := s.arrays[:mark]
	for _, a := range s.arrays[mark:] {
		if a.marked {
			a.index = len(live)
			live = append(live, a)
			continue
		}
		a.scope = nil
		a.Free()
	}
	clear(s.arrays[len(live):])
	s.arrays = live
	for _, a := range keep {
		a.marked = false
	}
}

func (s *Scope) close() {
	s.release(0, nil)
}

var errDeadArray = errors.New("mlx: use of a freed or foreign array")

// ready reports whether an operation on inputs may go on, and records the failure if not. Call it
// right before the C call, and status right after: the time between them is what Scope.TimeInC
// counts.
func (s *Scope) ready(inputs ...*Array) bool {
	if s.err != nil {
		return false
	}
	for _, a := range inputs {
		if a == nil || a.c.ctx == nil || a.scope != nil && a.scope != s {
			s.Fail(errDeadArray)
			return false
		}
	}
	if s.t.timed {
		s.start = time.Now()
	}
	return true
}

// status records a failed C call.
func (s *Scope) status(status C.int) bool {
	if s.t.timed {
		s.t.inC += time.Since(s.start)
	}
	if status != 0 {
		s.Fail(check(status))
		return false
	}
	return true
}

// untimed records a failed C call that was not preceded by ready.
func (s *Scope) untimed(status C.int) {
	if status != 0 {
		s.Fail(check(status))
	}
}

// new makes an empty array in the scope, which a C call fills.
func (s *Scope) new() *Array {
	a := &Array{}
	s.adopt(a)
	return a
}

// done returns the array that a C call filled, or s.failed after a failure.
func (s *Scope) done(a *Array, status C.int) *Array {
	if !s.status(status) {
		return s.failed
	}
	return a
}

// vector makes an mlx_vector_array, which the caller frees.
func (s *Scope) vector(arrays []*Array) C.mlx_vector_array {
	if len(arrays) == 0 {
		return C.mlx_vector_array_new()
	}
	handles := make([]C.mlx_array, len(arrays))
	for i, a := range arrays {
		handles[i] = a.c
	}
	v := C.mlx_vector_array_new_data(&handles[0], C.size_t(len(handles)))
	if v.ctx == nil {
		s.Fail(check(1))
	}
	return v
}

// unpack moves the elements of v into the scope and frees v.
func (s *Scope) unpack(v C.mlx_vector_array, n int) []*Array {
	defer C.mlx_vector_array_free(v)
	out := make([]*Array, n)
	for i := range out {
		a := s.new()
		if out[i] = a; s.err == nil {
			out[i] = s.done(a, C.mlx_vector_array_get(&a.c, v, C.size_t(i)))
		}
	}
	return out
}

// Memo returns the array that make built for this key since the last Eval of this scope. Layers
// share a mask this way.
func (s *Scope) Memo(key any, make func() *Array) *Array {
	if a, ok := s.memo[key]; ok {
		return a
	}
	a := make()
	if s.err != nil {
		return a // s.failed; it must not outlive the failure (see Try)
	}
	if s.memo == nil {
		s.memo = map[any]*Array{}
	}
	s.memo[key] = a
	return a
}
