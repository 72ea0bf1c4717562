package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
	"tandem/engine"
)

// A run is one request to a generating route, from its arrival to its row in
// the history.
type run struct {
	api    *API
	ctx    context.Context
	cancel context.CancelCauseFunc
	start  time.Time
	key    int64         // in the table of runs: row.ID, or below 0 if there is no row
	name   string        // its client's, see runNameHeader; may be empty
	client string        // see clientOf
	ended  chan struct{} // closed once its row is complete

	// returns is set where its client may come back and have it resumed: see resumableHeader.
	returns bool

	row   control.Run      // the handler's goroutine alone, or its stream's, but for ID, StartedAt, Client, Endpoint
	reply *reply           // nil until the request is understood
	text  *control.RunText // nil if it is not kept
	began bool             // a status line is out

	claimed int // requests that it counts for, see API.claim; guarded by runTable.mu

	// passing is one of a person who is told here and now why it is refused: unless
	// some work was done, such a one leaves no row.
	passing bool

	// For GET /app/state and the histograms.
	model            atomic.Pointer[string]
	promptDone       atomic.Int64
	promptTokens     atomic.Int64
	completionTokens atomic.Int64
	lastToken        atomic.Int64 // since start, nanoseconds; 0 before the first
	pace             pace
	verifies         atomic.Int64
	accepted         atomic.Int64
}

// runTable holds the runs in flight.
type runTable struct {
	mu      sync.Mutex
	runs    map[int64]*run
	unnamed int64 // runs the database has no row for count down from here
	closed  bool
}

// runNameHeader has the name that a client gives its request, to cancel it by
// before any of the answer is there: while the model is loaded, in the queue and
// in prefill an id could only be guessed.
const runNameHeader = "X-Tandem-Request"

// resumableHeader says that whoever asks may lose the answer without wanting that, as a
// page does that is loaded anew. A run whose client leaves ends all the same, and can be
// resumed then.
const resumableHeader = "X-Tandem-Resumable"

// runHeader has the id of the run in the answer, whatever becomes of it.
const runHeader = "X-Tandem-Run"

// runNames begin with a letter, so that none is an id.
var runNames = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// runName is the name of a request, empty if its client gave it none.
func runName(r *http.Request) (string, error) {
	name := r.Header.Get(runNameHeader)
	if name != "" && !runNames.MatchString(name) {
		return "", control.Errorf(control.CodeInvalid, "%s takes a letter and then at most 63 letters, digits, dashes and underscores.", runNameHeader)
	}
	return name, nil
}

// begin opens the row of a request that has just arrived, and goes on with from, if that is not nil.
func (a *API) begin(r *http.Request, endpoint, name string, from *resumption) *run {
	u := &run{api: a, start: time.Now(), name: name, client: clientOf(r), ended: make(chan struct{}), returns: r.Header.Get(resumableHeader) == "true"}
	u.ctx, u.cancel = context.WithCancelCause(r.Context())
	u.row = control.Run{StartedAt: u.start.UTC(), Client: clientName(r), Endpoint: endpoint}
	if from != nil { // what is forgotten with that run is in this one, too
		u.row.Client, u.row.Resumes = from.client, from.run
	}
	u.model.Store(new(string))
	id, err := a.to.Runs.BeginRun(context.WithoutCancel(r.Context()), u.row)
	if err != nil {
		a.log.Error("the history takes no row", "err", err)
	}
	u.row.ID = id

	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	if u.key = id; err != nil {
		a.runs.unnamed--
		u.key = a.runs.unnamed
	}
	a.runs.runs[u.key] = u
	if a.runs.closed {
		u.cancel(errStopping)
	}
	return u
}

func (u *run) setModel(id string) {
	id = printable(id)
	u.row.Model = id
	u.model.Store(&id)
}

// loaded notes that the model is there, or is not coming.
func (u *run) loaded() { u.row.LoadMS = ms(time.Since(u.start)) }

// token notes a generated token.
func (u *run) token(t engine.Token) {
	u.completionTokens.Add(1)
	if t.Drafted > 0 {
		u.verifies.Add(1)
	}
	if t.Draft {
		u.accepted.Add(1)
	}
	now := int64(time.Since(u.start))
	if last := u.lastToken.Swap(now); last == 0 {
		u.row.FirstTokenMS = ms(time.Duration(now))
		u.api.metrics.firstToken.Observe(time.Duration(now).Seconds())
	} else {
		u.api.metrics.betweenTokens.Observe(time.Duration(now - last).Seconds())
		u.pace.add(time.Duration(now - last))
	}
}

// finish completes the row. err is what the request ended with.
func (u *run) finish(err error) {
	u.cancel(nil)
	a := u.api
	// Last, so that what is no longer in flight is in the history.
	defer func() {
		a.runs.mu.Lock()
		defer a.runs.mu.Unlock()
		delete(a.runs.runs, u.key)
		close(u.ended)
	}()

	row := &u.row
	if u.reply != nil {
		t := u.reply.total()
		row.PromptTokens, row.CachedTokens, row.CompletionTokens = t.PromptTokens, t.CachedTokens, t.CompletionTokens
		row.Drafter, row.NoDrafter = t.Drafter, t.NoDrafter
		row.Drafted, row.Accepted, row.Rounds, row.Syncs = t.Drafted, t.Accepted, t.Rounds, t.Syncs
		row.Verifies, row.Repeats = t.verifies, t.Repeats
		row.PredictionAccepted, row.PredictionRejected = t.PredictionAccepted, t.PredictionRejected
		row.Speculation = u.reply.speculation()
		row.QueueMS, row.RestoreMS, row.PrefillMS = ms(t.Queue), ms(t.Restore), ms(t.Prefill)
		row.MissReason, row.MatchedTokens = t.Miss, t.Matched
		if p := u.reply.choices[0].parted; p != nil {
			row.Parted = mustJSON(p)
		}
		row.DraftMS, row.VerifyMS = ms(t.Draft), ms(t.Verify)
		row.PeakBytes, row.Seed = t.PeakBytes, int64(t.Seed)
		row.FinishReason = string(u.reply.choices[0].finish)
		a.metrics.tokens(t.Stats)
	}
	status := http.StatusOK
	switch cause := context.Cause(u.ctx); {
	case cause == errRunCancelled:
		row.FinishReason, status = control.FinishCancel, statusClientGone
	case err != nil && failureOf(err).status == statusClientGone:
		row.FinishReason, status = control.FinishCancel, statusClientGone
		if u.returns {
			row.FinishReason = control.FinishInterrupted
		}
	case err != nil:
		row.FinishReason, row.Error, row.Message = control.FinishError, recorded(err), sentence(err)
		if cause == error(errStopping) && u.text != nil { // it can be resumed
			row.FinishReason = control.FinishInterrupted
		}
		status = failureOf(err).status
		if status == http.StatusInternalServerError && u.began {
			a.log.Error("request failed", "run", row.ID, "err", err)
		}
	}
	row.EndedAt = time.Now().UTC()
	row.TotalMS = ms(time.Since(u.start))
	a.metrics.request(row.Endpoint, status, time.Since(u.start))
	if dropped := u.dropped(err); dropped && u.key > 0 {
		if err := a.to.Runs.DropRun(context.WithoutCancel(u.ctx), row.ID); err != nil {
			a.log.Error("the history keeps a run that was refused", "run", row.ID, "err", err)
		}
	} else if a.endText(u); u.key > 0 {
		if err := a.to.Runs.FinishRun(context.WithoutCancel(u.ctx), *row); err != nil {
			a.log.Error("the history does not take the end of a run", "run", row.ID, "err", err)
		}
	}
	a.log.Info("request", "run", row.ID, "endpoint", row.Endpoint, "model", row.Model, "status", status,
		"prompt", row.PromptTokens, "completion", row.CompletionTokens, "ms", row.TotalMS, "finish", row.FinishReason, "err", row.Error)
}

// dropped reports whether a run leaves no row: see passing. One that somebody
// stopped was no refusal, and a defect is not forgotten.
func (u *run) dropped(err error) bool {
	if !u.passing || err == nil || u.began || u.promptDone.Load() > 0 || u.completionTokens.Load() > 0 {
		return false
	}
	status := failureOf(err).status
	return status != statusClientGone && status != http.StatusInternalServerError && context.Cause(u.ctx) != errRunCancelled
}

// speculation is what the history keeps of a reply's rounds.
func (r *reply) speculation() json.RawMessage {
	var choices []control.Rounds
	for _, c := range r.choices {
		choices = append(choices, control.Rounds{Drafted: c.stats.Depths, Accepted: c.stats.Accepts})
	}
	how := control.NewSpeculation(choices)
	if b := r.choices[0].stats.Blocks; b.Count > 0 {
		how.BlockMS = &control.BlockMS{First8: ms(b.First8()), Mean: ms(b.Mean()), Max: ms(b.Max)}
	}
	s := r.params.speculation
	if asked := (control.Asked{Drafter: s.Drafter, Depth: s.Depth, Rollback: string(s.Rollback), Rule: string(s.Rule), Exact: s.Exact}); asked != (control.Asked{}) {
		how.Asked = &asked
	}
	return mustJSON(how)
}

// recorded is what the history keeps of an error for programs: its code and the
// field at fault.
func recorded(err error) string {
	f := failureOf(err)
	if f.body.Param == nil {
		return f.body.Code
	}
	return f.body.Code + ": " + *f.body.Param
}

// mostSentence is how much of an error's message the history keeps, in bytes.
const mostSentence = 500

// sentence is what the history keeps of an error for people: what the client was
// told, without what it wrote itself.
func sentence(err error) string {
	text := ""
	if e, ok := errors.AsType[*control.Error](err); ok {
		text = e.Record
	} else if e, ok := errors.AsType[*engine.Error](err); ok {
		text = e.Message // which has numbers and names of drafters
	} else if failureOf(err).status == http.StatusInternalServerError {
		text = errPanic.Record
	}
	return shorten(printable(text), mostSentence)
}

// active lists the runs in flight, oldest first.
func (a *API) active() []control.Active {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	list := []control.Active{}
	for _, u := range a.runs.runs {
		list = append(list, control.Active{
			RunID: u.key, Endpoint: u.row.Endpoint, Model: *u.model.Load(), Client: u.row.Client, StartedAt: u.row.StartedAt,
			PromptDone: int(u.promptDone.Load()), PromptTokens: int(u.promptTokens.Load()), CompletionTokens: int(u.completionTokens.Load()),
			PerSecond: u.pace.perSecond(), Verifies: int(u.verifies.Load()), Accepted: int(u.accepted.Load()),
		})
	}
	slices.SortFunc(list, func(a, b control.Active) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return list
}

// cancelRun ends a run in flight by its id, or those of a name; false if there
// is none.
func (a *API) cancelRun(name string) bool { return len(a.endRuns(name, errRunCancelled)) > 0 }

// endRuns ends a run in flight by its id, or those of a name, and returns them. They end
// for the cause: errRunCancelled, or errClientGone for one that nobody reads any more.
func (a *API) endRuns(name string, cause error) (list []*run) {
	id, err := strconv.ParseInt(name, 10, 64)
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	for key, u := range a.runs.runs {
		if err == nil && key == id || err != nil && name != "" && u.name == name {
			u.cancel(cause)
			list = append(list, u)
		}
	}
	return list
}

// Close cancels the requests in flight and those to come. The owner of the
// listeners calls it when a drain has taken long enough.
func (a *API) Close() {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	a.runs.closed = true
	for _, u := range a.runs.runs {
		u.cancel(errStopping)
	}
}
