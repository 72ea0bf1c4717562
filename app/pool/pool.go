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

	// Speculation is the drafter of requests that do not name one: auto or none; empty = auto.
	Speculation string

	// NoCheckpoints evaluates every prompt whole. Otherwise what requests computed is kept for
	// those that begin alike, in memory and in the home folder.
	NoCheckpoints bool

	// Script says what is answered, in a program that tests clients.
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
	files    checkpoint.Folder // of checkpoints, likewise
	patience time.Duration     // of a load with texts that are in its way, see lull

	mu         sync.Mutex
	choice     string   // model id
	drafter    string   // that counts for the model drafterFor while this process runs
	drafterFor string   // model id; empty = none any more
	resident   []*Model // the models in memory
	loading    *loading // the model being loaded; nil if none
	changing   *change  // nil if no change of what is in memory is in progress
	draining   bool
	failure    string // why the choice could not be loaded

	tokenizer lastTokenizer
	abilities knownAbilities
}

// New returns a pool without a model. life ends every load.
func New(life context.Context, thread *mlx.Thread, db *storage.DB, dir *home.Home, set *settings.Store, log *slog.Logger, o Options) *Pool {
	return &Pool{opts: o, log: log, home: dir, db: db, thread: thread, settings: set, life: life, patience: memoryPatience}
}

// State fills in what the pool knows: the models in memory, the one that is being loaded, the choice,
// and the phase as far as it is the pool's.
func (p *Pool) State(st *control.State) {
	room := p.Room() // before p.mu, which nothing may hold for long
	p.mu.Lock()
	defer p.mu.Unlock()
	mem, foremost := p.thread.Memory(), p.current()
	st.ActiveBytes, st.PeakBytes, st.Choice, st.Error = mem.Active, mem.Most, p.choice, p.failure
	st.InMemory = []control.Loaded{}
	for _, m := range p.resident {
		shown := *m.Describe()
		shown.InUse = m.users > 0
		st.InMemory = append(st.InMemory, shown)
		if m == foremost {
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
	case p.loading != nil && (foremost == nil || p.changing != nil && p.changing.choice || p.loading.id == p.choice):
		st.Phase = control.PhaseLoading // who asks for the choice waits
	case foremost != nil:
		st.Phase = control.PhaseReady
	case p.failure != "":
		st.Phase = control.PhaseFailed
	default:
		st.Phase = control.PhaseNoModel
	}
}
