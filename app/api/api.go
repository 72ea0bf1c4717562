package api

import (
	"context"
	"net/http"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// An API has what all routes that run a model share: the runs in flight, their kept texts and their
// figures.
type API struct {
	*wire.Exchange
	To       Services
	readers  sync.Map // of ReadBody by route, whose runs can be resumed
	inFlight runTable
	metrics  *metrics
	schemas  *schemaMemory
}

// Services are what an API calls to produce answers.
type Services struct {
	Pool     Pool
	Runs     Runs
	Texts    Texts
	Thoughts Thoughts
	Models   Models
	Status   Status
}

// Runs keep the history. An API logs their errors. They never fail a request.
type Runs interface {
	// BeginRun inserts a run at its arrival and returns its id, above 0.
	BeginRun(ctx context.Context, r control.Run) (int64, error)
	// FinishRun completes the row with that ID. Every run ends with one call: of FinishRun or of
	// DropRun.
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
	// IDOf returns the id of the model that another program has under a name, else the name.
	IDOf(ctx context.Context, name string) (string, error)
}

// Status reports the state of the program.
type Status interface {
	// State reports everything except Active, which the server knows.
	State() control.State
}

// New returns an API that asks these services.
func New(x *wire.Exchange, to Services) *API {
	a := &API{Exchange: x, To: to, schemas: newSchemaMemory()}
	a.inFlight.runs = map[int64]*Run{}
	a.metrics = newMetrics(to.Status.State, func() int {
		a.inFlight.mu.Lock()
		defer a.inFlight.mu.Unlock()
		return len(a.inFlight.runs)
	})
	return a
}

// thoughtsOf returns the memory of a client, or nil if its thoughts are not kept. A nil owner is an
// unknown client.
func (a *API) thoughtsOf(owner *int64) *thoughtMemory {
	if owner == nil || a.To.Thoughts == nil || !a.To.Thoughts.KeepsThoughts() {
		return nil
	}
	return &thoughtMemory{Thoughts: a.To.Thoughts, owner: *owner, log: a.Log}
}

// Scrape answers GET /metrics.
func (a *API) Scrape(w http.ResponseWriter, r *http.Request) error {
	return wire.Patiently(w, func() error {
		a.metrics.scrape.ServeHTTP(w, r)
		return nil
	})
}

// A Pool lends models by name.
type Pool interface {
	// Acquire returns the model with that id in memory. It loads the model first where needed:
	// beside others, or in place of idle ones. control.Alias means the chosen model, and waits
	// while others are in its way. A model that is not registered is CodeModelNotFound. One that
	// finds no place is CodeNotLoaded or CodeModelBusy. The caller calls Release once.
	Acquire(ctx context.Context, name string) (model.Model, error)

	// Abilities says what the model with that id can do. It only reads the model's files and loads
	// nothing. A model that is not registered is CodeModelNotFound. Files that are no longer a
	// model are CodeModelInvalid.
	Abilities(ctx context.Context, id string) (model.Abilities, error)
}

// Texts keep what is needed to complete an answer, or to compute it again.
type Texts interface {
	// SetRunText keeps the text of a run in place of an earlier one. It keeps nothing in three
	// cases: there is neither a request nor a tail, the settings say so, or the run was forgotten
	// in flight.
	SetRunText(ctx context.Context, t control.RunText) error
	// RunText returns the text of a run, or CodeNotKept.
	RunText(ctx context.Context, run int64) (control.RunText, error)
	// RunCheckpoint returns the longest text that a run left on disk, or CodeNotKept.
	RunCheckpoint(ctx context.Context, run int64) ([]int32, error)
	// CheckpointText returns a checkpoint by its id or name, without its Text, and its tokens from
	// the beginning of the text. It returns CodeNoCheckpoint if there is none.
	CheckpointText(ctx context.Context, name string) (control.Checkpoint, []int32, error)
}
