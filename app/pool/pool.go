package pool

import (
	"context"
	"log/slog"
	"sync"
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
	"tandem/engine/texts"
	"tandem/models"
	"tandem/storage"
)

// A load checks every memoryPoll whether texts have left enough memory. It gives up after
// memoryPatience, since other changes wait for it. Only the choice waits without a limit.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
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

	// KVLayout says how rows are kept, see control.KVLayouts; empty = ring. FTheta is the folder of the
	// f_theta of bounded layers; empty = the one beside the drafter or the model.
	KVLayout, FTheta string

	// Trial leaves the last choice alone: the first choice of this Pool is not the next start's.
	Trial bool

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
	drafters *drafters.Finder
	life     context.Context    // ends when the process drains; a load ends with it, not with its request
	engines  engine.ThreadShare // of all models in memory
	files    checkpoint.Folder  // the files of checkpoints, of all models
	texts    *texts.Store       // what clients said, for the drafter memory
	patience time.Duration      // how long a load waits for texts, see waitForMemory
	least    int64              // bytes that checkpoints keep in a shortage of memory
	lane     *native.Lane       // of templates and grammars that take long, of all models

	mu       sync.Mutex
	choice   string   // model id
	resident []*Model // the models in memory
	loading  *loading // the model being loaded; nil if none
	changing *change  // nil if no change of what is in memory is in progress
	draining bool
	failure  string // why the choice could not be loaded

	pressure        *control.Pressure // what was done about the shortage of memory; nil if there is none
	checkpointLimit int64             // bytes of memory that checkpoints may take during it; 0 = no limit

	// What was read from folders, for the next time.
	tokenizer lastTokenizer
	abilities models.Memo[model.Abilities] // of models, by id
	models    models.Memo[models.Summary]  // by folder
}

// New returns a pool without a model. life ends every load.
func New(life context.Context, thread *mlx.Thread, db *storage.DB, dir *home.Home,
	set *settings.Store, log *slog.Logger, o Options) *Pool {
	return &Pool{opts: o, log: log, home: dir, db: db, thread: thread, settings: set, life: life,
		drafters: drafters.New(db, set, log), patience: memoryPatience, least: control.LeastBudget,
		lane: native.NewLane(),
		texts: texts.NewStore(texts.Options{Dir: dir.Path(TextFolder), Idle: textsIdle, Logger: log,
			Make: home.WithoutBackup})}
}

// A change is a change in progress of what is in memory. There is one at a time. Models that it
// does not touch answer requests meanwhile.
type change struct {
	done   chan struct{} // closed when it has ended
	choice bool          // another model may be the choice at the end, so requests for the choice wait

	set map[string]control.ModelSettings // set for models meanwhile, by id; guarded by Pool.mu
}

// A loading is a model that is being loaded.
type loading struct {
	id          string
	needs       demand       // zero until it is known; guarded by Pool.mu
	done, total atomic.Int64 // bytes of weights
}
