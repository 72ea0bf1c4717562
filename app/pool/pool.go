package pool

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/settings"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/storage"
)

// Options of a Pool.
type Options struct {
	ContextLength int    // positions; zero = the model's, or as many as there is memory for
	Dtype         string // auto, float32 or checkpoint; empty = auto
	Memory        int64  // of the machine, in bytes; 0 asks the system

	// Speculation is the drafter of requests that name none: auto or none; empty = auto.
	Speculation string

	// NoCheckpoints evaluates every prompt whole. Otherwise the state that a request computed is
	// kept, in memory and in the home folder, for requests that begin alike.
	NoCheckpoints bool

	// Script gives the answers, in a program that tests clients.
	Script Script
}

// A Pool holds the models in memory. It is safe for use by several goroutines.
type Pool struct {
	opts     Options
	log      *slog.Logger
	home     *home.Home
	db       *storage.DB
	thread   *mlx.Thread
	settings *settings.Store
	life     context.Context   // ends when the process drains; a load ends with it, not with its request
	engines  engine.Neighbours // of all models in memory
	files    checkpoint.Folder // the files of checkpoints, of all models
	patience time.Duration     // how long a load waits for texts, see waitForMemory

	mu         sync.Mutex
	choice     string   // model id
	drafter    string   // set by UseDrafter for the model drafterFor, while this process runs
	drafterFor string   // model id; empty = no model
	resident   []*Model // the models in memory
	loading    *loading // the model being loaded; nil if none
	changing   *change  // nil if no change of what is in memory is in progress
	draining   bool
	failure    string // why the choice could not be loaded

	tokenizer lastTokenizer
	abilities knownAbilities
}

// New returns a pool without a model. life ends every load.
func New(life context.Context, thread *mlx.Thread, db *storage.DB, dir *home.Home,
	set *settings.Store, log *slog.Logger, o Options) *Pool {
	return &Pool{opts: o, log: log, home: dir, db: db, thread: thread, settings: set, life: life, patience: memoryPatience}
}

// State fills in what the pool knows: the models in memory, the model being loaded, the choice, and
// the phase as far as the pool decides it.
func (p *Pool) State(st *control.State) {
	room := p.Room() // before p.mu, which is never held for long
	p.mu.Lock()
	defer p.mu.Unlock()
	mem, current := p.thread.Memory(), p.current()
	st.ActiveBytes, st.PeakBytes, st.Choice, st.Error = mem.Active, mem.Most, p.choice, p.failure
	st.InMemory = []control.Loaded{}
	for _, m := range p.resident {
		shown := *m.Describe()
		shown.InUse = m.users > 0
		st.InMemory = append(st.InMemory, shown)
		if m == current {
			st.Loaded = &shown
		}
		if m.store != nil {
			st.Warning = cmp.Or(st.Warning, m.store.Failure())
		}
	}
	if p.loading != nil {
		st.Loading = p.loading.describe()
	}
	if p.MachineMemory() > 0 {
		st.MemoryRoom = room
	}
	switch {
	case p.draining:
		st.Phase = control.PhaseDraining
	case p.loading != nil && (current == nil || p.changing != nil && p.changing.choice || p.loading.id == p.choice):
		st.Phase = control.PhaseLoading // requests for the choice wait
	case current != nil:
		st.Phase = control.PhaseReady
	case p.failure != "":
		st.Phase = control.PhaseFailed
	default:
		st.Phase = control.PhaseNoModel
	}
}
