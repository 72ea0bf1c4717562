package engine

import "tandem/engine/sample"

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

	// Generated is the beginning of an answer that was cut off. Its tokens are
	// yielded again, and the generation goes on behind them, as if it had not
	// been cut: MaxTokens, penalties, stop texts and noise count them. Their
	// log-probabilities are not known.
	Generated []int32

	// Client tells whose requests take turns with others'; what it says is the caller's
	// affair. Those with none are one client's.
	Client string

	// Run is the caller's number for the request, in what it leaves on disk; 0
	// is none.
	Run int64

	// MaxTokens bounds the generated tokens; nil means what the context
	// leaves. A larger bound is cut to what the context leaves. Zero
	// evaluates the prompt only (with PromptLogprobs: scores it).
	MaxTokens *int

	Sampling sample.Params

	// Seed keys the sampler's noise together with a token's absolute
	// position. Nil draws one at random; Stats.Seed tells which.
	Seed *uint64

	Speculation Speculation

	// Prediction is what the client expects to be generated, token ids of it.
	// It is a draft, of the drafter by that name if there is one.
	Prediction []int32

	// Boundaries are positions of the prompt, ascending, from which other
	// prompts may go on differently: the ends of messages. The state there is
	// kept.
	Boundaries []int

	// Stop ends the generation where the decoded text first contains one of
	// these. The match itself is not part of the text.
	Stop []string

	// Stopper, if set, finds where a stop text ends the generation, in place of a
	// search for Stop in all of the text: where not all of that is the answer. Each
	// call begins one generation. What it returns hears the text of the tokens in
	// turn, those of Generated too, on the goroutine of whoever takes them, and says
	// which stop text ends it, empty if none does. Token.Text has all of the text
	// then: nothing is held back for a stop text, nor left out.
	Stopper func() func(text string) (stop string)

	// Grammar says which texts the answer may be, nil that it may be any. The
	// request ends where the text is complete, or with a token that ends one,
	// IgnoreEOS or not.
	Grammar Matcher

	// IgnoreEOS goes on past the model's end-of-sequence tokens.
	IgnoreEOS bool

	// Logprobs adds each token's log-probability under the model's own
	// distribution (before any processing), TopLogprobs (at most
	// MaxTopLogprobs) the likeliest alternatives beside it.
	Logprobs    bool
	TopLogprobs int

	// Fresh restores nothing and leaves nothing to be restored.
	Fresh bool

	// PromptLogprobs yields, before the first generated token, one Token
	// with Prompt set for each prompt token; the first has no Logprobs.
	PromptLogprobs bool

	// Special are special tokens whose text is in Token.Text; others leave no
	// trace there.
	Special []int32

	// Progress, if set, hears how many prompt tokens are evaluated, after
	// each chunk. It is called on the goroutine that ranges over the result.
	Progress func(done, total int)

	// Done, if set, is called exactly once when the request has left the
	// engine, however it ended, on the goroutine that ranges over the
	// result, before the range ends. A request that was refused calls it too.
	Done func(Stats)
}

// Finish says why a generation ended. The values are OpenAI's.
type Finish string

const (
	FinishStop   Finish = "stop"   // an end-of-sequence token or a stop text
	FinishLength Finish = "length" // MaxTokens or the end of the context
)

// A Token is one step of a generation.
type Token struct {
	ID int32

	// Text is the text that became certain with this token: whole UTF-8,
	// often empty, because an unfinished rune or a possible stop text is
	// held back until a later token decides it.
	Text string

	Logprobs *Logprobs // nil unless asked for
	Prompt   bool      // part of the prompt (see Request.PromptLogprobs)
	Finish   Finish    // set on the last token only
	Stop     string    // which of Request.Stop ended the generation, on the last token

	Draft   bool // was guessed by a drafter, and stands
	Drafted int  // guesses in the round that begins with this token
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
