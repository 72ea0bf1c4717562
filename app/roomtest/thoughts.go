package roomtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"tandem/app/control"
)

// Thoughts keeps thoughts in memory.
type Thoughts struct {
	mu   sync.Mutex
	Off  bool
	Kept []control.KeptThought
	Hold chan struct{} // if set, a thought is kept after it is closed
}

func (f *Thoughts) KeepsThoughts() bool { return !f.Off }

func (f *Thoughts) KeepThought(_ context.Context, t control.KeptThought, _ time.Time) error {
	if f.Hold != nil {
		<-f.Hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Kept = slices.DeleteFunc(f.Kept, func(k control.KeptThought) bool {
		return k.Owner == t.Owner && k.Model == t.Model && k.History == t.History
	})
	f.Kept = append(f.Kept, t)
	return nil
}

// KeptThoughts returns the thoughts of all owners and models too, if their history is asked for: an
// api must not open them.
func (f *Thoughts) KeptThoughts(_ context.Context, _ int64, _ string,
	histories []string) (list []control.KeptThought, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.Kept {
		if slices.Contains(histories, k.History) {
			list = append(list, k)
		}
	}
	return list, nil
}
