package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/drafters"
	"tandem/app/eviction"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/lm"
	"tandem/models"
	"tandem/storage"
)

// A Model is a model in memory. It implements model.Model.
type Model struct {
	pool     *Pool
	row      storage.Model
	weights  string // models.WeightsKey at the load
	bundle   *models.Bundle
	engine   *engine.Engine
	store    *checkpoint.Store // of the engine; nil if there is none
	context  int               // tokens of the engine; 0 = the model's
	format                     // of the model and of its drafter
	key      string            // of the files of its checkpoints
	loadTime time.Duration
	dialect  *dialect.Dialect
	chats    chats
	special  []int32 // tokens whose text the dialect's parser needs
	texts    checkedTexts

	users    *users
	needs    eviction.Need    // of memory; zero if it is not known
	borrowed atomic.Int64     // bytes of further drafters, see BorrowDrafter
	settings control.Settings // at the start of the engine

	restoration *Restoration // nil if the model is served as it is
	served      lm.Model     // that the engine evaluates
	free        func() error // frees served, unless it is the bundle's

	drafter    *drafters.Drafter // nil if there is none
	noDrafter  string            // why there is none, if there should be
	borrowers  sync.WaitGroup    // measurements, see Lend
	lent       context.Context   // of the measurements; ended by endLending
	endLending context.CancelFunc
}

// inPlan returns the model as plans take it.
func (m *Model) inPlan() eviction.Model {
	now := m.users.now()
	return eviction.Model{
		ID: m.row.ID, Need: m.need(), Users: now.holding, LastUse: now.last,
		Used: now.used, LoadTime: m.loadTime, Kept: m.modelSettings().KeepLoaded,
		InFlight: m.engine.Reserved(), KeepsCheckpoints: m.keepsCheckpoints(),
	}
}

// need returns the memory that the model needs now.
func (m *Model) need() eviction.Need {
	n := m.needs
	n.Weights += m.borrowed.Load()
	return n
}

// keepsCheckpoints reports whether requests leave checkpoints of this model.
func (m *Model) keepsCheckpoints() bool {
	return m.bundle.Purpose.Kind != models.KindEmbedding && !m.pool.opts.NoCheckpoints
}
