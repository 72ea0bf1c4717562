package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// Limits of a run's text that is kept apart from its checkpoints.
const (
	maxKeptBody = 1 << 20 // bytes; a run with a longer request cannot be resumed
	maxKeptTail = 1 << 16 // tokens after the last checkpoint; a longer tail cannot be verified
)

// A Replay has everything about a run that decides its ids. Stop texts decide only how long an
// answer is, so they are not in it. The owner and what was put back are for a run that resumes it.
type Replay struct {
	Owner     *int64          `json:"owner,omitempty"`  // see Run.owner
	Drafts    bool            `json:"drafts,omitempty"` // the ids depend on drafts, and are not repeatable
	Exact     bool            `json:"exact,omitempty"`
	Sampling  json.RawMessage `json:"sampling"` // engine.Request's
	Seed      uint64          `json:"seed"`
	IgnoreEOS bool            `json:"ignore_eos,omitempty"`
	Grammar   *model.Grammar  `json:"grammar,omitempty"`
	Closed    []Span          `json:"closed,omitempty"`  // tokens that the server put into the answer
	PutBack   putBack         `json:"put_back,omitzero"` // into the prompt
}

// newReplay returns the Replay of a run's choice.
func newReplay(u *Run, c *Choice, g *model.Grammar) json.RawMessage {
	how := c.Req.Speculation
	var back putBack
	if talk := c.Prompt.conversation; talk != nil {
		back = talk.putBack
	}
	return wire.MustJSON(Replay{
		Owner:  u.owner,
		Drafts: how.Rule == engine.Rejection && c.Req.Sampling.Temperature > 0, Exact: how.Exact,
		Sampling: wire.MustJSON(c.Req.Sampling), Seed: *c.Req.Seed, IgnoreEOS: c.Req.IgnoreEOS,
		Grammar: g,
		Closed:  c.thought.closed,
		PutBack: back,
	})
}

// generatedSpans returns the stretches that the model generated itself, out of an answer of n
// tokens.
func (r Replay) generatedSpans(n int) (list []Span) {
	at := 0
	for _, c := range r.Closed {
		if at < c.At && c.At <= n {
			list = append(list, Span{at, c.At - at})
		}
		at = c.At + c.N
	}
	if at < n {
		list = append(list, Span{at, n - at})
	}
	return list
}

// apply makes a request generate as the run did. It leaves out the grammar, the stop texts and the
// tokens that the server put into the answer.
func (r Replay) apply(q *engine.Request) error {
	q.Seed, q.IgnoreEOS = &r.Seed, r.IgnoreEOS
	if r.Sampling == nil {
		return nil
	}
	q.Sampling = engine.Request{}.Sampling
	return json.Unmarshal(r.Sampling, &q.Sampling)
}

// keepText keeps what a run needs to be resumed, in case the program does not live to its end.
// Without a body the run cannot be resumed.
func (a *API) keepText(rep *Reply, body []byte) {
	if rep.Run.Key < 0 || len(rep.Choices) != 1 {
		return
	}
	if len(body) > maxKeptBody {
		body = nil
	}
	c := rep.Choices[0]
	rep.Run.text = &control.RunText{
		Run: rep.Run.Key, Model: rep.Model.ID(), Key: rep.Model.Key(), Request: body,
		Prompt: len(c.Prompt.IDs), Replay: newReplay(rep.Run, c, rep.Params.Grammar),
	}
	a.setText(rep.Run)
}

// endText keeps the tokens of a run that ended. The request stays only if the run was interrupted,
// so that it can be resumed. A run without tokens keeps nothing.
func (a *API) endText(u *Run) {
	t := u.text
	if t == nil {
		return
	}
	c := u.reply.Choices[0]
	if u.Row.FinishReason != control.FinishInterrupted {
		t.Request = nil
	}
	if c.IDs == nil {
		t.Request, t.Tail = nil, nil
		a.setText(u)
		return
	}
	if len(c.thought.closed) > 0 {
		t.Replay = newReplay(u, c, u.reply.Params.Grammar)
	}
	text := slices.Concat(c.Prompt.IDs, c.IDs)
	t.File, t.Tokens = c.Stats.File, min(c.Stats.Filed, len(text))
	if t.Tail = TokenBytes(text[t.Tokens:]); len(text)-t.Tokens > maxKeptTail {
		t.Tail = nil
	}
	a.setText(u)
}

func (a *API) setText(u *Run) {
	if err := a.To.Texts.SetRunText(context.WithoutCancel(u.Ctx), *u.text); err != nil {
		a.Log.Error("cannot keep a run's text", "run", u.Key, "err", err)
	}
}

// TokenBytes returns tokens in the form of the history.
func TokenBytes(ids []int32) []byte {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// BytesTokens reads what TokenBytes wrote.
func BytesTokens(b []byte) []int32 {
	ids := make([]int32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		ids = append(ids, int32(binary.LittleEndian.Uint32(b)))
	}
	return ids
}

// runText returns the tokens of a run that has ended: its prompt and its answer.
func (a *API) runText(ctx context.Context, t control.RunText) (text []int32, err error) {
	if t.Tail == nil {
		return nil, control.Errorf(control.CodeNotKept,
			"The text of run %d was not kept; runs keep it while checkpoints are on, for as long "+
				"as the settings say under Keep requests.", t.Run)
	}
	if t.File != "" {
		_, file, err := a.To.Texts.CheckpointText(ctx, t.File)
		if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoCheckpoint {
			return nil, control.Errorf(control.CodeNotKept,
				"The checkpoint %s, which had the text of run %d, is gone.", t.File, t.Run)
		}
		if err != nil {
			return nil, err
		}
		if len(file) < t.Tokens {
			return nil, control.Errorf(control.CodeNotKept,
				"The checkpoint %s has %d tokens, and run %d has %d in it.",
				t.File, len(file), t.Run, t.Tokens)
		}
		text = file[:t.Tokens]
	}
	return slices.Concat(text, BytesTokens(t.Tail)), nil
}
