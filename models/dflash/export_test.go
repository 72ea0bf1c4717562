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

// Guesses returns logits and tokens of what Forward returned.
func (m *Model) Guesses(s *mlx.Scope, hidden *mlx.Array, last int32,
	keep ...*mlx.Array) ([]float32, []int32, error) {
	return m.guesses(s, hidden, last, keep...)
}
