package draft

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// keepRows returns a snapshot of positions [from, to) for each rewindable cache of a context, whose
// rows count positions.
func keepRows(s *mlx.Scope, context cache.Stack, from, to int) ([]*cache.Snapshot, error) {
	caches := context.Rewindable()
	kept := make([]*cache.Snapshot, len(caches))
	for i, c := range caches {
		p, err := c.Snapshot(s, from)
		if err == nil && p.To() < to {
			err = fmt.Errorf("draft: a context of %d rows is asked for %d", p.To(), to)
			p.Release()
		}
		if err == nil && to < p.To() {
			var rest *cache.Snapshot
			whole := p
			p, rest, err = whole.Split(s, to)
			whole.Release()
			if err == nil {
				rest.Release()
			}
		}
		if err != nil {
			for _, p := range kept[:i] {
				p.Release()
			}
			return nil, err
		}
		kept[i] = p
	}
	return kept, nil
}
