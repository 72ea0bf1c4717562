package openai

import (
	"fmt"
	"unicode/utf8"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

type chatLogprobs struct {
	_       struct{}          `schema:"ChatLogprobs"`
	Content []api.ScoredToken `json:"content"`
	Refusal wire.AlwaysNull   `json:"refusal"`
}

func chatLogprobsOf(r *api.Reply, toks []engine.Token) *chatLogprobs {
	return &chatLogprobs{Content: api.ScoredTokens(r.Model.Tokenizer(), toks)}
}

// completionLogprobs are four parallel lists.
type completionLogprobs struct {
	_             struct{}        `schema:"CompletionLogprobs"`
	Tokens        []string        `json:"tokens"`
	TokenLogprobs []*wire.Logprob `json:"token_logprobs"` // null for the prompt's first token, which has no predecessor
	TopLogprobs   []*legacyTop    `json:"top_logprobs"`
	TextOffset    []int           `json:"text_offset"`
}

// completionLogprobsOf returns the next tokens of a choice. runes is the length of its text before
// them, below 0 in the BOS, and becomes the length after them.
func completionLogprobsOf(r *api.Reply, toks []engine.Token, runes *int) *completionLogprobs {
	tk := r.Model.Tokenizer()
	out := &completionLogprobs{Tokens: []string{}, TokenLogprobs: []*wire.Logprob{},
		TopLogprobs: []*legacyTop{}, TextOffset: []int{}}
	for _, t := range toks {
		b := tk.TokenBytes(t.ID)
		out.Tokens = append(out.Tokens, legacyToken(b))
		var own *wire.Logprob
		if t.Logprobs != nil {
			own = new(wire.Logprob(t.Logprobs.Logprob))
		}
		out.TokenLogprobs = append(out.TokenLogprobs, own)
		out.TopLogprobs = append(out.TopLogprobs, newLegacyTop(tk, t))
		out.TextOffset = append(out.TextOffset, max(0, *runes))
		for _, x := range b {
			if utf8.RuneStart(x) {
				*runes++
			}
		}
	}
	return out
}

// A legacyTop is an object with the likeliest tokens, in their order. They include the token itself,
// so that its own value is never missing.
type legacyTop []namedLogprob

type namedLogprob struct {
	name    string
	logprob wire.Logprob
}

// newLegacyTop returns the alternatives of a token, or nil if it has no log-probability. An object's
// names must differ, but two ids may have the same text.
func newLegacyTop(tk model.Tokenizer, t engine.Token) *legacyTop {
	if t.Logprobs == nil {
		return nil
	}
	own := legacyToken(tk.TokenBytes(t.ID))
	list, seen := legacyTop{{own, wire.Logprob(t.Logprobs.Logprob)}}, map[string]bool{own: true}
	for _, top := range t.Logprobs.Top {
		if name := legacyToken(tk.TokenBytes(top.ID)); !seen[name] {
			seen[name] = true
			list = append(list, namedLogprob{name, wire.Logprob(top.Logprob)})
		}
	}
	return &list
}

func (list legacyTop) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, t := range list {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := t.logprob.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = append(append(wire.AppendString(b, t.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// Shape describes the object to wire.AnswerOf.
func (legacyTop) Shape() *wire.Shape { return wire.Map(wire.Number) }

// legacyToken names a token that is part of a rune by its bytes, as OpenAI's older API does.
func legacyToken(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	s := "bytes:"
	for _, c := range b {
		s += fmt.Sprintf(`\x%02x`, c)
	}
	return s
}
