package engine

import (
	"tandem/engine/sample"
	"tandem/engine/texts"
)

// Limits of one request. A request beyond them is refused with CodeInvalid
// before it is queued.
const (
	MaxStops       = 16   // stop texts
	MaxStopLength  = 1024 // characters of one stop text, as JSON schemas count them
	MaxTopLogprobs = 20   // alternatives reported per token
)

// A Request asks for one continuation of a prompt. The zero value of every
// field but Prompt is a useful default: greedy, as long as the context allows.
type Request struct {
	// Prompt holds token ids, special tokens included. At least one.
	Prompt []int32

	// Generated is the beginning of an answer that was cut off. Its tokens are yielded
	// again, without log-probabilities. Then the generation goes on as if it had not been
	// cut: MaxTokens, penalties, stop texts and noise count them.
	Generated []int32

	// Client names who asks. Clients take turns; requests without one are one client's.
	Client string

	// Run is the caller's number for the request, in the files it leaves, or 0.
	Run int64

	// MaxTokens bounds the generated tokens. Nil, or more than the context leaves, means
	// what the context leaves. Zero only evaluates the prompt; with PromptLogprobs it
	// scores it.
	MaxTokens *int

	Sampling sample.Params

	// Seed and a token's absolute position key the sampler's noise. Nil draws a seed at
	// random; Stats.Seed tells which.
	Seed *uint64

	Speculation Speculation

	// Prediction holds the token ids that the client expects to be generated. The drafter
	// of that name proposes them, if there is one.
	Prediction []int32

	// Texts is what the client's earlier requests said, for the drafter memory, if there is one. The
	// request adds its own text when it ends, unless it is Fresh. The caller closes it after that.
	// Nil remembers nothing.
	Texts *texts.Use

	// Before are the tokens that the answer goes on from, where they are not the prompt's last ones:
	// the end of the text before a gap. Texts then gets these and the answer. The prompt of a gap comes
	// with each key that a person types, a little different, and would push out all else.
	Before []int32

	// Boundaries are positions of the prompt, ascending, after which other prompts may go
	// on differently: the ends of messages. The states there are kept.
	Boundaries []int

	// Stop ends the generation where the decoded text first contains one of these. The
	// match is not part of the text.
	Stop []string

	// Stopper, if set, finds the stop text in place of a search for Stop in all of the text: not
	// all of it may be the answer. Each call begins one generation. The function it returns gets
	// the text of the tokens in turn, those of Generated too. It returns the stop text that ends
	// the generation, or "". It is called on the scheduler's goroutine, for Generated on the
	// caller's. Token.Text then has all of the text: nothing is held back or left out.
	Stopper func() func(text string) (stop string)

	// Grammar says which texts the answer may be; nil allows any. The request ends where
	// the text is complete, or with an end-of-sequence token, IgnoreEOS or not.
	Grammar Matcher

	// IgnoreEOS goes on past the model's end-of-sequence tokens.
	IgnoreEOS bool

	// Logprobs adds each token's log-probability under the model's own distribution,
	// before any processing. TopLogprobs, at most MaxTopLogprobs, adds as many of the
	// likeliest tokens.
	Logprobs    bool
	TopLogprobs int

	// Fresh restores nothing and leaves nothing to be restored.
	Fresh bool

	// PromptLogprobs yields one Token with Prompt set for each prompt token, before the
	// first generated one. The very first has no Logprobs.
	PromptLogprobs bool

	// Special lists the special tokens whose text is in Token.Text. Others leave no trace
	// there.
	Special []int32

	// Progress, if set, is called after each chunk with the prompt tokens evaluated so
	// far, on the goroutine that ranges over the result.
	Progress func(done, total int)

	// Restoring, if set, is called once as the request leaves the queue. Its checkpoint is restored
	// after that. It runs where Progress does, and before Restored.
	Restoring func()

	// Restored, if set, is called once as the reading of the prompt begins, with the number of its
	// tokens that were restored. It runs where Progress does, and before it.
	Restored func(tokens int)

	// Done, if set, is called exactly once when the request has left the engine, however
	// it ended: refused, failed or left early too. It runs on the goroutine that ranges
	// over the result, before the range ends.
	Done func(Stats)
}

// A Token is one step of a generation.
type Token struct {
	ID int32

	// Text is what became certain with this token, in whole UTF-8. It is often empty: an
	// unfinished rune or a possible stop text is held back until a later token decides.
	Text string

	Logprobs *Logprobs // nil unless asked for
	Prompt   bool      // part of the prompt (see Request.PromptLogprobs)
	Finish   Finish    // set on the last token only
	Stop     string    // the stop text that ended the generation, on the last token only

	Draft   bool // a drafter guessed it
	Drafted int  // guesses in the round whose first token this is
}

// Logprobs holds natural log-probabilities from the model's own logits.
type Logprobs struct {
	Logprob float32
	Top     []TokenLogprob // descending; ties by lower id
}

// A TokenLogprob is one alternative at a position.
type TokenLogprob struct {
	ID      int32
	Logprob float32
}
