package engine

import (
	"time"

	"tandem/engine/sample"
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

// Stats tells what one request cost. Durations are wall time.
type Stats struct {
	PromptTokens     int
	Matched          int // of the prompt, tokens that some checkpoint's text begins with
	CachedTokens     int // of these, restored instead of evaluated
	CompletionTokens int
	Given            int // of these, Request.Generated
	Rounds           int // target forwards after the prefill
	Syncs            int // blocking MLX calls after the prefill

	Drafter    string // that proposed last, empty if none did
	NoDrafter  string // why it no longer does, or never did, where that is worth a word
	Drafted    int
	Accepted   int   // of Drafted, those that stand in the output
	AcceptedAt []int // rounds in which at least i+1 drafts stood, by i
	Depths     []int // drafts of each round, plain ones 0
	Accepts    []int // those of them that stand

	// Of Request.Prediction, tokens that were drafted and stand, and tokens
	// that were drafted in vain.
	PredictionAccepted, PredictionRejected int

	// Repeats is the index of the generated token from which the text loops, 0
	// if it does not. What drafts gain in such a tail says little of others.
	Repeats int

	Seed   uint64
	Finish Finish // empty when cancelled or failed
	Err    error  // the error the range ended with; nil when it was left early

	// Miss says why less was restored than matched, or why less matched than
	// there once was, where that is so.
	Miss   string
	Parted *Parting // what follows behind Matched where another text was kept; nil if none was

	// File is the id of a file in Options.Store that has the first Filed tokens
	// of prompt and answer; empty if there is none.
	File  string
	Filed int

	Restore    time.Duration // of Prefill, until the caches held what was restored
	Queue      time.Duration // until the first chunk began, or it ended before
	Prefill    time.Duration // first chunk began until the prompt was evaluated, or it ended before
	FirstToken time.Duration // arrival until the first token was read
	Decode     time.Duration // first token until the last
	// Of Decode, the host's part: between a read and the next dispatch, and
	// building graphs while the device computes. Time inside C is left out
	// only while mlx.Thread.TimeC is on.
	Host, Build time.Duration
	// Of Decode, waiting for the device.
	Wait time.Duration
	// Of Decode, what rounds with drafts took until they were read. Draft is
	// the time to build the proposal and to dispatch it, Verify the rest.
	// Nobody waits for the draft alone: what the device has yet to do of it by
	// then is in Verify. Under Speculation.Timed the round does wait, and Draft
	// is the whole draft.
	Draft, Verify time.Duration
	Blocks        Blocks
	Total         time.Duration // arrival until the request left

	PeakBytes       int64 // MLX's peak since the engine was last idle
	CheckpointBytes int64 // what checkpoints took of Options.Checkpoints when the request had left
}

// A Parting is where a prompt leaves a text that was kept.
type Parting struct {
	Kept, Given int32 // the next token of that text, and of the prompt
	Answer      bool  // it was generated
}

// firstBlocks are counted apart: they also pay for what is set up on the way.
const firstBlocks = 8

// Blocks are the times of rounds with drafts, each from its beginning until
// the caches hold what stands.
type Blocks struct {
	Count  int
	Tokens int // emitted by them
	Total  time.Duration
	Early  time.Duration // of Total, the first eight
	Max    time.Duration
}

func (b *Blocks) add(d time.Duration) {
	if b.Count < firstBlocks {
		b.Early += d
	}
	b.Count++
	b.Total += d
	b.Max = max(b.Max, d)
}

// Add takes in those of a request that came after these. Of the other's first
// eight only their mean is known.
func (b *Blocks) Add(o Blocks) {
	if n := min(firstBlocks-b.Count, o.Count); n > 0 {
		b.Early += o.First8() * time.Duration(n)
	}
	b.Count += o.Count
	b.Tokens += o.Tokens
	b.Total += o.Total
	b.Max = max(b.Max, o.Max)
}

// First8 returns the mean of the first eight, 0 if there are none.
func (b Blocks) First8() time.Duration {
	return b.Early / time.Duration(max(1, min(b.Count, firstBlocks)))
}

// Mean returns the mean of all, 0 if there are none.
func (b Blocks) Mean() time.Duration { return b.Total / time.Duration(max(1, b.Count)) }
