package engine

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// rollback drops the rows of the step in flight, or of drafts that do not
// stand, so that the caches hold the first fed tokens and nothing after them.
func (t *task) rollback() error {
	if len(t.caches) == 0 {
		return nil
	}
	return t.trim(t.caches[0].Offset() - t.fed)
}

// trim drops the newest n rows.
func (t *task) trim(n int) error {
	if n <= 0 {
		return nil
	}
	return t.caches.Trim(n)
}

// An origin is the state before a block, to which Undo goes back. Caches that
// can go back to any row need nothing for it; of the others it holds a capture,
// which costs no bytes unless the block overwrites rows of it.
type restorePoint struct {
	task     *task
	captures []*cache.Snapshot // by cache, nil where not needed
}

// origin captures the state at t.fed, which is where the caches stand.
func (t *task) restorePoint(s *mlx.Scope) (*restorePoint, error) {
	p := &restorePoint{t, make([]*cache.Snapshot, len(t.caches))}
	for i, c := range t.caches {
		if !c.NeedsExact() {
			continue
		}
		var err error
		if p.captures[i], err = c.Snapshot(s, 0); err != nil {
			p.free()
			return nil, err
		}
	}
	return p, nil
}

// restore takes the block back whole.
func (p *restorePoint) restore(s *mlx.Scope) error {
	for i, c := range p.task.caches {
		var err error
		if capture := p.captures[i]; capture != nil {
			err = c.Restore(s, []*cache.Snapshot{capture}, p.task.fed)
		} else {
			err = c.Trim(c.Offset() - p.task.fed)
		}
		if err != nil {
			return err
		}
	}
	return p.task.scheduleCaptures(true)
}

// free lets go of the captures. It does nothing to nil.
func (p *restorePoint) free() {
	if p == nil {
		return
	}
	for _, capture := range p.captures {
		if capture != nil {
			capture.Release()
		}
	}
}

// flush evaluates the tokens that are carried, all but the newest one, for the
// caches to hold them.
func (e *Engine) flush(s *mlx.Scope, t *task) error {
	n := t.carried()
	if n == 0 {
		return nil
	}
	e.forwardBlock(s, t, mlx.New(s, t.tokens[t.fed:t.fed+n], n), n, nil)
	t.fed += n
	return s.Eval(t.liveArrays()...)
}
