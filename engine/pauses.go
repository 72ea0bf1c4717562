package engine

import (
	"context"
	"time"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

const (
	// pauseAfter is how long the layers between two pauses take at most, unless a single layer takes longer.
	pauseAfter = 100 * time.Millisecond

	// pauseTime is how long rounds of other requests may run in a pause. So a long prompt is read at
	// about two thirds of its speed beside answers, and these are written at about a third of theirs,
	// where a layer takes less than pauseAfter.
	pauseTime = pauseAfter / 2
)

// pauses evaluates forwards of many rows a few layers at a time, so that short rounds run in between: of
// other engines, and while a prompt is read of this one too. A layer is evaluated as it would be in a
// whole forward, so nothing changes in its result. All but do is used on the MLX thread.
type pauses struct {
	thread  *mlx.Thread
	layers  int           // of the model
	after   time.Duration // pauseAfter, or that of a test
	rowCost time.Duration // of a row in a layer, measured; 0 before that
}

// do runs a chunk on the thread. One of many would hold up a chunk that pauses for it, so it waits until
// that has ended.
func (p *pauses) do(many bool, run func(*mlx.Scope) error) error {
	if many {
		return p.thread.DoLong(context.Background(), run)
	}
	return p.thread.Do(context.Background(), run)
}

// worth reports whether a forward of that many rows takes longer than pauseAfter, as far as is known.
func (p *pauses) worth(rows int) bool { return rows > cache.MaxBlock && p.between(rows) < p.layers }

// between returns how many layers of a forward of that many rows are evaluated between two pauses.
func (p *pauses) between(rows int) int {
	if p.rowCost == 0 {
		return 1
	}
	return max(1, int(p.after/(p.rowCost*time.Duration(rows))))
}

// run calls forward, and pauses between its layers if that is worth it. live lists what outlives the
// forward beside its outputs: the caches. It limits the memory, see limitMemory, but not that of the
// rounds in pauses. What is left when forward returns the caller evaluates within it.
func (p *pauses) run(s *mlx.Scope, rows int, live func() []*mlx.Array, forward func() error) error {
	old, limited := limitMemory(p.thread, s)
	unlimit := func() {
		if limited {
			s.SetMemoryLimit(old)
		}
	}
	defer func() { unlimit() }()
	if !p.worth(rows) {
		syncs, begun := p.thread.Syncs(), time.Now()
		err := forward()
		if rows > cache.MaxBlock && p.thread.Syncs() > syncs { // else the device is still at work
			p.rowCost = time.Since(begun) / time.Duration(p.layers*rows)
		}
		return err
	}
	layers, begun := 0, time.Now()
	pause := func(mark int, arrays []*mlx.Array) {
		if layers++; layers < p.between(rows) {
			return
		}
		if s.EvalSince(mark, append(arrays, live()...)...) != nil {
			return
		}
		p.rowCost = time.Since(begun) / time.Duration(layers*rows)
		unlimit()
		s.Lend(pauseTime)
		old, limited = limitMemory(p.thread, s)
		layers, begun = 0, time.Now()
	}
	return s.WithPause(pause, forward)
}
