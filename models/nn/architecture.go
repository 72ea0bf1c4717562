package nn

import (
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// An Architecture is the config.json of one model, parsed and checked by the package of its family.
// It knows what the model needs before any tensor is read.
type Architecture interface {
	// Layers returns how many layers the model has.
	Layers() int

	// ContextLength returns the positions that the model was made for.
	ContextLength() int

	// CacheSpec returns what a layer keeps of a text in its cache.
	CacheSpec(layer int) CacheSpec

	// Sanitize returns what the model calls a tensor of the checkpoint. keep is false for a tensor
	// that the model does not use.
	Sanitize(name string) (to string, keep bool)

	// New reads the model from its sanitized weights, which it then owns. Errors about the
	// checkpoint come from w.Err.
	New(w *Weights) Model
}

// Arithmetic is the version of what the models compute. Increase it with any change that gives a
// model other keys, values or states for the same text.
const Arithmetic = 7

// A Model is what an [Architecture] builds.
type Model interface {
	lm.Model
	lm.Embedder
	lm.Restorable
}

// A Lender is what a drafter borrows from the model that it drafts for.
type Lender interface {
	lm.Embedder
	Config() lm.Config
	Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array
}
