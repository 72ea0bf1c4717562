package native

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A caller leaves an endless compilation when its context ends or after mostCompile. A caller that
// waits for its turn does the same. A matcher that comes later is freed.
func TestCallersLeaveAnEndlessCompilation(t *testing.T) {
	before := live()
	v := newVocabulary(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v.turns = make(chan struct{}, compilers) // a channel of this test's bubble
		v.build = func(source []byte) (*Matcher, error) {
			<-release
			return v.matcher(source)
		}
		why := errors.New("the client left")
		ended := func(compiles func(ctx context.Context)) (after time.Duration) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(time.Second, func() { cancel(why) })
			start := time.Now()
			compiles(ctx)
			return time.Since(start)
		}
		for i := range compilers + 2 { // two of them wait for their turn
			if after := ended(func(ctx context.Context) {
				if m, err := v.Matcher(ctx, Grammar{Regex: "a"}); m != nil || err != why {
					t.Errorf("%d: %v, %v", i, m, err)
				}
			}); after != time.Second {
				t.Errorf("%d: the caller left after %v", i, after)
			}
		}
		start := time.Now()
		_, err := v.Matcher(t.Context(), Grammar{Regex: "a"})
		e, ok := errors.AsType[*GrammarError](err)
		if !ok || e.Kind != KindLimit || time.Since(start) != mostCompile {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		close(release)
		synctest.Wait()
		m, err := v.Matcher(t.Context(), Grammar{Regex: "ok"})
		if err != nil {
			t.Fatal(err)
		}
		if got := spell(allowed(t, m)); got != "o" {
			t.Errorf("then %q may follow", got)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if after := live(); after != before+1 { // the vocabulary
		t.Errorf("%d objects are left", after-before)
	}
}

func TestVocabularyClosedWhileCompilingIsFreedAfterwards(t *testing.T) {
	before := live()
	v, err := NewVocabulary(len(vocabulary), token, []int32{endToken})
	if err != nil {
		t.Fatal(err)
	}
	if !v.enter() {
		t.Fatal("a new vocabulary reports that it is closed")
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if live() != before+1 {
		t.Error("Close freed the vocabulary while a compilation used it")
	}
	if _, err := v.Matcher(t.Context(), Grammar{Regex: "a"}); err == nil {
		t.Error("a closed vocabulary makes matchers")
	}
	v.leave()
	if after := live(); after != before {
		t.Errorf("%d objects are left", after-before)
	}
}
