package pool

import (
	"context"
	"slices"
)

// inMemory returns the model of an id, nil if it is not in memory. The caller holds p.mu.
func (p *Pool) inMemory(id string) *Model {
	for _, m := range p.resident {
		if m.row.ID == id {
			return m
		}
	}
	return nil
}

// current returns the choice if it is in memory, else the model that was used last; nil if none is
// in memory. The caller holds p.mu.
func (p *Pool) current() *Model {
	if m := p.inMemory(p.choice); m != nil {
		return m
	}
	var last *Model
	for _, m := range p.resident {
		if last == nil || m.used.After(last.used) {
			last = m
		}
	}
	return last
}

// usage returns how many requests hold a model now, and how many ever held one of the models in
// memory. The caller holds p.mu.
func (p *Pool) usage() (users, uses int) {
	for _, m := range p.resident {
		users += m.users
		uses += m.uses
	}
	return users, uses
}

// InMemory reports whether the model of an id is in memory.
func (p *Pool) InMemory(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inMemory(id) != nil
}

// Choice returns the id of the choice.
func (p *Pool) Choice() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.choice
}

// Users returns how many requests hold a model.
func (p *Pool) Users() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	users, _ := p.usage()
	return users
}

// WritesCheckpoints reports whether a model has checkpoints that are not on disk yet.
func (p *Pool) WritesCheckpoints() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.resident,
		func(m *Model) bool { return m.store != nil && m.store.Busy() })
}

// Drain refuses requests from now on.
func (p *Pool) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
}

// Close waits for changes in progress and frees the models. No model is loaded any more.
func (p *Pool) Close() error {
	_ = p.lockSettled(context.Background()) // a context without an end
	list := p.resident
	p.resident, p.draining = nil, true
	p.mu.Unlock()
	err := closeAll(list)
	p.texts.Settle()
	return err
}

// add adds models to the list of those in memory, during a change. The caller holds p.mu.
func (p *Pool) add(list ...*Model) {
	for _, m := range list {
		p.applySettings(m)
		p.resident = append(p.resident, m)
	}
}

// applySettings gives a model the settings that were set during the change that brings it in. The
// model read the earlier ones itself. The caller holds p.mu.
func (p *Pool) applySettings(m *Model) {
	if own, ok := p.changing.set[m.row.ID]; ok {
		m.own = own
	}
}

// remove takes models off the list of those in memory. The caller frees them. The caller holds
// p.mu.
func (p *Pool) remove(list []*Model) {
	p.resident = slices.DeleteFunc(p.resident,
		func(m *Model) bool { return slices.Contains(list, m) })
}
