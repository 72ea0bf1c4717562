package pool

import (
	"context"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/home"
	"tandem/app/model"
	"tandem/app/settings"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/engine/native"
	"tandem/models"
	"tandem/storage"
)

// Options of a Pool.
type Options struct {
	ContextLength int   // positions; zero = the model's, or as many as there is memory for
	Memory        int64 // of the machine, in bytes; 0 asks the system

	// Speculation is the drafter of requests that name none: auto or none; empty = auto.
	Speculation string

	// NoCheckpoints evaluates every prompt whole. Otherwise the state that a request computed is
	// kept, in memory and in the home folder, for requests that begin alike.
	NoCheckpoints bool

	KVLayout string // control.KVRing or control.KVFull; empty = ring

	// Restore returns how text models are served with the drafter in a folder, or ""; nil = as they are.
	Restore func(id, path, drafter string) (*Restoration, error)

	// Trial leaves the last choice alone: the first choice of this Pool is not the next start's.
	Trial bool

	Generate Generator // nil = the method of engines
}

// A Generator is the method Generate of a model's engine e, for a program that tests clients. eos are the
// tokens that end a text.
type Generator func(ctx context.Context, m model.Model, eos []int32, e *engine.Engine,
	r engine.Request) iter.Seq2[engine.Token, error]

// A Pool holds the models in memory. It is safe for use by several goroutines.
type Pool struct {
	Texts *drafters.ClientTexts // what clients said, for the drafter memory

	sizer
	log            *slog.Logger
	home           *home.Home
	life           context.Context    // ends when the process drains; a load ends with it, not with its request
	engines        engine.ThreadShare // of all models in memory
	files          checkpoint.Folder  // the files of checkpoints, of all models
	patience       time.Duration      // how long a load waits for sequences, see owner.waitForMemory
	minCheckpoints int64              // bytes that checkpoints keep in a shortage of memory
	lane           *native.Lane       // of templates and grammars that take long, of all models
	uses           atomic.Int64       // of all models so far
	draining       atomic.Bool        // requests and changes are refused

	changes   chan change   // for the owner
	rebalance chan struct{} // capacity 1: the shares of memory are to be divided again
	ended     chan struct{} // closed when the owner has ended

	published atomic.Pointer[view]             // by the owner
	pressure  atomic.Pointer[control.Pressure] // what was done about a shortage of memory; nil without one

	abilities models.Memo[model.Abilities] // of models, by id
}

// New returns a pool without a model. life ends every load. The caller calls Close.
func New(life context.Context, thread *mlx.Thread, db *storage.DB, dir *home.Home,
	set *settings.Store, log *slog.Logger, opts Options) *Pool {
	p := &Pool{log: log, home: dir, life: life,
		sizer:    sizer{opts: opts, thread: thread, db: db, settings: set, perModel: settings.NewModels(db)},
		patience: memoryPatience, minCheckpoints: control.MinBudget, lane: native.NewLane(),
		Texts:   drafters.NewClientTexts(dir, db, log),
		changes: make(chan change), rebalance: make(chan struct{}, 1), ended: make(chan struct{})}
	p.drafters = drafters.New(db, set, &p.opened, log)
	o := &owner{sizer: &p.sizer, pool: p, view: view{done: make(chan struct{})}}
	o.publish()
	go o.run()
	return p
}

// Start makes a model the current one before anything else happens. Nothing is loaded.
func (p *Pool) Start(id string) {
	_ = p.change(context.Background(), func(o *owner) error { // fails only during a drain
		o.current = id
		return nil
	})
}

// Drain refuses requests and changes from now on.
func (p *Pool) Drain() { p.draining.Store(true) }

// Close waits for changes in progress and frees the models. No model is loaded any more.
func (p *Pool) Close() error {
	p.draining.Store(true)
	err := p.changeAlways(context.Background(), func(o *owner) error {
		list := o.models
		for _, m := range list {
			m.users.close(true) // a request may have found it before
		}
		o.setModels(nil)
		o.closed = true
		return closeAll(list)
	})
	<-p.ended
	p.Texts.Flush()
	return err
}
