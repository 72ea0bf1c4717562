package engine

import (
	"time"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

const (
	// pieceTime is how long the layers of a piece take at most, unless a single layer takes longer.
	pieceTime = 100 * time.Millisecond

	// lentTime is how long rounds of other requests may run after each piece. So a long prompt is read
	// at about two thirds of its speed beside answers, and these are written at about a third of theirs,
	// where a layer takes less than a piece.
	lentTime = pieceTime / 2
)

// pieces evaluates forwards of many rows a few layers at a time, so that short rounds run in between: of
// other engines, and while a prompt is read of this one too. A layer is evaluated as it would be in a whole forward, so
// nothing changes in its result. It is used on the MLX thread.
type pieces struct {
	thread  *mlx.Thread
	layers  int           // of the model
	time    time.Duration // pieceTime, or that of a test
	rowCost time.Duration // of a row in a layer, measured; 0 before that
}

// worth reports whether a forward of that many rows takes longer than a piece, as far as is known.
func (p *pieces) worth(rows int) bool { return rows > cache.MaxBlock && p.size(rows) < p.layers }

// size returns how many layers are a piece of a forward of that many rows.
func (p *pieces) size(rows int) int {
	if p.rowCost == 0 {
		return 1
	}
	return max(1, int(p.time/(p.rowCost*time.Duration(rows))))
}

// run calls forward, and evaluates a piece as soon as its layers are built. live lists what outlives the
// forward beside its outputs: the caches. It limits the memory, see limitMemory, but not that of the
// rounds in between. What is left when forward returns the caller evaluates within it.
func (p *pieces) run(s *mlx.Scope, rows int, live func() []*mlx.Array, forward func() error) error {
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
		if layers++; layers < p.size(rows) {
			return
		}
		if s.EvalSince(mark, append(arrays, live()...)...) != nil {
			return
		}
		p.rowCost = time.Since(begun) / time.Duration(layers*rows)
		unlimit()
		s.Lend(lentTime)
		old, limited = limitMemory(p.thread, s)
		layers, begun = 0, time.Now()
	}
	return s.WithPause(pause, forward)
}
