package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"tandem/app/control"
	"tandem/engine"
)

// What is kept of a run's text beside its checkpoints.
const (
	maxKeptBody = 1 << 20 // bytes; a longer request cannot be resumed
	maxKeptTail = 1 << 16 // tokens that no checkpoint has; a longer text cannot be verified
)

// A replay says how a run's answer was generated, as far as its ids depend on it.
type replay struct {
	Sampling  json.RawMessage `json:"sampling"` // engine.Request's
	Seed      uint64          `json:"seed"`
	Stop      []string        `json:"stop,omitempty"`
	IgnoreEOS bool            `json:"ignore_eos,omitempty"`
}

// newReplay returns that of a choice, nil if its ids depend on what was drafted.
func newReplay(c *choice) json.RawMessage {
	if c.req.Speculation.Rule == engine.Rejection && c.req.Sampling.Temperature > 0 {
		return nil
	}
	sampling, err := json.Marshal(c.req.Sampling)
	if err != nil {
		return nil // a number that JSON does not have
	}
	return mustJSON(replay{sampling, *c.req.Seed, c.req.Stop, c.req.IgnoreEOS})
}

// keepText notes what a run would be resumed from.
func (s *Server) keepText(rep *reply, body []byte) {
	if rep.run.key < 0 || len(rep.choices) != 1 || len(body) > maxKeptBody {
		return
	}
	c := rep.choices[0]
	rep.run.text = &control.RunText{Run: rep.run.key, Model: rep.model.ID(), Request: body, Prompt: len(c.prompt.ids), Replay: newReplay(c)}
	s.setText(rep.run)
}

// endText notes what a run has become. One that did not end by itself can still
// be resumed.
func (s *Server) endText(u *run, cut bool) {
	t := u.text
	if t == nil {
		return
	}
	c := u.reply.choices[0]
	if !cut {
		t.Request = nil
	}
	text := slices.Concat(c.prompt.ids, c.ids)
	t.File, t.Tokens = c.stats.File, min(c.stats.Filed, len(text))
	if t.Tail = tokenBytes(text[t.Tokens:]); len(text)-t.Tokens > maxKeptTail {
		t.Tail = nil
	}
	s.setText(u)
}

func (s *Server) setText(u *run) {
	if err := s.backend.SetRunText(context.WithoutCancel(u.ctx), *u.text); err != nil {
		s.log.Error("the history does not take a run's text", "run", u.key, "err", err)
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
func (s *Server) runText(ctx context.Context, t control.RunText) (text []int32, err error) {
	if t.Tail == nil {
		return nil, control.Errorf(control.CodeNotKept, "The text of run %d was not kept; runs keep it while checkpoints are on, the latest of them.", t.Run)
	}
	if t.File != "" {
		file, err := s.backend.CheckpointText(ctx, t.File)
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
