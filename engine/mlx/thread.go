package mlx

// #include "mlx/c/mlx.h"
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Thread. The zero value selects the GPU where there is one.
type Options struct {
	CPU  bool // use the CPU even if there is a GPU
	BLAS bool // use BLAS even where [Scope.TiledMatMul] could multiply

	// Threads is how many threads may share an operation on the CPU; 0 means [Threads]. For BLAS it
	// holds in the whole process, until the next thread is made.
	Threads int
}

// A Thread owns the OS thread on which MLX runs. Its methods may be called from any goroutine.
type Thread struct {
	jobs   chan job
	long   chan job      // of DoLong
	quit   chan struct{} // closed by Close
	done   chan struct{} // closed when the OS thread has ended
	once   sync.Once
	stream C.mlx_stream
	gpu    bool
	blas   bool

	threads int // that may share an operation on the CPU

	syncs     atomic.Int64
	lent      atomic.Int64 // nanoseconds
	active    atomic.Int64
	peak      atomic.Int64
	maxActive atomic.Int64

	// Owned by the OS thread.
	timed  bool
	inC    time.Duration
	large  int64 // bytes of packed matrices at the last reading of memory
	unread bool  // work was dispatched and nothing was read or waited for since
}

type job struct {
	run  func(*Scope) error
	done chan error
}

// NewThread starts the thread and selects its device. The caller must Close it. The error is an
// [*Error] from MLX, for example if the device gives no stream.
func NewThread(opts Options) (*Thread, error) {
	chooseBLASCore()
	t := &Thread{blas: opts.BLAS, threads: cmp.Or(opts.Threads, Threads()), jobs: make(chan job),
		long: make(chan job),
		quit: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error)
	go t.loop(opts, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Thread) loop(opts Options, started chan<- error) {
	// Never unlocked: the OS thread ends with this goroutine, and with it MLX's thread-local state.
	runtime.LockOSThread()
	defer close(t.done)
	installHandler()
	if err := t.open(opts); err != nil {
		started <- err
		return
	}
	started <- nil
	for {
		select {
		case j := <-t.jobs:
			j.done <- t.run(j.run)
		case j := <-t.long:
			j.done <- t.run(j.run)
		case <-t.quit:
			C.mlx_stream_free(t.stream)
			return
		}
	}
}

// open selects the device and makes it MLX's default on this thread.
func (t *Thread) open(opts Options) error {
	gpu := C.mlx_device_new_type(C.MLX_GPU, 0)
	defer C.mlx_device_free(gpu)
	var ok C.bool
	if !opts.CPU {
		if err := check(C.mlx_device_is_available(&ok, gpu)); err != nil {
			return err
		}
	}
	if bool(ok) {
		t.gpu = true
		if err := check(C.mlx_set_default_device(gpu)); err != nil {
			return err
		}
		t.stream = C.mlx_default_gpu_stream_new()
	} else {
		cpu := C.mlx_device_new_type(C.MLX_CPU, 0)
		defer C.mlx_device_free(cpu)
		if err := check(C.mlx_set_default_device(cpu)); err != nil {
			return err
		}
		t.stream = C.mlx_default_cpu_stream_new()
		setBLASThreads(t.threads)
	}
	if t.stream.ctx == nil {
		return &Error{Message: "no stream on the device"}
	}
	return nil
}

// run executes one job in a new scope and turns a panic into an error.
func (t *Thread) run(fn func(*Scope) error) (err error) {
	s := newScope(t)
	defer t.readMemory()
	defer s.close()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if err := fn(s); err != nil {
		return err
	}
	return s.Err()
}

// Do runs fn on the thread and returns its error, or else the first error that the scope recorded.
// Arrays of the scope die when fn returns. Callers get the thread in the order in which they came.
//
// ctx ends the wait for the thread, with its error; a long fn has to check ctx itself. Other
// errors: [ErrClosed] after Close, [*PanicError] for a panic in fn. fn must not call Do.
func (t *Thread) Do(ctx context.Context, fn func(*Scope) error) error {
	return t.do(ctx, t.jobs, fn)
}

// DoLong is Do for work that takes long. It is not run inside a job that lends the thread
// ([Scope.Lend]), which would wait for all of it.
func (t *Thread) DoLong(ctx context.Context, fn func(*Scope) error) error {
	return t.do(ctx, t.long, fn)
}

func (t *Thread) do(ctx context.Context, queue chan<- job, fn func(*Scope) error) error {
	j := job{run: fn, done: make(chan error, 1)}
	select {
	case queue <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-t.quit:
		return ErrClosed
	}
}

// Yield runs one waiting job, if there is one, before it returns to this one. The reading of a model's
// weights calls it so that the rounds of other requests can pass. The other job has a scope of its own:
// the arrays and the error of s stay as they are.
func (s *Scope) Yield() {
	select {
	case j := <-s.t.jobs:
		s.t.runInside(j)
	case j := <-s.t.long:
		s.t.runInside(j)
	default:
	}
}

// follow is how long a job that lends the thread waits for the next job of those who had it: a request
// takes the thread several times in a row, with work of its own in between.
const follow = 2 * time.Millisecond

// Lend runs jobs that wait, those of [Thread.DoLong] excepted, one after the other until they have taken
// that long or no more wait. Otherwise it is like Yield.
func (s *Scope) Lend(most time.Duration) {
	begun := time.Now()
	for wait := time.Duration(0); ; wait = follow {
		j, ok := s.t.next(wait)
		if !ok {
			return
		}
		if s.t.runInside(j); time.Since(begun) >= most {
			return
		}
	}
}

// runInside runs a job inside another one.
func (t *Thread) runInside(j job) {
	start, lent := time.Now(), t.lent.Load()
	err := t.run(j.run)
	t.lent.Store(lent + int64(time.Since(start))) // what was lent inside j is part of it
	j.done <- err
}

// next takes a job that waits, or comes within that time.
func (t *Thread) next(wait time.Duration) (j job, ok bool) {
	select {
	case j = <-t.jobs:
		return j, true
	default:
	}
	if wait == 0 {
		return j, false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case j = <-t.jobs:
		return j, true
	case <-timer.C:
		return j, false
	}
}

// Lent returns how long jobs have run so far inside other jobs; see [Scope.Yield] and [Scope.Lend].
func (t *Thread) Lent() time.Duration { return time.Duration(t.lent.Load()) }

// Close waits for the running job and ends the thread. Kept arrays must be freed before. A second
// Close returns an error.
func (t *Thread) Close() error {
	closed := fmt.Errorf("mlx: thread closed twice")
	t.once.Do(func() { close(t.quit); closed = nil })
	<-t.done
	return closed
}

// GPU reports whether the thread computes on Metal.
func (t *Thread) GPU() bool { return t.gpu }

// Syncs returns how many calls so far could block on the device.
func (t *Thread) Syncs() int64 { return t.syncs.Load() }
