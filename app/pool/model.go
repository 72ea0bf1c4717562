package pool

import (
	"context"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/drafters"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/models"
	"tandem/storage"
)

// A Model is a model in memory. It implements model.Model.
type Model struct {
	pool       *Pool
	row        storage.Model
	weights    string // models.WeightsKey at the load
	bundle     *models.Bundle
	engine     *engine.Engine
	store      *checkpoint.Store // of the engine; nil if there is none
	context    int               // tokens of the engine; 0 = the model's
	form                         // of the model and of its drafter
	key        string            // of the files of its checkpoints
	took       time.Duration
	longest    int        // bytes of the longest token
	vocabulary Vocabulary // for grammars
	dialect    *dialect.Dialect
	chats      chats
	special    []int32 // tokens whose text the dialect's parser needs
	always     []byte  // see alwaysVars

	tokenizerKey func() string // of its memories of texts; it takes some milliseconds once

	needs   demand    // of memory; zero if it is not known
	users   int       // requests that hold it; guarded by Pool.mu
	uses    int       // requests that ever held it; guarded by Pool.mu
	used    time.Time // when a request last acquired or released it; guarded by Pool.mu
	leaving bool      // it is being evicted, and no new request gets it; guarded by Pool.mu

	own      control.ModelSettings // guarded by Pool.mu
	settings control.Settings      // at the start of the engine

	// closed when no request holds it any more; nil if no change waits for that; guarded by Pool.mu
	released chan struct{}

	bounded      *bounded          // nil if no layer is bounded
	drafter      *drafters.Drafter // nil if there is none
	noDrafter    string            // why there is none, if there should be
	borrowers    sync.WaitGroup    // measurements, see Lend
	borrowed     context.Context   // of the measurements; ended by endBorrowing
	endBorrowing context.CancelFunc
}
