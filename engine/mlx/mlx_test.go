package mlx

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

// newThread starts a CPU thread that ends with the test.
func newThread(t testing.TB) *Thread {
	t.Helper()
	th, err := NewThread(Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { th.Close() })
	return th
}

// do runs fn on the thread and fails the test on an error.
func do(t testing.TB, th *Thread, fn func(*Scope) error) {
	t.Helper()
	if err := th.Do(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestShapeErrorArrivesAndNextCallWorks(t *testing.T) {
	th := newThread(t)
	err := th.Do(t.Context(), func(s *Scope) error {
		a := s.Zeros(Float32, 2, 3)
		b := s.Zeros(Float32, 4, 5)
		return s.Eval(s.Add(s.MatMul(a, b), a))
	})
	e, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(e.Message, "matmul") {
		t.Fatalf("got %v, want MLX's own words about matmul", err)
	}
	do(t, th, func(s *Scope) error {
		got, err := Read[float32](s, s.MatMul(s.Zeros(Float32, 2, 3), s.Zeros(Float32, 3, 1)))
		if err == nil && len(got) != 2 {
			t.Errorf("read %v", got)
		}
		return err
	})
}

func TestAsStridedStaysInsideTheArray(t *testing.T) {
	th := newThread(t)
	view := func(offset int, shape, strides []int) (got []float32, err error) {
		err = th.Do(t.Context(), func(s *Scope) error {
			a := New(s, []float32{0, 1, 2, 3, 4, 5}, 3, 2)
			got, err = Read[float32](s, s.Contiguous(s.AsStrided(a, offset, shape, strides)))
			return err
		})
		return got, err
	}
	// Each row and the one before it.
	got, err := view(2, []int{2, 2, 2}, []int{2, -2, 1})
	if want := []float32{2, 3, 0, 1, 4, 5, 2, 3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the view is %v, %v, want %v", got, err, want)
	}
	for _, test := range []struct {
		offset         int
		shape, strides []int
	}{{1, []int{3}, []int{-1}}, {4, []int{3}, []int{1}}, {0, []int{4}, []int{2}},
		{0, []int{2, 4}, []int{1}}} {
		if got, err := view(test.offset, test.shape, test.strides); err == nil {
			t.Errorf("%+v: the view is %v, want an error", test, got)
		}
	}
}

func TestPanicBecomesError(t *testing.T) {
	th := newThread(t)
	err := th.Do(t.Context(), func(*Scope) error { panic("boom") })
	p, ok := errors.AsType[*PanicError](err)
	if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestPanicBecomesError") {
		t.Fatalf("got %v", err)
	}
	do(t, th, func(s *Scope) error { return s.Eval(s.Zeros(Float32, 1)) })
}

// TestTryClearsItsFailure expects that a failure inside Try leaves no failure and no memo in the
// scope.
func TestTryClearsItsFailure(t *testing.T) {
	th := newThread(t)
	broken := errors.New("broken")
	err := th.Do(t.Context(), func(s *Scope) error {
		one := func() *Array { return New(s, []float32{1}, 1) }
		for name, fn := range map[string]func() error{
			"returned": func() error { return broken },
			"recorded": func() error { s.Fail(broken); s.Memo("one", one); return nil },
			"panic":    func() error { panic("broken") },
		} {
			if err := s.Try(fn); err == nil || !strings.Contains(err.Error(), "broken") ||
				s.Err() != nil {
				t.Errorf("%s: %v, and the scope has %v", name, err, s.Err())
			}
		}
		if err := s.Try(func() error { return nil }); err != nil {
			t.Error(err)
		}
		got, err := Read[float32](s, s.Memo("one", one))
		if err != nil || got[0] != 1 {
			t.Errorf("%v, %v", got, err)
		}
		s.Fail(broken)
		if err := s.Try(func() error { t.Error("Try ran after a failure"); return nil }); err != broken {
			t.Error(err)
		}
		return nil
	})
	if err != broken {
		t.Errorf("%v, want the failure that came before", err)
	}
}

func TestClosedScopesFreeTheirMemory(t *testing.T) {
	th := newThread(t)
	step := func(s *Scope) error {
		a := s.Zeros(Float32, 64, 64)
		for range 20 {
			a = s.Add(s.MatMul(a, a), a)
		}
		return s.Eval(a)
	}
	do(t, th, step)
	before := th.Memory().Active
	for range 1000 {
		do(t, th, step)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d over 1,000 scopes", before, after)
	}
}

func TestManyGoroutinesShareAThread(t *testing.T) {
	th := newThread(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for range 20 {
				err := th.Do(context.Background(), func(s *Scope) error {
					got, err := Read[int32](s,
						s.Add(New(s, []int32{int32(i)}, 1), New(s, []int32{1}, 1)))
					if err == nil && got[0] != int32(i)+1 {
						t.Errorf("%d + 1 = %d", i, got[0])
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestAppendWritesInPlace appends rows to buffers of 2 and 32 MB, as a KV cache does. If a handle
// on the old buffer survived until Eval, MLX would copy it and double the peak memory.
func TestAppendWritesInPlace(t *testing.T) {
	th := newThread(t)
	for _, rows := range []int{512, 8192} {
		var buf *Array
		do(t, th, func(s *Scope) error {
			buf = s.Keep(s.Zeros(Float32, 1, 8, rows, 128))
			if err := s.Eval(buf); err != nil {
				return err
			}
			s.ClearCache()
			s.ResetPeak()
			return nil
		})
		before := th.Memory()
		for i := range 100 {
			do(t, th, func(s *Scope) error {
				row := s.Zeros(Float32, 1, 8, 1, 128)
				next := s.Keep(s.SliceUpdate(buf, row, 2, i))
				// Eval frees the old handle with the others of the scope.
				s.Adopt(buf)
				buf = next
				sum := s.Sum(s.Slice(buf, 2, 0, i+1), 2, false)
				return s.Eval(buf, sum)
			})
		}
		grown := th.Memory().Peak - before.Active
		if limit := before.Active / 4; rows > 512 && grown > limit {
			t.Errorf("%d rows: peak rose by %d bytes, at most %d wanted: the buffer was copied",
				rows, grown, limit)
		}
		do(t, th, func(s *Scope) error { buf.Free(); return nil })
	}
}

func TestUseAfterFreeIsAnError(t *testing.T) {
	th := newThread(t)
	err := th.Do(t.Context(), func(s *Scope) error {
		a := s.Zeros(Float32, 1)
		b := s.Add(a, a)
		if err := s.Eval(b); err != nil {
			return err
		}
		return s.Eval(s.Add(a, b)) // a was released by the Eval above
	})
	if !errors.Is(err, errDeadArray) {
		t.Errorf("got %v, want %v", err, errDeadArray)
	}
}

func TestSyncsCountBlockingCalls(t *testing.T) {
	th := newThread(t)
	do(t, th, func(s *Scope) error {
		before := th.Syncs()
		a := s.Zeros(Float32, 4)
		if err := s.AsyncEval(a); err != nil {
			return err
		}
		if n := th.Syncs() - before; n != 0 {
			t.Errorf("dispatching counted %d syncs", n)
		}
		for range 2 {
			if _, err := Read[float32](s, a); err != nil {
				return err
			}
		}
		if n := th.Syncs() - before; n != 1 {
			t.Errorf("two reads of dispatched work counted %d syncs, want 1", n)
		}
		before = th.Syncs()
		if err := s.Eval(a); err != nil {
			return err
		}
		if _, err := Read[float32](s, a); err != nil {
			return err
		}
		if n := th.Syncs() - before; n != 1 {
			t.Errorf("eval and a read of its result counted %d syncs, want 1", n)
		}
		if _, err := Read[float32](s, s.Add(a, a)); err != nil {
			return err
		}
		if n := th.Syncs() - before; n != 2 {
			t.Errorf("a read that had to compute brought the count to %d, want 2", n)
		}
		return nil
	})
}

func TestDoAfterCloseIsRefused(t *testing.T) {
	th, err := NewThread(Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := th.Close(); err != nil {
		t.Fatal(err)
	}
	if err := th.Do(t.Context(), func(*Scope) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close: %v", err)
	}
	if err := th.Close(); err == nil {
		t.Error("a second Close gave no error")
	}
}
