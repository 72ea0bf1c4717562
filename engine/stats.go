package engine

import (
	"slices"
	"time"
)

// Finish says why a generation ended. The values are OpenAI's.
type Finish string

const (
	FinishStop   Finish = "stop"   // an end-of-sequence token or a stop text
	FinishLength Finish = "length" // MaxTokens or the end of the context
)

// Stats tells what one request cost. Durations are wall time.
type Stats struct {
	PromptTokens     int
	Matched          int // tokens of the prompt with which a kept text begins too
	CachedTokens     int // of Matched, restored in place of evaluated
	CompletionTokens int
	Given            int // of CompletionTokens, those of Request.Generated
	Rounds           int // target forwards after the prefill
	Syncs            int // blocking MLX calls after the prefill

	Drafter    string // proposed last; empty if none did
	NoDrafter  string // why none proposes any more, or none did; may be empty
	Drafted    int
	Accepted   int   // of Drafted, those in the output
	AcceptedAt []int // by i, rounds in which at least i+1 drafts were accepted
	Depths     []int // drafts of each round, 0 for a plain one
	Accepts    []int // of Depths, those accepted
	Arms       []int // who drafted them: an index of Drafters, -1 in a plain round
	Drafters   []DrafterStats

	// Tokens of Request.Prediction that were drafted and accepted, or rejected.
	PredictionAccepted, PredictionRejected int

	// Repeats is the index of the generated token from which the text loops, 0 if it does
	// not. What drafts gain in such a tail says little of other texts.
	Repeats int

	Seed   uint64
	Finish Finish // empty when cancelled or failed
	Err    error  // of the range; nil when it was left early

	// Miss says why less was restored than matched, or why less matched than was once
	// kept. Empty if neither is so.
	Miss       string
	Divergence *Divergence // where a kept text goes on differently after Matched; nil if none does

	// File is the id of the file in Options.Store that has the first Filed tokens of
	// prompt and answer, or empty.
	File  string
	Filed int

	Restore    time.Duration // of Prefill, until the caches held the restored state
	Queue      time.Duration // arrival until the first chunk, or until the request ended
	Prefill    time.Duration // first chunk until the prompt was evaluated, or the request ended
	FirstToken time.Duration // arrival until the first token was read
	Decode     time.Duration // first token until the last
	// Of Decode, the host's part: Host between a read and the next dispatch, Build while
	// the device computes. While mlx.Thread.TimeC is on, time inside C is left out.
	Host, Build time.Duration
	// Of Decode, waiting for the device.
	Wait time.Duration
	// Of Decode, rounds with drafts until they were read. Draft is building and dispatching
	// the proposal, Verify the rest, with what the device has yet to do of the draft. Under
	// Speculation.Timed the round waits, and Draft is the whole draft.
	Draft, Verify time.Duration
	Blocks        Blocks
	// Beside is the time from the first chunk on in which the request had not the MLX thread, if others
	// had work for it meanwhile, in this or another engine. It is 0 for a request that was alone.
	Beside time.Duration
	Total  time.Duration // arrival until the request left

	PeakBytes       int64 // MLX's peak since the engine was last idle
	CheckpointBytes int64 // of Options.Checkpoints in use when the request had left

	// What the caches held when the request ended, measured in bytes: all rows of layers that keep
	// every row or a window of their own, and states; window rows of bounded layers; and rows that are
	// restored for these, with what they are restored from. See lm.KVBytes.
	KVExact, KVWindow, KVRestored int64
}

// Add joins the figures of one answer that took two requests: s has the first, o the
// request that went on with its tokens as Request.Generated.
//
// The prompt's figures and the times up to the first token stay those of s. What o waited
// and read again counts as decoding. Counts of rounds and drafts, and the other times, add
// up. The rest, the count of generated tokens with it, is what o says.
func (s *Stats) Add(o Stats) {
	first := *s
	*s = o
	s.Given = first.Given
	s.Matched, s.CachedTokens, s.Miss, s.Divergence = first.Matched, first.CachedTokens, first.Miss,
		first.Divergence
	s.Queue, s.Restore, s.Prefill, s.FirstToken = first.Queue, first.Restore, first.Prefill,
		first.FirstToken

	s.Rounds += first.Rounds
	s.Syncs += first.Syncs
	s.Drafted += first.Drafted
	s.Accepted += first.Accepted
	s.AcceptedAt = sums(first.AcceptedAt, o.AcceptedAt)
	s.Depths = slices.Concat(first.Depths, o.Depths)
	s.Accepts = slices.Concat(first.Accepts, o.Accepts)
	s.Drafters, s.Arms = joinDrafters(first, o)
	s.PredictionAccepted += first.PredictionAccepted
	s.PredictionRejected += first.PredictionRejected

	s.Decode += first.Decode + o.Queue + o.Prefill
	s.Host += first.Host
	s.Build += first.Build
	s.Wait += first.Wait
	s.Draft += first.Draft
	s.Verify += first.Verify
	s.Beside += first.Beside
	s.Total += first.Total
	s.Blocks = first.Blocks
	s.Blocks.Add(o.Blocks)
	s.PeakBytes = max(s.PeakBytes, first.PeakBytes)
}

// DrafterStats tells what one of the drafters did in a request, and why not more. The counts of
// rounds are those of the choices between drafters.
type DrafterStats struct {
	Name              string
	Rounds            int // with its drafts
	Drafted, Accepted int
	Trials            int    // of Rounds, to find out what its drafts gain
	Idle              int    // rounds in which it had nothing to propose
	Slower            int    // rounds in which another drafter, or none, was expected to be faster
	Preceded          int    // rounds in which an earlier one drafted, as the request sets the depth
	Failed            string // why it was given up; empty if it was not
}

// add sums up what a drafter did in two requests.
func (d *DrafterStats) add(o DrafterStats) {
	d.Rounds += o.Rounds
	d.Drafted += o.Drafted
	d.Accepted += o.Accepted
	d.Trials += o.Trials
	d.Idle += o.Idle
	d.Slower += o.Slower
	d.Preceded += o.Preceded
	if o.Failed != "" {
		d.Failed = o.Failed
	}
}

// joinDrafters joins the drafters of two requests by their names, and who drafted in which round.
func joinDrafters(first, second Stats) (drafters []DrafterStats, arms []int) {
	drafters, arms = slices.Clone(first.Drafters), slices.Clone(first.Arms)
	index := make([]int, len(second.Drafters))
	for i, d := range second.Drafters {
		same := func(o DrafterStats) bool { return o.Name == d.Name }
		if index[i] = slices.IndexFunc(drafters, same); index[i] >= 0 {
			drafters[index[i]].add(d)
		} else {
			index[i] = len(drafters)
			drafters = append(drafters, d)
		}
	}
	for _, arm := range second.Arms {
		if arm >= 0 {
			arm = index[arm]
		}
		arms = append(arms, arm)
	}
	return drafters, arms
}

// sums adds two lists number by number; the shorter one counts as 0 where it ends.
func sums(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	list := slices.Clone(a)
	for i, n := range b {
		list[i] += n
	}
	return list
}

// A Divergence is where a prompt leaves a kept text.
type Divergence struct {
	Kept, Given int32 // the next token of the kept text, and of the prompt
	Answer      bool  // the kept one was generated
	Run         int64 // Request.Run of the request that the kept text comes from; 0 = unknown
}

// firstBlocks are timed apart: they also pay for what is set up on the way.
const firstBlocks = 8

// Blocks are the times of rounds with drafts, each until the caches hold the accepted rows.
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

// Add joins the blocks of a request that came later. Of the other's first eight only the
// mean is known.
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

// MeanTokens returns how many tokens a block emitted on average, 0 if there are none.
func (b Blocks) MeanTokens() float64 { return float64(b.Tokens) / float64(max(1, b.Count)) }

// Mean returns the mean of all, 0 if there are none.
func (b Blocks) Mean() time.Duration { return b.Total / time.Duration(max(1, b.Count)) }
