package engine

import (
	"fmt"
	"slices"
	"unicode/utf8"
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
		return invalid("top_logprobs must lie between 0 and %d, not %d", MaxTopLogprobs,
			r.TopLogprobs)
	}
	if r.MaxTokens != nil && *r.MaxTokens < 0 {
		return invalid("max_tokens must be at least 0, not %d", *r.MaxTokens)
	}
	if i := slices.IndexFunc(r.Prediction, unknown); i >= 0 {
		return invalid("the prediction holds token %d; the vocabulary has %d", r.Prediction[i],
			e.config.VocabSize)
	}
	if err := e.checkSpeculation(r.Speculation); err != nil {
		return 0, err
	}
	if err := r.Sampling.Check(e.config.VocabSize); err != nil {
		return 0, &Error{Code: CodeInvalid, Message: err.Error()}
	}
	context, prompt := e.opts.ContextLength, len(r.Prompt)
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
