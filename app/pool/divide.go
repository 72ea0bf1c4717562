package pool

import (
	"context"
	"time"

	"tandem/app/control"
	"tandem/models"
)

// A load checks every memoryPoll whether texts have left enough memory. It gives up after
// memoryPatience, since other changes wait for it. Only the choice waits without a limit.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
)

// textShares returns how much memory the texts of each model may take, in bytes: a whole context of
// its own, and an equal share of what all models leave. A model that is being loaded counts as one
// of them.
func (p *Pool) textShares(list []*Model, coming demand) []int64 {
	spare, parts := p.Room()-coming.bytes(), int64(len(list))
	if coming != (demand{}) {
		parts++
	}
	for _, m := range list {
		spare -= m.needs.bytes()
	}
	shares := make([]int64, len(list))
	for i, m := range list {
		shares[i] = m.needs.text + max(0, spare)/parts
	}
	return shares
}

// divideMemory gives each model in memory its share: the memory for texts, and that for
// checkpoints. Embedding models get none for checkpoints. The models' own needs come first, since
// the setting for checkpoints may have grown since they were loaded. The caller holds p.mu.
func (p *Pool) divideMemory() {
	var next demand
	if p.loading != nil {
		next = p.loading.needs
	}
	keepers, left := int64(0), roomFor(p.MachineMemory())-next.bytes()
	for _, m := range p.resident {
		left -= m.needs.bytes()
		if m.keepsCheckpoints() {
			keepers++
		}
	}
	checkpoints := min(p.CheckpointBytes(), max(0, left))
	for i, room := range p.textShares(p.resident, next) {
		m := p.resident[i]
		m.Engine.SetRoom(room)
		if m.keepsCheckpoints() {
			m.Engine.SetCheckpoints(checkpoints / keepers)
		}
	}
}

// keepsCheckpoints reports whether requests leave checkpoints of this model.
func (m *Model) keepsCheckpoints() bool {
	return m.bundle.Purpose.Kind != models.KindEmbedding && !m.pool.opts.NoCheckpoints
}

// waitForMemory waits until the texts in flight fit beside the model in p.loading. Texts let in
// under the division before have to end. Only for the choice it waits without a limit. Error:
// CodeModelBusy. The caller holds p.mu, now and afterwards.
func (p *Pool) waitForMemory(ctx context.Context, id string, isChoice bool) error {
	over := func() *Model {
		for i, room := range p.textShares(p.resident, p.loading.needs) {
			if p.resident[i].Engine.Reserved() > room {
				return p.resident[i]
			}
		}
		return nil
	}
	begun := time.Now()
	for m := over(); m != nil; m = over() {
		if !isChoice && time.Since(begun) > p.patience {
			return control.Errorf(control.CodeModelBusy,
				"The memory that %s needs is taken by requests that %s is answering; try again when they have ended, or ask for shorter answers (max_tokens).", control.Word(id), control.Word(m.row.ID))
		}
		if err := waitUnlocked(ctx, p, time.After(memoryPoll)); err != nil {
			return err
		}
	}
	return nil
}
