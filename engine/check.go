package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/engine/draft"
	"tandem/engine/lm"
)

// check refuses what cannot be served. It returns how many tokens may be generated.
func (e *Engine) check(r Request) (limit int, err error) {
	invalid := func(format string, args ...any) (int, error) {
		return 0, &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	if len(r.Prompt) == 0 {
		return invalid("the prompt is empty; send at least one token")
	}
	if len(r.Generated) > 0 && r.PromptLogprobs {
		return invalid("a scored prompt cannot have generated tokens after it; leave out one of the two")
	}
	unknown := func(id int32) bool { return id < 0 || int(id) >= e.config.VocabSize }
	if i := slices.IndexFunc(r.Prompt, unknown); i >= 0 {
		return invalid("prompt token %d has id %d; the vocabulary has %d", i, r.Prompt[i],
			e.config.VocabSize)
	}
	if i := slices.IndexFunc(r.Generated, unknown); i >= 0 {
		return invalid("prompt token %d has id %d; the vocabulary has %d", len(r.Prompt)+i,
			r.Generated[i], e.config.VocabSize)
	}
	if len(r.Stop) > MaxStops {
		return invalid("at most %d stop texts are possible, not %d", MaxStops, len(r.Stop))
	}
	for _, stop := range r.Stop {
		if n := utf8.RuneCountInString(stop); n == 0 || n > MaxStopLength {
			return invalid("a stop text has 1 to %d characters, not %d", MaxStopLength, n)
		}
	}
	if want := (e.config.VocabSize + maskWord - 1) / maskWord; r.Grammar != nil &&
		r.Grammar.Words() != want {
		return invalid("the grammar has masks of %d words; the vocabulary needs %d",
			r.Grammar.Words(), want)
	}
	if r.TopLogprobs < 0 || r.TopLogprobs > MaxTopLogprobs {
		return invalid("top_logprobs must be between 0 and %d, not %d", MaxTopLogprobs,
			r.TopLogprobs)
	}
	if r.MaxTokens != nil && *r.MaxTokens < 0 {
		return invalid("max_tokens must be at least 0, not %d", *r.MaxTokens)
	}
	if i := slices.IndexFunc(r.Prediction, unknown); i >= 0 {
		return invalid("the prediction holds token %d; the vocabulary has %d", r.Prediction[i],
			e.config.VocabSize)
	}
	if err := e.drafters.check(r.Speculation); err != nil {
		return 0, err
	}
	if err := r.Sampling.Check(e.config.VocabSize); err != nil {
		return 0, &Error{Code: CodeInvalid, Message: err.Error()}
	}
	context, prompt := e.contextLength, len(r.Prompt)
	if prompt > context {
		return 0, &Error{Code: CodeContextLength, Message: fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested %d tokens in the prompt. Please reduce the length of the prompt.",
			context, prompt)}
	}
	limit = context - prompt
	if r.MaxTokens != nil {
		limit = min(limit, *r.MaxTokens)
	}
	if len(r.Generated) > limit {
		return invalid("%d tokens were generated before, and %d are allowed", len(r.Generated),
			limit)
	}
	return limit, nil
}

// checkEncode refuses what cannot be served.
func (e *Engine) checkEncode(r EncodeRequest) error {
	invalid := func(format string, args ...any) error {
		return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	unknown := func(id int32) bool { return id < 0 || int(id) >= e.config.VocabSize }
	if n := len(r.Sequences); n == 0 || n > MaxSequences {
		return invalid("a request has 1 to %d texts, not %d", MaxSequences, n)
	}
	for i, tokens := range r.Sequences {
		switch n := len(tokens); {
		case n == 0:
			return invalid("text %d is empty; send at least one token", i)
		case n > e.contextLength:
			return &Error{Code: CodeContextLength, Message: fmt.Sprintf(
				"This model's maximum context length is %d tokens. However, text %d has %d tokens. Please reduce its length.",
				e.contextLength, i, n)}
		}
		if at := slices.IndexFunc(tokens, unknown); at >= 0 {
			return invalid("token %d of text %d has id %d; the vocabulary has %d", at, i, tokens[at],
				e.config.VocabSize)
		}
	}
	if i := slices.IndexFunc(r.Logits, unknown); i >= 0 {
		return invalid("the logit of token %d is asked for; the vocabulary has %d", r.Logits[i],
			e.config.VocabSize)
	}
	poolings := []lm.Pooling{lm.PoolLast, lm.PoolMean, lm.PoolFirst}
	if len(r.Logits) == 0 && !slices.Contains(poolings, r.Pooling) {
		return invalid("there is no pooling %q", r.Pooling)
	}
	return nil
}

// check refuses what the drafters cannot do and what contradicts itself.
func (ds *drafters) check(r Speculation) error {
	invalid := func(format string, args ...any) error {
		return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	name := cmp.Or(r.Drafter, Auto)
	names := []string{Auto, None}
	found, limit := slices.Contains(names, name), MaxDepth
	for _, d := range ds.list {
		if _, ok := d.(*draft.Continued); !ok { // clients name one that works by itself
			names = append(names, d.Name())
		}
		if d.Name() == name {
			found = true
			limit = min(limit, d.MaxDrafts())
		}
	}
	switch {
	case !found:
		why := cmp.Or(ds.without[name], ds.noDrafter)
		if why != "" {
			why = "; " + why
		}
		return invalid("speculation.drafter %q is not there for this model; it has %s%s", name,
			strings.Join(names, ", "), why)
	case r.Depth != nil && (*r.Depth < 0 || *r.Depth > MaxDepth):
		return invalid("speculation.depth must be between 0 and %d, not %d", MaxDepth, *r.Depth)
	case r.Depth != nil && *r.Depth > limit:
		return invalid("speculation.depth must be at most %d with the drafter %s, not %d", limit,
			name, *r.Depth)
	case r.Fused && r.Timed:
		return invalid("speculation.fused has no draft to wait for; leave out speculation.timed")
	case r.Exact && r.Depth != nil && *r.Depth > MaxExactDepth:
		return invalid("speculation.depth must be at most %d with speculation.exact, not %d",
			MaxExactDepth, *r.Depth)
	case !slices.Contains([]Rollback{"", "auto", Trim, Undo}, r.Rollback):
		return invalid("speculation.rollback must be auto, %s or %s, not %q", Trim, Undo,
			r.Rollback)
	case !slices.Contains([]Rule{"", Coupled, Rejection}, r.Rule):
		return invalid("speculation.rule must be %s or %s, not %q", Coupled, Rejection, r.Rule)
	}
	return nil
}
