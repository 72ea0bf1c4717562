package server

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	"tandem/app/control"
)

// A branchRequest goes on from a checkpoint: with what a person says next in
// the chat that it is of, or with text as it is.
type branchRequest struct {
	params
	base   []int32
	answer bool // base ends in an answer
	text   string
	raw    bool
	chat   bool // once the prompt is known: a chat template was used
}

// branch answers a request from a chosen checkpoint. The body is that of
// /v1/completions, where prompt is what comes behind the checkpoint's text: the
// next message, or with raw the text itself. The model is the checkpoint's.
func (s *Server) branch(w http.ResponseWriter, r *http.Request) error {
	c, err := s.backend.Checkpoint(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	base, err := s.backend.CheckpointText(r.Context(), c.ID)
	if err != nil {
		return err
	}
	model, err := json.Marshal(c.Model)
	if err != nil {
		return err
	}
	return s.generation("/app/checkpoints/branch", func(f *fields) (request, error) {
		f.values["model"] = model
		b := &branchRequest{params: params{promptParam: "prompt"}, base: base, answer: c.Kind == control.KindAnswer}
		b.read(f)
		b.maxTokens = f.int("max_tokens", 0, math.MaxInt32)
		b.text, b.raw = f.string("prompt"), f.bool("raw")
		if f.err == nil && b.text == "" && !b.raw {
			f.fail("prompt", "is missing: say what comes next, or set raw to go on from the text as it is.")
		}
		return b, f.err
	})(w, r)
}

// common implements request.
func (b *branchRequest) common() *params { return &b.params }

// form implements request.
func (b *branchRequest) form() form {
	if b.chat {
		return chatForm{}
	}
	return completionForm{}
}

// prompts implements request.
func (b *branchRequest) prompts(m Model) ([]*prompt, error) {
	if err := checkLength(m, "prompt", len(b.text)); err != nil {
		return nil, err
	}
	if !b.raw {
		turn, err := b.turn(m)
		if err == nil {
			b.chat = true
			return []*prompt{{ids: slices.Concat(b.base, turn)}}, nil
		}
		if !errors.Is(err, ErrNoTemplate) {
			return nil, err
		}
	}
	ids, err := m.Encode(b.text, false)
	if err != nil {
		return nil, err
	}
	return []*prompt{{ids: slices.Concat(b.base, ids)}}, nil
}

// marker stands for what was said so far where a template is asked what it
// writes behind that.
const marker = "0tandem0"

// turn returns the tokens that lead from the base to the model's next answer,
// with the text as a person's message between them. What the base has of them
// already is left out.
func (b *branchRequest) turn(m Model) ([]int32, error) {
	said := []map[string]string{{"role": "user", "content": marker}}
	if b.answer {
		said = []map[string]string{{"role": "user", "content": "0"}, {"role": "assistant", "content": marker}}
	}
	var messages []json.RawMessage
	for _, v := range append(said, map[string]string{"role": "user", "content": b.text}) {
		messages = append(messages, mustJSON(v))
	}
	vars, err := templateVars(messages, nil, nil, true)
	if err != nil {
		return nil, err
	}
	text, err := m.RenderChat(vars)
	if err != nil {
		return nil, err
	}
	_, behind, ok := strings.Cut(text, marker)
	if !ok {
		return nil, control.Errorf(control.CodeInvalid, "The model's chat template leaves out what was said before; branch with raw set.")
	}
	ids, err := m.Encode(behind, false)
	if err != nil {
		return nil, err
	}
	known := min(len(ids), len(b.base))
	for known > 0 && !slices.Equal(b.base[len(b.base)-known:], ids[:known]) {
		known--
	}
	if known == 0 && !b.answer {
		return nil, control.Errorf(control.CodeInvalid, "The checkpoint ends in the midst of a message, so that no other one can follow; branch with raw set, or from another checkpoint.")
	}
	return ids[known:], nil
}
