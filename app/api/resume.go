package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// A resumption continues a run that was cut off.
type resumption struct {
	run    int64
	client string // of that run: its checkpoints are the same client's
	body   []byte // of the request
	key    string // of the model as it was loaded then
	how    Replay
	text   []int32 // prompt and answer, as far as they were kept; nil if nothing was
	prompt int     // the prompt's tokens
}

// apply has the request's one choice continue where the run was cut off.
func (r *resumption) apply(m model.Model, c *Choice) error {
	if r.key != m.Key() {
		return control.Errorf(control.CodeNotKept,
			"The model %s has changed since run %d, or is loaded differently, so its answer "+
				"cannot go on; send the request again.", control.Word(m.ID()), r.run)
	}
	if err := r.how.apply(&c.Req); err != nil {
		return err
	}
	r.setPrompt(c)
	if len(r.text) <= r.prompt || c.Req.Logprobs || c.Req.PromptLogprobs {
		return nil // start from the beginning
	}
	if !slices.Equal(r.text[:r.prompt], c.Prompt.IDs) {
		return control.Errorf(control.CodeNotKept,
			"The model turns the request of run %d into other tokens than it did then, so its "+
				"answer cannot go on; send the request again.", r.run)
	}
	c.Req.Generated = r.text[r.prompt:]
	return nil
}

// setPrompt gives a chat the prompt that the run had, if that is kept. The template may write
// another one today: thoughts that are put back come and go, and some templates print the date.
func (r *resumption) setPrompt(c *Choice) {
	talk := c.Prompt.conversation
	if talk == nil || len(r.text) < r.prompt {
		return
	}
	ids := slices.Clip(r.text[:r.prompt])
	same := sharedTokens(ids, c.Prompt.IDs)
	c.Req.Boundaries = slices.DeleteFunc(slices.Clone(c.Req.Boundaries),
		func(at int) bool { return at > same })
	c.Prompt.IDs, c.Req.Prompt = ids, ids
	talk.putBack = r.how.PutBack
}

// textLeft returns the kept text of a run that was cut off. It is the whole text if the program
// lived to keep that. Otherwise it ends where a checkpoint ends.
func (a *API) textLeft(ctx context.Context, t control.RunText) []int32 {
	if t.Tail != nil {
		if ids, err := a.runText(ctx, t); err == nil {
			return ids
		}
	}
	ids, err := a.To.Texts.RunCheckpoint(ctx, t.Run)
	if err != nil {
		return nil // start from the beginning
	}
	return ids
}

// Resume answers as the run's own route does; for a response it answers as a chat. The answer is
// whole: first what was generated and kept before the cut, then the rest. The body may set stream,
// stream_options and return_token_ids.
func (a *API) Resume(w http.ResponseWriter, r *http.Request) error {
	id, err := control.ResumeRun.ReadParams(r)
	if err != nil {
		return err
	}
	row, err := a.To.Runs.Run(r.Context(), id)
	if err != nil {
		return err
	}
	if row.EndedAt.IsZero() {
		return control.Errorf(control.CodeInvalid, "Run %d is still in flight.", id)
	}
	text, err := a.To.Texts.RunText(r.Context(), id)
	if err != nil {
		return err
	}
	read := a.readerOf(row.Endpoint)
	if text.Request == nil || read == nil {
		return control.Errorf(control.CodeNotKept,
			"Run %d cannot be resumed: it was not cut off before its end, or its request was not "+
				"kept.", id)
	}
	from := &resumption{run: id, client: row.Client, body: text.Request, key: text.Key,
		prompt: text.Prompt}
	if err := json.Unmarshal(text.Replay, &from.how); err != nil {
		return err
	}
	from.text = a.textLeft(r.Context(), text)
	return a.resume(w, r, row.Endpoint, from, func(f *wire.Fields) (Request, error) {
		stored, err := wire.ParseFields(text.Request, "")
		if err != nil {
			return nil, err
		}
		for _, key := range []string{"stream", "stream_options", "return_token_ids"} {
			if v := f.Raw(key); v != nil {
				stored.Values[key] = v
			}
		}
		stored.Values["model"] = wire.Quote(text.Model)
		req, err := read(stored)
		if err != nil {
			return nil, err
		}
		p := req.Common()
		p.Seed, p.Resumes = &from.how.Seed, from
		return req, nil
	})
}
