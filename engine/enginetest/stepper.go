package enginetest

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"tandem/engine/mlx"
)

// A Stepper holds the MLX thread and lets the engine have it job by job.
type Stepper struct {
	t       testing.TB
	thread  *mlx.Thread
	release chan struct{}
	jobs    sync.WaitGroup
}

// Hold takes the thread; it is given back by Free, at the latest with the test.
func Hold(t testing.TB, thread *mlx.Thread) *Stepper {
	s := &Stepper{t: t, thread: thread}
	s.take(nil)
	t.Cleanup(s.Free)
	return s
}

// take queues a job that holds the thread, calls then once it is queued, and
// waits until it runs.
func (s *Stepper) take(then func()) {
	started, release := make(chan struct{}), make(chan struct{})
	s.jobs.Go(func() {
		if err := s.thread.Do(context.Background(), func(*mlx.Scope) error {
			close(started)
			<-release
			return nil
		}); err != nil {
			s.t.Error(err)
		}
	})
	if then != nil {
		s.await()
		then()
	}
	<-started
	s.release = release
}

// await waits until the job of take is in the queue for the thread: jobs are
// served in that order, and one that comes later would let others go on
// between them. Only the runtime knows who waits.
func (s *Stepper) await() {
	stacks := make([]byte, 8<<20)
	for {
		for g := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
			state, _, _ := bytes.Cut(g, []byte("\n"))
			if bytes.Contains(g, []byte("(*Stepper).take.func1()")) &&
				bytes.Contains(state, []byte("[select")) {
				return
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Step lets whatever job waits for the thread run, and takes it back.
func (s *Stepper) Step() {
	s.take(func() { close(s.release) })
}

// Free gives the thread back and waits until every job has run.
func (s *Stepper) Free() {
	if s.release != nil {
		close(s.release)
		s.release = nil
	}
	s.jobs.Wait()
}
