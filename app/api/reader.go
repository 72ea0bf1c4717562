package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// Limits of one request to read texts.
const (
	MaxTexts      = engine.MaxSequences // inputs or documents
	MaxReadTokens = 4 << 20             // of all texts together; a query counts with each document
)

// Generates refuses models that do not generate text.
func Generates(m model.Model) error {
	if m.Reader().Kind() != control.KindEmbedding {
		return nil
	}
	return wire.Invalid("model",
		"The model %s makes embeddings and generates no text: name another model, or send texts "+
			"to /v1/embeddings.", control.Word(m.ID()))
}

// CheckKind refuses models of another kind than the route needs. who names models that fit.
func CheckKind(m model.Model, kind, who string) error {
	what := map[string]string{"": "generates text", control.KindEmbedding: "makes embeddings",
		control.KindReranker: "is a reranker"}[m.Reader().Kind()]
	if m.Reader().Kind() != kind {
		return wire.Invalid("model", "The model %s %s; %s.", control.Word(m.ID()),
			control.Word(what), control.Word(who))
	}
	return nil
}

// A ReadRequest is the body of a route whose answer is computed from texts.
type ReadRequest interface {
	ModelName() string
	// Texts hands the texts of the request to the intake.
	Texts(*Intake) error
	// Answer returns the answer.
	Answer(run *Run, m model.Model, texts [][]int32) (any, error)
}

// TextsRoute returns the handler of such a route.
func (a *API) TextsRoute(endpoint string,
	read func(*wire.Fields) (ReadRequest, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return a.record(w, r, endpoint, nil,
			func(run *Run) error { return a.answerTexts(w, r, run, read) })
	}
}

// answerTexts is like answer, for a request that generates nothing.
func (a *API) answerTexts(w http.ResponseWriter, r *http.Request, run *Run,
	read func(*wire.Fields) (ReadRequest, error)) error {
	var held wire.Reservation
	defer held.Release()
	_, f, err := a.ReadFields(w, r, &held)
	if err != nil {
		return err
	}
	run.setModel(wire.Clip(cmp.Or(f.String("model"), control.Alias)))
	RefuseMedia(f)
	req, err := read(f)
	if err != nil {
		return err
	}
	m, err := a.acquireFor(run, req.ModelName())
	if err != nil {
		return err
	}
	release := sync.OnceFunc(m.Release)
	defer release()
	in := &Intake{ctx: run.Ctx, Model: m}
	if err := a.inTurn(run.Ctx, &held, func() error { return req.Texts(in) }); err != nil {
		return err
	}
	run.promptTokens.Store(int64(in.n))
	if in.cut > 0 {
		run.Row.LeftOut = fmt.Sprintf("the ends of %d of %d texts", in.cut, len(in.texts))
	}
	answer, err := req.Answer(run, m, in.texts)
	if cause := context.Cause(run.Ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause // the engine knows only that the context ended
	}
	if err != nil {
		return err
	}
	whole := wire.Encode(answer)
	release()
	run.began = true
	return wire.WriteAnswer(w, whole)
}

// Reading returns the work of reading texts for a run, without the model's part.
func (u *Run) Reading(texts [][]int32) engine.EncodeRequest {
	return engine.EncodeRequest{Sequences: texts, Client: u.client, Progress: func(done int) {
		u.promptDone.Store(int64(done))
		u.reads.Store(true)
	}}
}

// Took notes in the run what a reader computed.
func (u *Run) Took(t engine.Stats) {
	all := total{Stats: t, LeftOut: u.Row.LeftOut}
	all.keep(&u.Row)
	u.Row.FinishReason = string(t.Finish)
	u.api.metrics.tokens(t)
}

// An Intake gathers the texts of one request.
type Intake struct {
	ctx   context.Context // the request's: it may end while a long text is tokenized
	Model model.Model
	texts [][]int32
	n     int // tokens of all texts
	cut   int // texts without their end
}

// NoteCut counts a text that was cut at its end.
func (t *Intake) NoteCut() { t.cut++ }

// Add takes the tokens of one text, or the error of getting them. param is its name in errors.
func (t *Intake) Add(param string, ids []int32, err error) error {
	m := t.Model
	t.n += len(ids)
	switch n, limit := len(ids), m.ContextLength(); {
	case err != nil:
		return err
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case n == 0:
		return wire.Invalid(param, "%s is empty; send some text.", param)
	case n > limit:
		return ContextError(param, m, "", n)
	case t.n > MaxReadTokens:
		return wire.Invalid(param,
			"The texts up to %s have %d tokens; %d are allowed in one request. Send them in "+
				"several.", param, t.n, MaxReadTokens)
	}
	if err := checkIDs(m, param, param, ids); err != nil {
		return err
	}
	t.texts = append(t.texts, ids)
	return nil
}

// ReadUsage is the usage of a request that generates nothing.
type ReadUsage struct {
	_            struct{} `schema:"ReadUsage"`
	PromptTokens int      `json:"prompt_tokens"`
	TotalTokens  int      `json:"total_tokens"`
}

// ReadUsageOf returns the usage of texts that were read.
func ReadUsageOf(t engine.Stats) ReadUsage {
	return ReadUsage{PromptTokens: t.PromptTokens, TotalTokens: t.PromptTokens}
}
