package dflash

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A RecordedTarget stands for the model that is drafted for.
type RecordedTarget = recordedTarget

// NewRecordedTarget reads one. The caller frees it.
func NewRecordedTarget(s *mlx.Scope, files *mlx.Tensors, config []byte, scale float64,
	dtype mlx.Dtype) (*RecordedTarget, error) {
	return newRecordedTarget(s, files, config, scale, dtype)
}

// NewTarget returns one without arrays.
func NewTarget(config lm.Config, scale float64) *RecordedTarget {
	return &recordedTarget{config: config, scale: scale}
}

// Free releases the arrays.
func (r *recordedTarget) Free() { r.free() }

// IsCausal reports whether the rows of a block see only the rows up to their own in a layer.
func (m *Model) IsCausal(layer int) bool { return m.causal(layer) }

// A RecordedBlock is what a reference guessed, and a RecordedWay how a request comes to its context.
type (
	RecordedBlock = recordedBlock
	RecordedWay   = recordedWay
)

// ReadBlocks reads the blocks of a case for a target.
func ReadBlocks(s *mlx.Scope, file *mlx.Tensors, on *RecordedTarget) ([]RecordedBlock, error) {
	return readBlocks(s, file, on.config.VocabSize, on.taps.Dim(0))
}

// Draft drafts blocks and compares.
func (p *Parity) Draft(s *mlx.Scope, m *Model, on *RecordedTarget, known []int32, from int,
	blocks []RecordedBlock, w RecordedWay) error {
	return p.draft(s, m, on, known, from, blocks, w)
}

// Compare adds a block.
func (p *Parity) Compare(logits []float32, drafts []int32, want RecordedBlock) error {
	return p.compare(logits, drafts, want)
}

// Guesses returns logits and tokens of what Forward returned.
func (m *Model) Guesses(s *mlx.Scope, hidden *mlx.Array, last int32,
	keep ...*mlx.Array) ([]float32, []int32, error) {
	return m.guesses(s, hidden, last, keep...)
}
