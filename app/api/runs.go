package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A Run is one request to a generating route, from its arrival to its row in the history.
type Run struct {
	api    *API
	Ctx    context.Context
	cancel context.CancelCauseFunc
	Start  time.Time
	Key    int64         // in the table of runs: Row.ID, or below 0 if there is no row
	name   string        // that its client gave it, see RunNameHeader; may be empty
	client string        // see wire.ClientOf
	owner  *int64        // id of the key whose texts are remembered, 0 without a key; nil = unknown
	Ended  chan struct{} // closed when its row is complete

	// returns says that the client may come back to resume the run, see ResumableHeader.
	returns bool

	// Row belongs to the handler's goroutine or its stream's. Others may read ID, StartedAt, Client
	// and Endpoint.
	Row   control.Run
	reply *Reply           // nil until the request is understood
	text  *control.RunText // nil if it is not kept
	began bool             // a status line was written

	// passing marks a run whose refusal a person sees at once. It leaves no row unless some work
	// was done.
	passing bool

	// These are for GET /app/state and the histograms.
	model            atomic.Pointer[string]
	promptDone       atomic.Int64
	promptRestored   atomic.Int64 // of promptDone
	promptTokens     atomic.Int64
	reads            atomic.Bool  // the reading of the prompt has begun; set after what was restored
	restoringSince   atomic.Int64 // nanoseconds since Start; 0 in the queue
	readingSince     atomic.Int64 // likewise, before the reading begins
	writingSince     atomic.Int64 // likewise, before the first token
	completionTokens atomic.Int64
	lastToken        atomic.Int64 // nanoseconds since Start; 0 before the first
	pace             pace
	verifies         atomic.Int64
	drafted          atomic.Int64
	accepted         atomic.Int64
}

// runTable holds the runs in flight.
type runTable struct {
	mu      sync.Mutex
	runs    map[int64]*Run
	unnamed int64 // the last number of a run without a row in the database; they count down from 0
	closed  bool
}

// RunNameHeader has the name that a client gives its request, by which the client can cancel it before
// an answer brings its id: during a load, in the queue, in prefill.
const RunNameHeader = "X-Tandem-Request"

// ResumableHeader says that the client may leave by accident, as a reloaded page does. Its run still
// ends then, and can be resumed.
const ResumableHeader = "X-Tandem-Resumable"

// RunHeader has the id of the run. Every answer has it.
const RunHeader = "X-Tandem-Run"

// runNames begin with a letter, so no name is an id.
var runNames = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// runName returns the name of a request, empty if its client gave it none.
func runName(r *http.Request) (string, error) {
	name := r.Header.Get(RunNameHeader)
	if name != "" && !runNames.MatchString(name) {
		return "", control.Errorf(control.CodeInvalid,
			"%s takes a letter and then at most 63 letters, digits, dashes and underscores.",
			RunNameHeader)
	}
	return name, nil
}

// begin opens the row of a request that has just arrived. from is the run that it continues, or
// nil.
func (a *API) begin(r *http.Request, endpoint, name string, from *resumption) *Run {
	u := &Run{
		api: a, Start: time.Now(), name: name, client: wire.ClientOf(r), Ended: make(chan struct{}),
		returns: r.Header.Get(ResumableHeader) == "true",
	}
	u.Ctx, u.cancel = context.WithCancelCause(r.Context())
	u.Row = control.Run{StartedAt: u.Start.UTC(), Client: wire.ClientName(r), Endpoint: endpoint}
	u.owner = new(wire.CallerID(r.Context()))
	if from != nil { // if that run is forgotten, this one is too
		u.Row.Client, u.Row.Resumes, u.owner = from.client, from.run, from.how.Owner
	}
	u.model.Store(new(string))
	id, err := a.To.Runs.BeginRun(context.WithoutCancel(r.Context()), u.Row)
	if err != nil {
		a.Log.Error("cannot add a run to the history", "err", err)
	}
	u.Row.ID = id

	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	if u.Key = id; err != nil {
		a.inFlight.unnamed--
		u.Key = a.inFlight.unnamed
	}
	a.inFlight.runs[u.Key] = u
	if a.inFlight.closed {
		u.cancel(wire.ErrStopping)
	}
	return u
}

// ignoresCase reports whether the run's route ignores the case of models' names, as Ollama's do.
func (u *Run) ignoresCase() bool { return strings.HasPrefix(u.Row.Endpoint, "/api/") }

// withAuthor returns the run's context with its author, if one is known.
func (u *Run) withAuthor() context.Context {
	if u.owner == nil {
		return u.Ctx
	}
	return model.WithAuthor(u.Ctx, model.Author{Key: *u.owner, Client: u.Row.Client,
		Run: max(0, u.Key), Arrived: u.Start})
}

func (u *Run) setModel(id string) {
	id = wire.Printable(id)
	u.Row.Model = id
	u.model.Store(&id)
}

// loaded notes that the model is in memory, or failed to load.
func (u *Run) loaded() { u.Row.LoadMS = ms(time.Since(u.Start)) }

// token notes a generated token.
func (u *Run) token(t engine.Token) {
	u.completionTokens.Add(1)
	if t.Drafted > 0 {
		u.verifies.Add(1)
		u.drafted.Add(int64(t.Drafted))
	}
	if t.Draft {
		u.accepted.Add(1)
	}
	now := int64(time.Since(u.Start))
	if last := u.lastToken.Swap(now); last == 0 {
		u.writingSince.Store(now)
		u.Row.FirstTokenMS = ms(time.Duration(now))
		u.api.metrics.firstToken.Observe(time.Duration(now).Seconds())
	} else {
		u.api.metrics.betweenTokens.Observe(time.Duration(now - last).Seconds())
		u.pace.add(time.Duration(now - last))
	}
}

// leaveQueue notes that the engine begins to restore the prompt, or the first of several.
func (u *Run) leaveQueue() { u.restoringSince.CompareAndSwap(0, int64(time.Since(u.Start))) }

// read notes that more tokens of the prompt were read or restored.
func (u *Run) read(tokens int64) {
	u.readingSince.CompareAndSwap(0, int64(time.Since(u.Start)))
	u.promptDone.Add(tokens)
}

// since returns a moment of the run, the zero time for 0.
func (u *Run) since(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return u.Row.StartedAt.Add(time.Duration(nanoseconds))
}

// finish completes the row. err is the error that ended the request, or nil.
func (u *Run) finish(err error) {
	u.cancel(nil)
	a := u.api
	// This comes last, so a run that is no longer in flight is in the history.
	defer func() {
		a.inFlight.mu.Lock()
		defer a.inFlight.mu.Unlock()
		delete(a.inFlight.runs, u.Key)
		close(u.Ended)
	}()

	row := &u.Row
	if u.reply != nil {
		t := u.reply.Total()
		t.keep(row)
		row.Speculation = u.reply.speculation()
		if p := u.reply.Choices[0].divergence; p != nil {
			row.Divergence = wire.MustJSON(p)
		}
		row.FinishReason = string(u.reply.Choices[0].Finish)
		a.metrics.tokens(t.Stats)
	}
	status := http.StatusOK
	switch cause := context.Cause(u.Ctx); {
	case cause == wire.ErrRunCancelled:
		row.FinishReason, status = control.FinishCancel, wire.StatusClientGone
	case err != nil && wire.FailureOf(err).Status == wire.StatusClientGone:
		row.FinishReason, status = control.FinishCancel, wire.StatusClientGone
		if u.returns {
			row.FinishReason = control.FinishInterrupted
		}
	case err != nil:
		row.FinishReason, row.Error, row.Message = control.FinishError, recorded(err), sentence(err)
		u.nameChosen()
		if cause == error(wire.ErrStopping) && u.text != nil { // it can be resumed
			row.FinishReason = control.FinishInterrupted
		}
		status = wire.FailureOf(err).Status
		if status == http.StatusInternalServerError && u.began {
			a.Log.Error("request failed", "run", row.ID, "err", err)
		}
	}
	row.EndedAt = time.Now().UTC()
	row.TotalMS = ms(time.Since(u.Start))
	a.metrics.request(row.Endpoint, status, time.Since(u.Start))
	if dropped := u.dropped(err); dropped && u.Key > 0 {
		if err := a.To.Runs.DropRun(context.WithoutCancel(u.Ctx), row.ID); err != nil {
			a.Log.Error("cannot drop a refused run from the history", "run", row.ID, "err", err)
		}
	} else if a.endText(u); u.Key > 0 {
		if err := a.To.Runs.FinishRun(context.WithoutCancel(u.Ctx), *row); err != nil {
			a.Log.Error("cannot record the end of a run", "run", row.ID, "err", err)
		}
	}
	a.Log.Info("request", "run", row.ID, "endpoint", row.Endpoint, "model", row.Model,
		"status", status, "prompt", row.PromptTokens, "completion", row.CompletionTokens,
		"ms", row.TotalMS, "finish", row.FinishReason, "err", row.Error)
}

// nameChosen names the chosen model in the row of a request that failed before it had a model, and that
// asked for the chosen one.
func (u *Run) nameChosen() {
	name := u.Row.Model
	if u.ignoresCase() {
		name = strings.ToLower(name)
	}
	if strings.TrimSuffix(name, latest) == control.Alias {
		u.Row.Model = cmp.Or(u.api.To.Status.State().Choice, u.Row.Model)
	}
}

// dropped reports whether a run leaves no row, see passing. A run that a person stopped was not
// refused, so it leaves a row. A defect leaves one too.
func (u *Run) dropped(err error) bool {
	if !u.passing || err == nil || u.began || u.promptDone.Load() > 0 ||
		u.completionTokens.Load() > 0 {
		return false
	}
	status := wire.FailureOf(err).Status
	return status != wire.StatusClientGone && status != http.StatusInternalServerError &&
		context.Cause(u.Ctx) != wire.ErrRunCancelled
}

// speculation returns a reply's rounds as the history keeps them.
func (r *Reply) speculation() json.RawMessage {
	var choices []control.Rounds
	all := r.Choices[0].Stats
	for i, c := range r.Choices {
		choices = append(choices, control.Rounds{Drafted: c.Stats.Depths,
			Accepted: c.Stats.Accepts, Drafters: c.Stats.Arms})
		if i > 0 {
			all.Add(c.Stats)
		}
	}
	how := control.NewSpeculation(choices)
	how.Drafters = drafterRounds(all.Drafters)
	if b := r.Choices[0].Stats.Blocks; b.Count > 0 {
		how.BlockMS = &control.BlockMS{First8: ms(b.First8()), Mean: ms(b.Mean()), Max: ms(b.Max)}
	}
	s := r.Params.speculation
	asked := control.Asked{
		Drafter: s.Drafter, Depth: s.Depth, Rollback: string(s.Rollback), Rule: string(s.Rule),
		Exact: s.Exact,
	}
	if asked != (control.Asked{}) {
		how.Asked = &asked
	}
	return wire.MustJSON(how)
}

// drafterRounds returns what the drafters did, as the history keeps it: nil if none was asked.
func drafterRounds(drafters []engine.DrafterStats) (list []control.DrafterRounds) {
	for _, d := range drafters {
		list = append(list, control.DrafterRounds{
			Name: d.Name, Rounds: d.Rounds, Drafted: d.Drafted, Accepted: d.Accepted,
			Trials: d.Trials, Idle: d.Idle, Slower: d.Slower, Preceded: d.Preceded,
			Failed: d.Failed,
		})
	}
	if !slices.ContainsFunc(list, control.DrafterRounds.Asked) {
		return nil
	}
	return list
}

// recorded returns an error as the history keeps it for programs: its code and the field at fault.
func recorded(err error) string {
	f := wire.FailureOf(err)
	if f.Body.Param == nil {
		return f.Body.Code
	}
	return f.Body.Code + ": " + *f.Body.Param
}

// mostSentence limits the text of an error in the history, in bytes.
const mostSentence = 500

// sentence returns an error as the history keeps it for people: the text that the client got,
// without what the client wrote itself.
func sentence(err error) string {
	text := ""
	if e, ok := errors.AsType[*control.Error](err); ok {
		text = e.Record
	} else if e, ok := errors.AsType[*engine.Error](err); ok {
		text = e.Message // it has numbers and names of drafters
	} else if wire.FailureOf(err).Status == http.StatusInternalServerError {
		text = wire.ErrPanic.Record
	}
	return control.Shorten(wire.Printable(text), mostSentence)
}

// InFlight returns the runs in flight, in no particular order.
func (a *API) InFlight() []*Run {
	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	return slices.Collect(maps.Values(a.inFlight.runs))
}

// Active lists the runs in flight, oldest first.
func (a *API) Active() []control.Active {
	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	list := []control.Active{}
	for _, u := range a.inFlight.runs {
		begun := u.reads.Load() // first, for all that was restored counts from the beginning on
		list = append(list, control.Active{
			RunID: u.Key, Endpoint: u.Row.Endpoint, Model: *u.model.Load(), Client: u.Row.Client,
			StartedAt: u.Row.StartedAt, Begun: begun,
			PromptRestored: int(u.promptRestored.Load()), // first, for it counts in PromptDone too
			PromptDone:     int(u.promptDone.Load()), PromptTokens: int(u.promptTokens.Load()),
			CompletionTokens: int(u.completionTokens.Load()),
			RestoringSince:   u.since(u.restoringSince.Load()),
			ReadingSince:     u.since(u.readingSince.Load()),
			WritingSince:     u.since(u.writingSince.Load()),
			PerSecond:        u.pace.perSecond(), Verifies: int(u.verifies.Load()),
			Drafted: int(u.drafted.Load()), Accepted: int(u.accepted.Load()),
		})
	}
	slices.SortFunc(list, func(a, b control.Active) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return list
}

// CancelRun ends a run in flight by its id, or all runs of a name. It returns false if there is
// none.
func (a *API) CancelRun(name string) bool { return len(a.EndRuns(name, wire.ErrRunCancelled)) > 0 }

// EndRuns ends a run in flight by its id, or all runs of a name, and returns them. cause is
// ErrRunCancelled, or ErrClientGone if no client reads the run any more.
func (a *API) EndRuns(name string, cause error) (list []*Run) {
	id, err := strconv.ParseInt(name, 10, 64)
	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	for key, u := range a.inFlight.runs {
		if err == nil && key == id || err != nil && name != "" && u.name == name {
			u.cancel(cause)
			list = append(list, u)
		}
	}
	return list
}

// Close cancels the requests in flight and all later ones. The owner of the listeners calls it when
// a drain has taken too long.
func (a *API) Close() {
	a.inFlight.mu.Lock()
	defer a.inFlight.mu.Unlock()
	a.inFlight.closed = true
	for _, u := range a.inFlight.runs {
		u.cancel(wire.ErrStopping)
	}
}
