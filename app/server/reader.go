package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
)

// Limits of one request to read texts.
const (
	maxTexts      = engine.MaxTexts // inputs or documents
	maxReadTokens = 4 << 20         // of all together, a query counting with each document
)

// generates refuses models that go on with no text.
func generates(m model.Model) error {
	if m.Reader().Kind() != control.KindEmbedding {
		return nil
	}
	return invalid("model", "The model %s makes embeddings and generates no text: name another model, or send texts to /v1/embeddings.", control.Word(m.ID()))
}

// checkKind refuses models of another kind than the route asks for. who says what
// would do.
func checkKind(m model.Model, kind, who string) error {
	what := map[string]string{"": "generates text", control.KindEmbedding: "makes embeddings", control.KindReranker: "is a reranker"}[m.Reader().Kind()]
	if m.Reader().Kind() != kind {
		return invalid("model", "The model %s %s; %s.", control.Word(m.ID()), control.Word(what), control.Word(who))
	}
	return nil
}

// A readRequest is the body of a route whose answer is what a model makes of texts.
type readRequest interface {
	modelName() string
	// texts hands the texts of the request to the intake.
	texts(*intake) error
	// answer returns the body of the answer.
	answer(run *run, m model.Model, texts [][]int32) ([]byte, error)
}

// textsRoute answers such a route.
func (a *API) textsRoute(endpoint string, read func(*fields) (readRequest, error)) handler {
	return a.recorded(endpoint, nil, func(w http.ResponseWriter, r *http.Request, run *run) error {
		var held place
		defer held.release()
		_, f, err := a.readFields(w, r, &held)
		if err != nil {
			return err
		}
		run.setModel(clip(f.string("model")))
		req, err := read(f)
		if err != nil {
			return err
		}
		m, err := a.acquire(run, req.modelName())
		if err != nil {
			return err
		}
		release := sync.OnceFunc(m.Release)
		defer release()
		in := &intake{ctx: run.ctx, model: m}
		if err := req.texts(in); err != nil {
			return err
		}
		held.release()
		run.promptTokens.Store(int64(in.n))
		whole, err := req.answer(run, m, in.texts)
		if cause := context.Cause(run.ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = cause // the engine knows no more than that
		}
		if err != nil {
			return err
		}
		release()
		run.began = true
		w.Header().Set("Content-Type", "application/json")
		return writeWhole(w, http.StatusOK, whole)
	})
}

// reading is what a run has read of texts, for the model to complete.
func (u *run) reading(texts [][]int32) engine.Reading {
	return engine.Reading{Texts: texts, Client: u.client, Progress: func(done int) { u.promptDone.Store(int64(done)) }}
}

// took notes what a reader took.
func (u *run) took(t engine.Stats) {
	row := &u.row
	row.PromptTokens, row.PeakBytes = t.PromptTokens, t.PeakBytes
	row.QueueMS, row.PrefillMS = ms(t.Queue), ms(t.Prefill)
	row.FinishReason = string(t.Finish)
	u.api.metrics.tokens(t)
}

// modelOf reads the field that every route has.
func modelOf(f *fields) string {
	model := f.string("model")
	if f.err == nil && model == "" {
		f.fail("model", "is missing: name a model of /v1/models.")
	}
	return model
}

// An intake gathers the texts of one request.
type intake struct {
	ctx   context.Context // the request's: tokenizing much takes time
	model model.Model
	texts [][]int32
	n     int // tokens of all
}

// add takes in the tokens of one text, or why there are none. param names it in
// errors.
func (t *intake) add(param string, ids []int32, err error) error {
	m := t.model
	t.n += len(ids)
	switch n, limit := len(ids), m.ContextLength(); {
	case err != nil:
		return err
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case n == 0:
		return invalid(param, "%s is empty; send some text.", param)
	case n > limit:
		return contextError(param, m, "", n)
	case t.n > maxReadTokens:
		return invalid(param, "The texts up to %s have %d tokens; %d are allowed in one request. Send them in several.", param, t.n, maxReadTokens)
	}
	if i := slices.IndexFunc(ids, func(id int32) bool { return int(id) >= m.VocabSize() }); i >= 0 {
		return invalid(param, "%s holds the token %q, whose id %d the model %s does not know: its ids are below %d. Leave the token out.",
			param, m.Tokenizer().TokenBytes(ids[i]), ids[i], m.ID(), m.VocabSize())
	}
	t.texts = append(t.texts, ids)
	return nil
}

// appendReadUsage appends the usage of a request that generates nothing.
func appendReadUsage(dst []byte, t engine.Stats) []byte {
	return fmt.Appendf(dst, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, t.PromptTokens, t.PromptTokens)
}
