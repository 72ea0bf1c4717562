package api

import (
	"context"
	"net/http"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// An API is what all routes share that run a model: the runs in flight, what is kept of
// them, and their figures.
type API struct {
	*wire.Exchange
	To       Services
	readers  map[string]ReadBody // of the bodies of a run that can be resumed, by its route
	inFlight runTable
	metrics  *metrics
}

// Services are what an API asks for answers.
type Services struct {
	Pool   Pool
	Runs   Runs
	Texts  Texts
	Models Models
	Status Status
}

// Runs keep the history. An API logs their errors, which never fail a request.
type Runs interface {
	// BeginRun inserts a run at its arrival and returns its id, above 0.
	BeginRun(ctx context.Context, r control.Run) (int64, error)
	// FinishRun completes the row with that ID. It is called for every run except those
	// that DropRun is called for.
	FinishRun(ctx context.Context, r control.Run) error
	// DropRun removes the row of a run in flight.
	DropRun(ctx context.Context, id int64) error
	// Run returns one run, finished or not, or CodeRunNotFound.
	Run(ctx context.Context, id int64) (control.Run, error)
	// KeepVerdict stores how a run's answer compared with its replay. It replaces an earlier
	// verdict.
	KeepVerdict(ctx context.Context, v control.Replayed) error
}

// Models are the registered ones.
type Models interface {
	// Models lists them. The alias is not among them.
	Models(ctx context.Context) ([]control.Model, error)
}

// Status reports the state of the program.
type Status interface {
	// State reports everything except Active, which the server knows.
	State() control.State
}

// New returns an API that asks these services. readers say how the bodies of a route are
// read again when a run is resumed.
func New(x *wire.Exchange, to Services, readers map[string]ReadBody) *API {
	a := &API{Exchange: x, To: to, readers: readers}
	a.inFlight.runs = map[int64]*Run{}
	a.metrics = newMetrics(to.Status.State, func() int {
		a.inFlight.mu.Lock()
		defer a.inFlight.mu.Unlock()
		return len(a.inFlight.runs)
	})
	return a
}

// Scrape answers GET /metrics.
func (a *API) Scrape(w http.ResponseWriter, r *http.Request) error {
	return wire.Patiently(w, func() error {
		a.metrics.handler().ServeHTTP(w, r)
		return nil
	})
}

// A Pool lends models by name.
type Pool interface {
	// Acquire returns the model with that id in memory. It loads the model first where
	// needed: beside others, or in place of idle ones. control.Alias means the choice, and
	// waits while others are in its way. A model that is not registered is
	// CodeModelNotFound. One that finds no place is CodeNotLoaded or CodeModelBusy. The
	// caller calls Release once.
	Acquire(ctx context.Context, name string) (model.Model, error)

	// Abilities says what the model with that id can do. It reads the model's files alone,
	// and loads nothing. A model that is not registered is CodeModelNotFound; files that
	// are no model any more are CodeModelInvalid.
	Abilities(ctx context.Context, id string) (model.Abilities, error)
}

// Texts keep what it takes to complete an answer, or to compute it again.
type Texts interface {
	// SetRunText keeps the text of a run in place of an earlier one. It keeps nothing where
	// there is neither a request nor a tail, where the settings say so, and for a run that
	// was forgotten in flight.
	SetRunText(ctx context.Context, t control.RunText) error
	// RunText returns it, or CodeNotKept.
	RunText(ctx context.Context, run int64) (control.RunText, error)
	// RunCheckpoint returns the longest text that a run left on disk, or CodeNotKept.
	RunCheckpoint(ctx context.Context, run int64) ([]int32, error)
	// CheckpointText returns a checkpoint by its id or name, without its Text, and its
	// tokens from the beginning of the text. Without one: CodeNoCheckpoint.
	CheckpointText(ctx context.Context, name string) (control.Checkpoint, []int32, error)
}
