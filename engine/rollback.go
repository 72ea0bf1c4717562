package engine

import (
	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// rollback drops the rows of the step in flight, or of rejected drafts. The caches then hold
// the first fed tokens and no more.
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

// A restorePoint is the state before a block, to which Undo goes back. Caches that can go
// back to any row need no capture. The others hold one, which costs no bytes unless the
// block overwrites rows of it.
type restorePoint struct {
	task     *task
	captures []*cache.Snapshot // by cache; nil where not needed
}

// restorePoint captures the state at t.fed, the offset of the caches.
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

// restore takes the whole block back.
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

// free releases the captures. A nil restorePoint has none.
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

// flush evaluates the carried tokens, so that the caches hold all tokens but the newest.
func (r *runner) flush(s *mlx.Scope, t *task) error {
	n := t.carried()
	if n == 0 {
		return nil
	}
	r.forwardBlock(s, t, mlx.New(s, t.tokens[t.fed:t.fed+n], n), n, nil)
	t.fed += n
	return s.Eval(t.liveArrays()...)
}
