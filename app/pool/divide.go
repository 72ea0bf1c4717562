package pool

import (
	"context"
	"time"

	"tandem/app/control"
	"tandem/models"
)

// memoryPoll is how often it is looked whether texts have left room for another model, and
// lullMost for how long, unless it is the choice: other changes wait behind it.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
)

// rooms returns how much the texts of each of the models may take of the memory: a whole
// context of its own, and an equal part of what is left beside all of them, and beside
// one that is coming.
func (p *Pool) rooms(list []*Model, coming demand) []int64 {
	spare, parts := p.Room()-coming.bytes(), int64(len(list))
	if coming != (demand{}) {
		parts++
	}
	for _, m := range list {
		spare -= m.needs.bytes()
	}
	rooms := make([]int64, len(list))
	for i, m := range list {
		rooms[i] = m.needs.text + max(0, spare)/parts
	}
	return rooms
}

// divideMemory gives each model in memory its part of what all share: the room for texts, and
// the memory of checkpoints, of which embedding models have none: what is set, as far as
// the models leave it, for what is set may have grown since they were weighed. The caller
// holds a.mu.
func (p *Pool) divideMemory() {
	var next demand
	if p.loading != nil {
		next = p.loading.needs
	}
	keepers, left := int64(0), roomFor(p.MachineMemory())-next.bytes()
	for _, m := range p.resident {
		left -= m.needs.bytes()
		if m.remembers() {
			keepers++
		}
	}
	checkpoints := min(p.CheckpointBytes(), max(0, left))
	for i, room := range p.rooms(p.resident, next) {
		m := p.resident[i]
		m.Engine.SetRoom(room)
		if m.remembers() {
			m.Engine.SetCheckpoints(checkpoints / keepers)
		}
	}
}

// remembers reports whether requests leave checkpoints of this model.
func (m *Model) remembers() bool {
	return m.bundle.Purpose.Kind != models.KindEmbedding && !m.pool.opts.NoCheckpoints
}

// waitForMemory waits until the texts in flight take no more than they may beside a model that is
// coming: those that were let in before have to end. It waits as long as they take only
// for one that wins. Error: CodeModelBusy. The caller holds a.mu, now and afterwards.
func (p *Pool) waitForMemory(ctx context.Context, id string, wins bool) error {
	over := func() *Model {
		for i, room := range p.rooms(p.resident, p.loading.needs) {
			if p.resident[i].Engine.Reserved() > room {
				return p.resident[i]
			}
		}
		return nil
	}
	begun := time.Now()
	for m := over(); m != nil; m = over() {
		if !wins && time.Since(begun) > p.patience {
			return control.Errorf(control.CodeModelBusy,
				"The memory that %s needs is taken by requests that %s is answering; try again when they have ended, or ask for shorter answers (max_tokens).", control.Word(id), control.Word(m.row.ID))
		}
		if err := unlocked(ctx, p, time.After(memoryPoll)); err != nil {
			return err
		}
	}
	return nil
}
