package api

import (
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

// A Request is the body of one of the generating routes, read and checked as far as that
// goes without a model.
type Request interface {
	Question
	// form says how the route answers. It is known before the model is.
	Form() Form
}

// A Question is a request without the form of its answer.
type Question interface {
	Common() *Params
	// prompts turns the request into token ids for the model.
	Prompts(model.Model) ([]*Prompt, error)
}

// A ReadBody reads the body of a generating route.
type ReadBody func(*wire.Fields) (Request, error)

// A preparing request needs more than its body says.
type preparing interface {
	// prepare comes before the model is acquired. It takes a place if what it finds
	// is large, and returns the body that asks for the same without all that.
	Prepare(ctx context.Context, held *wire.Place, body []byte) ([]byte, error)
}

// Generation answers a generating route.
func (a *API) Generation(endpoint string, read ReadBody) wire.Handler {
	return a.recorded(endpoint, nil, func(w http.ResponseWriter, r *http.Request, run *Run) error {
		return a.answer(w, r, run, read)
	})
}

// Continuation is generation for what a person goes on with, who is told there and
// then why that is refused. from is the run that was cut off, nil if it is none.
func (a *API) Continuation(endpoint string, from *resumption, read ReadBody) wire.Handler {
	return a.recorded(endpoint, from, func(w http.ResponseWriter, r *http.Request, run *Run) error {
		run.passing = true
		return a.answer(w, r, run, read)
	})
}

// recorded answers a route whose requests leave a row in the history.
func (a *API) recorded(endpoint string, from *resumption, answer func(http.ResponseWriter, *http.Request, *Run) error) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, err := runName(r)
		if err != nil {
			return err
		}
		run := a.begin(r, endpoint, name, from)
		if run.Key > 0 { // it has a row
			w.Header().Set(RunHeader, strconv.FormatInt(run.Key, 10))
		}
		err = wire.ErrPanic // until answer returns
		defer func() { run.finish(err) }()
		if refused := a.claim(run, 1); refused != nil {
			err = refused
			wire.Discard(r)
			return err
		}
		err = answer(w, r, run)
		if run.began {
			return nil // the client was told as far as it listened
		}
		if run.dropped(err) {
			w.Header().Del(RunHeader)
		}
		return err
	}
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, run *Run, read ReadBody) error {
	var held wire.Place
	defer held.Release()
	body, f, err := a.ReadFields(w, r, &held)
	if err != nil {
		return err
	}
	run.setModel(wire.Clip(f.String("model")))
	req, err := read(f)
	if err != nil {
		return err
	}
	if q, ok := req.(preparing); ok {
		if body, err = q.Prepare(run.Ctx, &held, body); err != nil {
			return err
		}
	}
	p := req.Common()
	if p.Seed == nil {
		p.Seed = new(rand.Uint64N(1 << 53)) // exact in JSON readers whose numbers are doubles
	}
	if err := a.claim(run, min(p.Continuations(), MaxParallel)); err != nil { // before a model is loaded for it
		return err
	}
	rep := &Reply{Created: run.Row.StartedAt.Unix(), Run: run, Params: p, form: req.Form()}
	if p.Stream {
		return a.stream(w, rep, func(generate func() error) error {
			return a.equip(rep, req, &held, body, generate)
		})
	}
	return a.equip(rep, req, &held, body, func() error {
		if err := a.generateAll(rep, kept{}); err != nil {
			return err
		}
		rep.Id = wire.NewID(rep.form.IDPrefix())
		whole := rep.form.Whole(rep)
		rep.Release()
		run.began = true
		w.Header().Set("Content-Type", "application/json")
		return wire.WriteWhole(w, http.StatusOK, whole)
	})
}

// equip has a reply's model and its choices there while generate runs. It may take as
// long as it takes to load a model.
func (a *API) equip(rep *Reply, req Request, held *wire.Place, body []byte, generate func() error) error {
	run, p := rep.Run, rep.Params
	m, err := a.acquire(run, p.Model)
	if err != nil {
		return err
	}
	rep.Model, rep.Release = m, sync.OnceFunc(m.Release)
	defer rep.Release()
	if err := Generates(m); err != nil {
		return err
	}
	choices, err := a.choices(run.Ctx, m, req)
	defer a.closeMatchers(choices)
	held.Release()
	if err != nil {
		return err
	}
	run.promptTokens.Store(int64(countPrompts(choices)))
	rep.Choices, run.reply = choices, rep
	switch {
	case p.Resumes != nil:
		body = p.Resumes.body
	case a.readers[run.Row.Endpoint] == nil:
		body = nil
	}
	a.keepText(rep, body)
	return generate()
}

// Hold returns the model of a name, for its user to release.
func (a *API) Hold(ctx context.Context, name string) (model.Model, error) {
	m, err := a.To.Pool.Acquire(ctx, name)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause // the pool may know no more than that
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = "model"
		return nil, &named
	}
	return m, err
}

// acquire is hold for a run.
func (a *API) acquire(run *Run, name string) (model.Model, error) {
	m, err := a.Hold(run.Ctx, name)
	run.loaded()
	if err != nil {
		return nil, err
	}
	run.setModel(m.ID())
	return m, nil
}

// generateAll runs every choice, a few at a time. out hears of them on the choices'
// own goroutines, of the end only of a choice that ended well. The first error
// cancels the rest and is returned.
func (a *API) generateAll(rep *Reply, out Events) error {
	ctx, cancel := context.WithCancelCause(rep.Run.Ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, MaxParallel)
	for _, c := range rep.Choices {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := a.generate(ctx, rep, c, out); err != nil {
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

// generate runs one choice to its end. A run cancelled from the menu ends
// like one cut short by its limit: what was generated is the client's, and clients
// know no other finish for it. The timings say that it was stopped.
func (a *API) generate(ctx context.Context, rep *Reply, c *Choice, out Events) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.Log.Error("panic while generating", "panic", p, "stack", string(debug.Stack()))
			err = wire.ErrPanic
		}
	}()
	for again := true; again; {
		if c.spent() {
			if err := c.closeThought(rep); err != nil {
				return err
			}
			if c.Finish != "" { // there was no room for it
				break
			}
		}
		if again, err = a.pass(ctx, rep, c, out); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		c.Finish = engine.FinishLength
	}
	if err := context.Cause(ctx); err != nil && err != wire.ErrRunCancelled {
		return err
	}
	c.hush(out)
	out.End(c)
	return nil
}

// pass has the engine go on with a choice, and reports whether more is to come
// behind what the server put there.
func (a *API) pass(ctx context.Context, rep *Reply, c *Choice, out Events) (again bool, err error) {
	run, before, had := rep.Run, c.Stats, len(c.Ids)
	c.Req.Run, c.Req.Client = max(0, run.Key), run.client
	c.Req.Done = func(st engine.Stats) {
		if c.Stats = st; had > 0 {
			c.Stats = joined(before, st)
		}
		if p := c.Stats.Parted; p != nil && c.parted == nil { // the model may be gone when the row is written
			c.parted = &control.Parted{At: c.Stats.Matched, Kept: tokenText(rep.Model.Tokenizer(), p.Kept), Given: tokenText(rep.Model.Tokenizer(), p.Given), Answer: p.Answer}
		}
	}
	c.Req.Progress = func(done, _ int) {
		run.promptDone.Add(c.Prompt.advance(done))
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
			continue // it was told already
		}
		c.Finish, c.Stopped = t.Finish, t.Stop
		run.token(t)
		c.Ids = append(c.Ids, t.ID)
		c.hear(t, out)
		if t.Finish != "" {
			continue
		}
		if c.enough = c.single && c.Answer.called(); c.enough {
			c.Finish = engine.FinishStop
			break
		}
		if c.spent() {
			there, err := c.closedBefore(rep.Model)
			if err != nil {
				return false, err
			}
			if again = !there; again {
				break
			}
		}
	}
	if again || c.enough { // the engine may have been ahead
		c.Stats.CompletionTokens = len(c.Ids)
	}
	return again, nil
}

// joined are the statistics of a choice that took the engine several requests, of
// which the last had all that came before for given.
func joined(before, last engine.Stats) engine.Stats {
	st := last
	st.Given, st.CachedTokens, st.Matched, st.Miss, st.Parted = before.Given, before.CachedTokens, before.Matched, before.Miss, before.Parted
	st.Queue, st.Prefill, st.FirstToken, st.Restore = before.Queue, before.Prefill, before.FirstToken, before.Restore
	st.Decode += before.Decode + last.Queue + last.Prefill
	st.Total += before.Total
	st.Rounds += before.Rounds
	st.Syncs += before.Syncs
	st.Drafted += before.Drafted
	st.Accepted += before.Accepted
	st.Depths = slices.Concat(before.Depths, last.Depths)
	st.Accepts = slices.Concat(before.Accepts, last.Accepts)
	st.AcceptedAt = slices.Clone(before.AcceptedAt)
	for i, n := range last.AcceptedAt {
		if i == len(st.AcceptedAt) {
			st.AcceptedAt = append(st.AcceptedAt, 0)
		}
		st.AcceptedAt[i] += n
	}
	st.PredictionAccepted += before.PredictionAccepted
	st.PredictionRejected += before.PredictionRejected
	st.Host += before.Host
	st.Build += before.Build
	st.Wait += before.Wait
	st.Draft += before.Draft
	st.Verify += before.Verify
	st.Blocks = before.Blocks
	st.Blocks.Add(last.Blocks)
	st.PeakBytes = max(st.PeakBytes, before.PeakBytes)
	return st
}

// generateError gives the engine's refusals the fields and numbers they have here.
func generateError(err error, rep *Reply, c *Choice) error {
	e, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case engine.CodeContextLength:
		return ContextError(rep.Params.PromptParam, rep.Model, "", len(c.Prompt.Ids))
	case engine.CodeInvalid:
		// The engine begins with the field, as the API spells it.
		param, _, _ := strings.Cut(e.Message, " ")
		if !slices.Contains(samplingFields, param) {
			param = ""
		}
		return &control.Error{Code: control.CodeInvalid, Param: param, Message: e.Message, Record: sentence(e), Err: err}
	}
	return err
}

// samplingFields are those the engine checks.
var samplingFields = []string{"speculation.drafter", "speculation.depth", "speculation.rollback", "speculation.rule", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logit_bias", "stop"}
