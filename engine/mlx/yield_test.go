package mlx

import (
	"sync"
	"testing"
	"time"
)

// TestYield: a job that waits runs in the midst of one that yields, to which its arrays
// and its failures are nothing.
func TestYield(t *testing.T) {
	th := newThread(t)
	var others sync.WaitGroup
	ran := false // of the thread
	do(t, th, func(s *Scope) error {
		s.Yield() // to nobody
		if th.Lent() != 0 {
			t.Errorf("nobody had the thread for %v", th.Lent())
		}
		a := s.Zeros(Float32, 3)
		others.Go(func() {
			err := th.Do(t.Context(), func(s *Scope) error {
				ran = true
				time.Sleep(time.Millisecond)
				return s.Eval(s.MatMul(s.Zeros(Float32, 2, 3), s.Zeros(Float32, 4, 5)))
			})
			if err == nil {
				t.Error("two matrices that do not fit were multiplied")
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
		t.Errorf("the other one had the thread for %v", th.Lent())
	}
}
