package mlx

import (
	"sync"
	"testing"
	"time"
)

// TestYieldRunsWaitingJob expects that a job that yields keeps its own arrays. The failure of the
// other job stays with that job.
func TestYieldRunsWaitingJob(t *testing.T) {
	th := newThread(t)
	var others sync.WaitGroup
	ran := false // of the thread
	do(t, th, func(s *Scope) error {
		s.Yield() // no job waits
		if th.Lent() != 0 {
			t.Errorf("no job waited, and Lent is %v", th.Lent())
		}
		a := s.Zeros(Float32, 3)
		others.Go(func() {
			err := th.Do(t.Context(), func(s *Scope) error {
				ran = true
				time.Sleep(time.Millisecond) // the time that is lent
				return s.Eval(s.MatMul(s.Zeros(Float32, 2, 3), s.Zeros(Float32, 4, 5)))
			})
			if err == nil {
				t.Error("a product of (2, 3) and (4, 5) was computed")
			}
		})
		for !ran {
			s.Yield()
		}
		got, err := Read[float32](s, a)
		if err == nil && len(got) != 3 {
			t.Errorf("read %v", got)
		}
		return err
	})
	others.Wait()
	if th.Lent() < time.Millisecond {
		t.Errorf("the other job slept 1 ms inside, and Lent is %v", th.Lent())
	}
}
