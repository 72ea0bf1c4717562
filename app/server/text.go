package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
)

// What is kept of a run's text beside its checkpoints.
const (
	maxKeptBody = 1 << 20 // bytes; a longer request cannot be resumed
	maxKeptTail = 1 << 16 // tokens that no checkpoint has; a longer text cannot be verified
)

// A replay says how a run's answer was generated, as far as its ids depend on it. On
// stop texts its length depends alone.
type replay struct {
	Drafts    bool            `json:"drafts,omitempty"` // they depend on what was drafted, too, and cannot come again
	Exact     bool            `json:"exact,omitempty"`
	Sampling  json.RawMessage `json:"sampling"` // engine.Request's
	Seed      uint64          `json:"seed"`
	IgnoreEOS bool            `json:"ignore_eos,omitempty"`
	Grammar   *model.Grammar  `json:"grammar,omitempty"`
	Closed    []span          `json:"closed,omitempty"` // what the server put into the answer
}

// newReplay returns that of a choice.
func newReplay(c *choice, g *model.Grammar) json.RawMessage {
	how := c.req.Speculation
	return mustJSON(replay{
		Drafts: how.Rule == engine.Rejection && c.req.Sampling.Temperature > 0, Exact: how.Exact,
		Sampling: mustJSON(c.req.Sampling), Seed: *c.req.Seed, IgnoreEOS: c.req.IgnoreEOS, Grammar: g,
		Closed: c.thought.closed,
	})
}

// legs are the stretches of an answer of n tokens that the model generated itself.
func (r replay) legs(n int) (list []span) {
	at := 0
	for _, c := range r.Closed {
		if at < c.At && c.At <= n {
			list = append(list, span{at, c.At - at})
		}
		at = c.At + c.N
	}
	if at < n {
		list = append(list, span{at, n - at})
	}
	return list
}

// apply has a request generate as the run did, but for its grammar, its stop texts and
// what the server put into the answer.
func (r replay) apply(q *engine.Request) error {
	q.Seed, q.IgnoreEOS = &r.Seed, r.IgnoreEOS
	if r.Sampling == nil {
		return nil
	}
	q.Sampling = engine.Request{}.Sampling
	return json.Unmarshal(r.Sampling, &q.Sampling)
}

// keepText notes what a run would be resumed from if the program does not live to
// its end. A nil body cannot be.
func (a *API) keepText(rep *reply, body []byte) {
	if rep.run.key < 0 || len(rep.choices) != 1 {
		return
	}
	if len(body) > maxKeptBody {
		body = nil
	}
	c := rep.choices[0]
	rep.run.text = &control.RunText{Run: rep.run.key, Model: rep.model.ID(), Key: rep.model.Key(), Request: body, Prompt: len(c.prompt.ids), Replay: newReplay(c, rep.params.grammar)}
	a.setText(rep.run)
}

// endText notes what a run has become. One that was interrupted can still be resumed.
// Of one that was refused nothing stays.
func (a *API) endText(u *run) {
	t := u.text
	if t == nil {
		return
	}
	c := u.reply.choices[0]
	if u.row.FinishReason != control.FinishInterrupted {
		t.Request = nil
	}
	if c.ids == nil {
		t.Request, t.Tail = nil, nil
		a.setText(u)
		return
	}
	if len(c.thought.closed) > 0 {
		t.Replay = newReplay(c, u.reply.params.grammar)
	}
	text := slices.Concat(c.prompt.ids, c.ids)
	t.File, t.Tokens = c.stats.File, min(c.stats.Filed, len(text))
	if t.Tail = tokenBytes(text[t.Tokens:]); len(text)-t.Tokens > maxKeptTail {
		t.Tail = nil
	}
	a.setText(u)
}

func (a *API) setText(u *run) {
	if err := a.to.Texts.SetRunText(context.WithoutCancel(u.ctx), *u.text); err != nil {
		a.log.Error("the history does not take a run's text", "run", u.key, "err", err)
	}
}

// tokenBytes is tokens as the history has them.
func tokenBytes(ids []int32) []byte {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// bytesTokens reads what tokenBytes wrote.
func bytesTokens(b []byte) []int32 {
	ids := make([]int32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		ids = append(ids, int32(binary.LittleEndian.Uint32(b)))
	}
	return ids
}

// runText returns the tokens of a run that has ended: its prompt and its answer.
func (a *API) runText(ctx context.Context, t control.RunText) (text []int32, err error) {
	if t.Tail == nil {
		return nil, control.Errorf(control.CodeNotKept, "The text of run %d was not kept; runs keep it while checkpoints are on, for as long as the settings say under Keep requests.", t.Run)
	}
	if t.File != "" {
		_, file, err := a.to.Texts.CheckpointText(ctx, t.File)
		if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoCheckpoint {
			return nil, control.Errorf(control.CodeNotKept, "The checkpoint %s, which had the text of run %d, is gone.", t.File, t.Run)
		}
		if err != nil {
			return nil, err
		}
		if len(file) < t.Tokens {
			return nil, control.Errorf(control.CodeNotKept, "The checkpoint %s has %d tokens, and run %d has %d in it.", t.File, len(file), t.Run, t.Tokens)
		}
		text = file[:t.Tokens]
	}
	return slices.Concat(text, bytesTokens(t.Tail)), nil
}
