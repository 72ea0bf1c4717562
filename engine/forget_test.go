package engine

import (
	"context"
	"os"
	"slices"
	"testing"

	"tandem/engine/cache"
)

// TestWaitingRequestLeavesNothingAfterForget forgets everything while a request waits in the queue.
// That request leaves nothing. The request after it leaves its checkpoints.
func TestWaitingRequestLeavesNothingAfterForget(t *testing.T) {
	prompt, dir := counting(0, 100), t.TempDir()
	opts := Options{Active: 1, Store: newStore(t, dir)}
	f := recalling(t, cache.Ring, opts)
	reached, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(reached)
			<-release
		}
	}
	answers := make(chan []int32)
	ask := func(prompt []int32) {
		var got []int32
		for tok, err := range f.Generate(context.Background(),
			Request{Prompt: prompt, MaxTokens: new(100)}) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, tok.ID)
		}
		answers <- got
	}
	go ask(counting(7, 60))
	<-reached
	go ask(prompt)
	f.waitQueued(1)
	failed := make(chan error)
	go func() {
		failed <- f.Forget(func() error {
			for _, path := range storedFiles(t, dir) {
				if err := os.Remove(path); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	f.waitForJob()
	close(release)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	<-answers
	if got := <-answers; !slices.Equal(got, counting(0, 200)[100:]) {
		t.Errorf("the answer is %v", got)
	}
	written(opts.Store)
	if left := storedEnds(t, dir); len(left) > 0 {
		t.Errorf("texts of %v tokens are on disk", left)
	}
	for _, known := range []int{0, 100} {
		if stats, _ := f.ask(t, Request{Prompt: prompt,
			MaxTokens: new(70)}); stats.Matched != known {
			t.Errorf("%d tokens matched, want %d", stats.Matched, known)
		}
	}
}
