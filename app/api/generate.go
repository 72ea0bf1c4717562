package api

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A Request is the body of one of the generating routes, read and checked as far as that goes
// without a model.
type Request interface {
	Question
	// Format says how the route answers. It is known before the model is.
	Format() ReplyFormat
}

// A Question is a request without the form of its answer.
type Question interface {
	Common() *Params
	// Offers returns the tools of the request, or nil.
	Offers() *Toolbox
	// Prompts turns the request into token ids for the model.
	Prompts(context.Context, model.Model) ([]*Prompt, error)
}

// A ReadBody reads the body of a generating route.
type ReadBody func(*wire.Fields) (Request, error)

// A preparing request needs more than its body.
type preparing interface {
	// Prepare comes before the model is acquired. It takes a place if it reads something large. It
	// returns a body that asks for the same and stands alone.
	Prepare(ctx context.Context, held *wire.Reservation, body []byte) ([]byte, error)
}

// Resumable lets runs of a route be resumed: read reads their kept bodies.
func (a *API) Resumable(endpoint string, read ReadBody) { a.readers.Store(endpoint, read) }

// readerOf returns what reads the bodies of a route again, or nil.
func (a *API) readerOf(endpoint string) ReadBody {
	read, _ := a.readers.Load(endpoint)
	r, _ := read.(ReadBody)
	return r
}

// Generation returns the handler of a generating route, whose runs can be resumed. endpoint is its
// name in the history.
func (a *API) Generation(endpoint string, read ReadBody) wire.Handler {
	a.Resumable(endpoint, read)
	return func(w http.ResponseWriter, r *http.Request) error { return a.Generate(w, r, endpoint, read) }
}

// Generate answers one request to a generating route, and records it as a run.
func (a *API) Generate(w http.ResponseWriter, r *http.Request, endpoint string,
	read ReadBody) error {
	return a.record(w, r, endpoint, nil, func(run *Run) error { return a.answer(w, r, run, read) })
}

// Continue is Generate for a request by which a person continues a client's text. A refusal is
// shown to the person at once, so such a run leaves no row. The text may be another client's, so no
// memory of texts gets it.
func (a *API) Continue(w http.ResponseWriter, r *http.Request, endpoint string,
	read ReadBody) error {
	return a.record(w, r, endpoint, nil, func(run *Run) error {
		run.passing, run.owner = true, nil
		return a.answer(w, r, run, read)
	})
}

// resume is Continue for a run that was cut off. Its client's memory gets the text.
func (a *API) resume(w http.ResponseWriter, r *http.Request, endpoint string, from *resumption,
	read ReadBody) error {
	return a.record(w, r, endpoint, from, func(run *Run) error {
		run.passing = true
		return a.answer(w, r, run, read)
	})
}

// record calls answer for a request, and writes a row for it into the history.
func (a *API) record(w http.ResponseWriter, r *http.Request, endpoint string, from *resumption,
	answer func(*Run) error) error {
	name, err := runName(r)
	if err != nil {
		return err
	}
	run := a.begin(r, endpoint, name, from)
	if run.Key > 0 { // it has a row
		w.Header().Set(RunHeader, strconv.FormatInt(run.Key, 10))
	}
	err = wire.ErrPanic // until answer returns, a panic is the error
	defer func() { run.finish(err) }()
	err = answer(run)
	if run.began {
		return nil // the client already has what it read
	}
	if run.dropped(err) {
		w.Header().Del(RunHeader)
	}
	return err
}

// answer is the path of every request to a generating route: prepare, acquire, run, reply. The last
// three are in replyWhole and in sendEvents, since a stream may begin before a model is acquired.
func (a *API) answer(w http.ResponseWriter, r *http.Request, run *Run, read ReadBody) error {
	var held wire.Reservation
	defer held.Release()
	rep, err := a.prepare(w, r, run, read, &held)
	if err != nil {
		return err
	}
	if rep.Params.Stream {
		return a.replyInEvents(w, rep)
	}
	return a.replyWhole(w, rep)
}

// prepare reads a request and checks it as far as that goes without a model. It returns the reply,
// which has neither a model nor choices yet.
func (a *API) prepare(w http.ResponseWriter, r *http.Request, run *Run, read ReadBody,
	held *wire.Reservation) (*Reply, error) {
	body, f, err := a.ReadFields(w, r, held)
	if err != nil {
		return nil, err
	}
	run.setModel(wire.Clip(cmp.Or(f.String("model"), control.Alias)))
	RefuseMedia(f)
	req, err := read(f)
	if err != nil {
		return nil, err
	}
	if q, ok := req.(preparing); ok {
		if body, err = q.Prepare(run.Ctx, held, body); err != nil {
			return nil, err
		}
	}
	if err := a.checkTools(run.Ctx, req.Offers()); err != nil {
		return nil, err
	}
	p := req.Common()
	if p.Seed == nil {
		p.Seed = new(rand.Uint64N(1 << 53)) // exact in JSON readers whose numbers are doubles
	}
	return &Reply{
		Created: run.Row.StartedAt.Unix(), Run: run, Params: p, format: req.Format(),
		Release:  func() {},
		question: req, body: body, reserved: held,
	}, nil
}

// checkTools refuses a tool that can never be called, whether or not the answer must be a call.
func (a *API) checkTools(ctx context.Context, b *Toolbox) error {
	if b == nil {
		return nil
	}
	list, _ := b.fields()
	return a.schemas.check(ctx, list, b.Tools)
}

// acquireChoices gives a reply its model and its choices. It may wait until a model is loaded. The
// caller calls free, also after an error.
func (a *API) acquireChoices(rep *Reply) error {
	run, p := rep.Run, rep.Params
	m, err := a.acquireFor(run, p.Model)
	if err != nil {
		return err
	}
	rep.Model, rep.Release = m, sync.OnceFunc(m.Release)
	if err := Generates(m); err != nil {
		return err
	}
	p.thoughts = a.thoughtsOf(run.owner)
	if err := a.inTurn(run.Ctx, rep.reserved, func() (err error) {
		rep.made, err = a.choices(run.Ctx, m, rep.question)
		return err
	}); err != nil {
		return err
	}
	run.promptTokens.Store(int64(countPrompts(rep.made)))
	rep.Choices, run.reply = rep.made, rep
	body := rep.body
	switch {
	case p.Resumes != nil:
		body = p.Resumes.body
	case a.readerOf(run.Row.Endpoint) == nil:
		body = nil
	}
	a.keepText(rep, body)
	return nil
}

// free gives back what acquireChoices acquired.
func (a *API) free(rep *Reply) {
	a.closeMatchers(rep.made)
	rep.Release()
}

// Acquire returns the model of a name, see ModelID. Without fold, a name that no model has may be
// another program's too. A request without a name gets the chosen model. The caller releases it.
func (a *API) Acquire(ctx context.Context, name string, fold bool) (model.Model, error) {
	if name == "" {
		if a.To.Status.State().Choice == "" {
			return nil, wire.Invalid("model", "model is missing, and none is chosen: name one of /v1/models.")
		}
		name = control.Alias
	}
	id, err := a.ModelID(ctx, name, fold)
	if err != nil {
		return nil, err
	}
	m, err := a.To.Pool.Acquire(ctx, id)
	e, ok := errors.AsType[*control.Error](err)
	if ok && e.Code == control.CodeModelNotFound && !fold {
		if of, failed := a.To.Models.IDOf(ctx, id); failed == nil && of != id {
			m, err = a.To.Pool.Acquire(ctx, of)
		}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause // the pool may know only that the context ended
	}
	return m, NameParam(err, "model")
}

// acquireFor is Acquire for a run.
func (a *API) acquireFor(run *Run, name string) (model.Model, error) {
	m, err := a.Acquire(run.Ctx, name, run.ignoresCase())
	run.loaded()
	if err != nil {
		return nil, err
	}
	run.setModel(m.ID())
	form := m.Format()
	run.Row.KVBits, run.Row.KVLayout = form.KVBits, form.KVLayout
	return m, nil
}

// runChoices runs every choice, a few at a time, and returns the first error, which cancels the
// rest. It calls out on the choices' own goroutines, and reports the end only of a choice that
// ended well.
func (a *API) runChoices(rep *Reply, out Events) error {
	ctx, cancel := context.WithCancelCause(rep.Run.withAuthor())
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, MaxParallel)
	for _, c := range rep.Choices {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := a.runChoice(ctx, rep, c, out); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != wire.ErrRunCancelled {
		return err
	}
	return nil
}

// runChoice runs one choice to its end. A run that is cancelled from the menu ends like one that a
// limit cuts short. The client gets what was generated, and knows no other finish for it. The
// timings say that it was stopped.
func (a *API) runChoice(ctx context.Context, rep *Reply, c *Choice, out Events) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.Log.Error("panic while generating", "panic", p, "stack", string(debug.Stack()))
			err = wire.ErrPanic
		}
	}()
	for again := true; again; {
		if c.thoughtIsUsedUp() {
			if err := c.closeThought(rep); err != nil {
				return err
			}
			if c.Finish != "" { // no room was left for the end of the thought
				break
			}
		}
		if again, err = a.generateOnce(ctx, rep, c, out); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		c.Finish = engine.FinishLength
	}
	if err := context.Cause(ctx); err != nil && err != wire.ErrRunCancelled {
		return err
	}
	c.flush(out)
	a.keepThought(rep, c) // before the client can ask again
	out.End(c)
	return nil
}

// generateOnce has the engine continue a choice. It reports whether another call is needed, after
// tokens that the server added.
func (a *API) generateOnce(ctx context.Context, rep *Reply, c *Choice,
	out Events) (again bool, err error) {
	run, before, had := rep.Run, c.Stats, len(c.IDs)
	c.Req.Run, c.Req.Client = max(0, run.Key), run.client
	c.Req.Done = func(st engine.Stats) {
		if c.Stats = st; had > 0 {
			c.Stats = before
			c.Stats.Add(st)
		}
		// the model may be gone when the row is written
		if c.Stats.Divergence != nil && c.divergence == nil {
			c.divergence = c.describeDivergence(context.WithoutCancel(ctx), rep.Model)
		}
	}
	c.Req.Restoring = run.leaveQueue
	c.Req.Restored = func(tokens int) {
		n := c.Prompt.restore(tokens)
		run.read(n)
		run.promptRestored.Add(n)
		run.reads.Store(true)
	}
	c.Req.Progress = func(done, _ int) {
		run.read(c.Prompt.advance(done))
		out.Begin(c)
	}
	seen := 0
	for t, err := range rep.Model.Generate(ctx, c.Req) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return false, generateError(err, rep, c)
		}
		if t.Prompt {
			c.Scored = append(c.Scored, t)
			continue
		}
		if seen++; seen <= had {
			continue // the client already has it
		}
		c.Finish, c.Stopped = t.Finish, t.Stop
		run.token(t)
		c.IDs = append(c.IDs, t.ID)
		c.readToken(t, out)
		if t.Finish != "" {
			continue
		}
		if c.enough = c.single && c.Answer.called(); c.enough {
			c.Finish = engine.FinishStop
			break
		}
		if c.thoughtIsUsedUp() {
			there, err := c.closedBefore(rep.Model)
			if err != nil {
				return false, err
			}
			if again = !there; again {
				break
			}
		}
	}
	if again || c.enough { // the engine may have run ahead
		c.Stats.CompletionTokens = len(c.IDs)
	}
	return again, nil
}

// generateError gives the engine's refusals the field names and numbers of this API.
func generateError(err error, rep *Reply, c *Choice) error {
	e, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case engine.CodeContextLength:
		return ContextError(rep.Params.PromptParam, rep.Model, "", len(c.Prompt.IDs))
	case engine.CodeInvalid:
		// The engine's message begins with the field, spelled as in the API.
		param, _, _ := strings.Cut(e.Message, " ")
		if !slices.Contains(samplingFields, param) {
			param = ""
		}
		return &control.Error{Code: control.CodeInvalid, Param: param, Message: e.Message,
			Record: sentence(e), Err: err}
	}
	return err
}

// samplingFields are the fields that the engine checks.
var samplingFields = []string{
	"speculation.drafter", "speculation.depth", "speculation.rollback", "speculation.rule",
	"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty",
	"frequency_penalty", "logit_bias", "stop",
}
