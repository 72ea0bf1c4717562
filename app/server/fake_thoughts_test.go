package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
)

// fakeThoughts keeps thoughts in memory.
type fakeThoughts struct {
	mu   sync.Mutex
	off  bool
	kept []control.KeptThought
	held chan struct{} // if set, a thought is kept after it is closed
}

func (f *fakeThoughts) KeepsThoughts() bool { return !f.off }

func (f *fakeThoughts) KeepThought(_ context.Context, t control.KeptThought, _ time.Time) error {
	if f.held != nil {
		<-f.held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = slices.DeleteFunc(f.kept, func(k control.KeptThought) bool {
		return k.Owner == t.Owner && k.Model == t.Model && k.History == t.History
	})
	f.kept = append(f.kept, t)
	return nil
}

// KeptThoughts returns the thoughts of all owners and models too, if their history is asked for: an
// api must not open them.
func (f *fakeThoughts) KeptThoughts(_ context.Context, _ int64, _ string,
	histories []string) (list []control.KeptThought, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kept {
		if slices.Contains(histories, k.History) {
			list = append(list, k)
		}
	}
	return list, nil
}
