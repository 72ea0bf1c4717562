package pool

import (
	"tandem/models"
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
	checkpoints, keepers := p.checkpointBudget(next)
	for i, room := range p.textShares(p.resident, next) {
		m := p.resident[i]
		m.engine.SetRoom(room)
		if m.keepsCheckpoints() {
			m.engine.SetCheckpoints(checkpoints / int64(len(keepers)))
		}
	}
}

// checkpointBudget returns how much memory checkpoints may take now, in bytes, beside a model that is
// coming, and the models that share it. The caller holds p.mu.
func (p *Pool) checkpointBudget(coming demand) (bytes int64, keepers []*Model) {
	left := p.besideTexts() - coming.bytes()
	for _, m := range p.resident {
		left -= m.needs.bytes()
		if m.keepsCheckpoints() {
			keepers = append(keepers, m)
		}
	}
	bytes = min(p.CheckpointBytes(), max(0, left))
	if p.checkpointLimit > 0 {
		bytes = min(bytes, p.checkpointLimit)
	}
	return bytes, keepers
}

// keepsCheckpoints reports whether requests leave checkpoints of this model.
func (m *Model) keepsCheckpoints() bool {
	return m.bundle.Purpose.Kind != models.KindEmbedding && !m.pool.opts.NoCheckpoints
}
