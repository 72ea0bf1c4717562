package pool

import (
	"fmt"
	"slices"

	"tandem/app/control"
)

// restore loads models again, with the contexts and in the forms that they had, after the load for
// which they left has failed. Their memory was kept, see evict.
func (p *Pool) restore(gone []*Model) (came []*Model) {
	for _, m := range gone {
		held := demand{context: m.context, form: m.form}
		back, err := p.load(m.row, held, p.announceLoading(m.row.ID))
		if err != nil {
			p.log.Warn("a model that was unloaded for another cannot be loaded again",
				"model", m.row.ID, "error", err)
			p.mu.Lock()
			p.noteFailure(m.row.ID, err)
			p.mu.Unlock()
			continue
		}
		back.used = m.used
		came = append(came, back)
	}
	return came
}

// announceLoading makes another model the one that is being loaded, in the memory that is kept.
func (p *Pool) announceLoading(id string) *loading {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading = &loading{id: id, needs: p.loading.needs}
	return p.loading
}

// noteFailure keeps for the state why the choice cannot be loaded, unless an earlier one of its
// name is in memory. The caller holds p.mu.
func (p *Pool) noteFailure(id string, err error) {
	if p.inMemory(id) == nil && p.choice == id {
		p.failure = err.Error()
	}
}

// switchError returns the error of a switch. It names the choice before it, if that goes on: gone
// left for the new model, and back came back.
func switchError(old *Model, gone, back []*Model, id string, err error) error {
	cameBack := func(m *Model) bool { return m.row.ID == old.row.ID }
	if old == nil || slices.Contains(gone, old) && !slices.ContainsFunc(back, cameBack) {
		return err
	}
	return &control.Error{Code: control.CodeModelInvalid, Err: err,
		Message: fmt.Sprintf("%s cannot be loaded, and %s goes on: %v", id, old.row.ID, err)}
}
