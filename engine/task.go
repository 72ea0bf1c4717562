package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/engine/texts"
	"tandem/engine/tokenizer"
)

// A task is one request in flight. The scheduler owns it. mail and left connect it to the goroutine
// that ranges over the generation.
type task struct {
	ctx    context.Context
	cancel context.CancelFunc
	mail   *mailbox
	left   chan struct{} // closed by the scheduler when it has let go; stats is final
	req    Request
	seed   uint64
	limit  int     // most tokens to generate
	eos    []int32 // tokens that end the text

	// tokens is the prompt and what was generated. The request gave the first given ones, which are
	// evaluated like a prompt. Between rounds every cache in caches, the live path, holds the first
	// fed tokens. A task that ends has more rows, of the step in flight or of drafts, until they
	// are rolled back.
	tokens []int32
	given  int
	fed    int
	caches cache.Stack

	path    *checkpoint.Path // its place among the checkpoints, nil if it has none
	forgets int64            // checkpoints.forgets when it came; after a Forget it leaves nothing
	offsets []int            // of captures to come, ascending

	sampler  *sample.Sampler
	observed int   // tokens the sampler knows: the prompt, what follows, perhaps the one in flight
	inFlight *draw // the token being computed; nil while the prompt is read and between blocks

	drafts     []draft.Draft           // by drafter; nil until the first chunk, or not wanted, or failed
	acceptance *draft.RecentAcceptance // how its drafts did; nil as long as there are none
	choice     draft.Choice            // of the next round

	candidates []draft.Candidate // of that choice, by drafter; nil if there is nothing to choose

	stream *tokenizer.Stream
	stops  Stops
	stop   func(text string) string // finds them in their place, see Request.Stopper; may be nil

	arrived, begun, first, last time.Time     // first and last: of tokens read
	worked                      time.Duration // of its rounds and chunks on the MLX thread
	shared                      bool          // others had work for the thread meanwhile
	stats                       Stats
	broken                      bool // a round failed: the caches are undefined
	finished                    bool
}

func newTask(ctx context.Context, r Request, limit int, tok *tokenizer.Tokenizer,
	eos []int32) *task {
	seed := rand.Uint64N(1 << 53) // exact in JSON readers whose numbers are doubles
	if r.Seed != nil {
		seed = *r.Seed
	}
	if r.IgnoreEOS && r.Grammar == nil {
		eos = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &task{
		ctx: ctx, cancel: cancel, mail: newMailbox(), left: make(chan struct{}),
		req: r, seed: seed, limit: limit, eos: eos,
		tokens: slices.Clone(r.Prompt),
		given:  len(r.Prompt) + len(r.Generated),
		stream: tok.NewStream(true, r.Special...),
		stops:  Stops{Texts: r.Stop},

		observed: len(r.Prompt) + len(r.Generated),
	}
	if r.Stopper != nil {
		t.stops.Texts, t.stop = nil, r.Stopper()
	}
	if !r.PromptLogprobs {
		// The text goes on where the prompt ended: some decoders drop a space
		// at the start of a text, which this is not.
		t.stream.Push(r.Prompt[len(r.Prompt)-1])
	}
	t.stats = Stats{PromptTokens: len(r.Prompt), Given: len(r.Generated), Seed: seed}
	return t
}

// work runs a round of tasks, or a part of one, on the MLX thread, and counts how long they had the
// thread.
func work(thread *mlx.Thread, run func(*mlx.Scope) error, tasks ...*task) error {
	return thread.Do(context.Background(), counted(thread, run, tasks...))
}

// counted is run, and counts how long the tasks had the thread. What it lends to others is not theirs.
func counted(thread *mlx.Thread, run func(*mlx.Scope) error, tasks ...*task) func(*mlx.Scope) error {
	return func(s *mlx.Scope) error {
		begun, lent := time.Now(), thread.Lent()
		defer func() {
			took := time.Since(begun) - (thread.Lent() - lent)
			for _, t := range tasks {
				t.worked += took
			}
		}()
		return run(s)
	}
}

// cancelled reports whether nobody wants the task's tokens any more.
func (t *task) cancelled() bool { return t.ctx.Err() != nil }

// prefilling reports whether some given tokens are still to be evaluated.
func (t *task) prefilling() bool { return t.fed < t.given }

// remaining returns how many given tokens are still to be evaluated.
func (t *task) remaining() int { return t.given - t.fed }

// decoding reports whether the prompt is evaluated and more tokens come.
func (t *task) decoding() bool { return !t.begun.IsZero() && !t.prefilling() && !t.finished }

// pipelined reports whether a plain step is dispatched before the token of the last one is known.
func (t *task) pipelined() bool { return !t.req.Speculation.Exact }

// constrained reports whether a grammar says which tokens may be drawn.
func (t *task) constrained() bool { return t.req.Grammar != nil }

// sharesSteps reports whether the task's plain steps can be shared.
func (t *task) sharesSteps() bool {
	r := t.req.Speculation
	return t.decoding() && t.pipelined() && (r.Depth == nil || *r.Depth == 0)
}

// carried returns how many tokens before the newest one the caches lack, after a block was undone.
func (t *task) carried() int {
	if t.prefilling() {
		return 0 // the rest of a prompt is nothing to catch up with
	}
	return max(0, len(t.tokens)-1-t.fed)
}

// checkOffsets fails s if the next row of some cache is not at position pos: the result would
// look like a text.
func (t *task) checkOffsets(s *mlx.Scope, pos int) {
	for _, c := range t.caches {
		if at := c.Offset(); at != pos {
			s.Fail(fmt.Errorf("a cache holds %d rows before position %d", at, pos))
			return
		}
	}
}

// drafting reports whether the task has a draft.
func (t *task) drafting() bool {
	return slices.ContainsFunc(t.drafts, func(d draft.Draft) bool { return d != nil })
}

// wants reports whether the task may draft with d. What the client predicts is tried whichever
// drafter it prefers.
func (t *task) wants(d draft.Drafter) bool {
	_, predicts := d.(draft.Prediction)
	name := cmp.Or(t.req.Speculation.Drafter, Auto)
	return name != None && (name == Auto || name == d.Name() || predicts)
}

// adaptive reports whether measurements choose who drafts in a round, and how much.
func (t *task) adaptive() bool {
	return t.req.Speculation.Depth == nil && !t.req.Speculation.Exact
}

// maxRows returns the most rows of a block of the task.
func (t *task) maxRows() int {
	if t.req.Speculation.Exact {
		return ExactRows
	}
	return MaxDepth + 1
}

// observe passes the token (1) int32 that makes the text n tokens long to the sampler, unless it has
// that.
func (t *task) observe(s *mlx.Scope, token *mlx.Array, n int) {
	if t.observed < n {
		t.sampler.Observe(s, token)
		t.observed = n
	}
}

// maxPositions returns how many positions the text can come to have.
func (t *task) maxPositions() int { return len(t.req.Prompt) + t.limit }

// generated returns how many tokens were read so far.
func (t *task) generated() int { return len(t.tokens) - len(t.req.Prompt) }

// texts returns what the client's earlier requests said, nil if the request may not use it.
func (t *task) texts() *texts.Use {
	if t.req.Fresh {
		return nil
	}
	return t.req.Texts
}

// said returns what the client's memory of texts gets of a task: prompt and answer, or the text
// before a gap and the answer.
func (t *task) said() texts.Text {
	prompt := len(t.req.Prompt)
	if before := t.req.Before; before != nil {
		return texts.Text{Tokens: slices.Concat(before, t.tokens[prompt:]), Prompt: len(before)}
	}
	return texts.Text{Tokens: t.tokens, Prompt: prompt}
}

// draw samples the token at position pos from the logits (1, V) before it, among the allowed ones.
// Its arrays belong to s and are unevaluated.
func (t *task) draw(s *mlx.Scope, logits, allowed *mlx.Array, pos int) *draw {
	return t.drawOf(s, logits, t.sampler.Draw(s, logits, allowed, pos))
}

// drawOf is the draw of tokens (n) from logits (n, V).
func (t *task) drawOf(s *mlx.Scope, logits, tokens *mlx.Array) *draw {
	d := &draw{token: sample.Guard(s, logits, tokens)}
	if t.req.Logprobs {
		d.chosen, d.topIDs, d.topLogprob = sample.Logprobs(s, logits, d.token, t.req.TopLogprobs)
	}
	return d
}

// liveArrays lists the arrays that carry the task from round to round.
func (t *task) liveArrays() []*mlx.Array {
	list := t.caches.Arrays()
	for _, d := range t.drafts {
		if d != nil {
			list = append(list, d.Arrays()...)
		}
	}
	return list
}

// findStop adds the next piece of the text. It returns what became certain, and whether a
// stop text ends the generation there.
func (t *task) findStop(text string) (certain string, hit bool) {
	if t.stop == nil {
		return t.stops.Push(text)
	}
	t.stops.Found = t.stop(text)
	return text, t.stops.Found != ""
}

// countPrediction counts what a draft that ends made of the request's prediction.
func (t *task) countPrediction(d draft.Draft) {
	if p, ok := d.(*draft.PredictionDraft); ok {
		accepted, rejected := p.Predicted(t.tokens)
		t.stats.PredictionAccepted += accepted
		t.stats.PredictionRejected += rejected
	}
}

// end completes the stats of a task that holds nothing on the MLX thread, and closes its mailbox.
// plain says why it had no drafts, if it had none; peak is the most bytes that MLX had.
func (t *task) end(err error, plain string, peak int64) {
	now := time.Now()
	t.stats.Err = err
	t.stats.CompletionTokens = t.generated()
	t.stats.Total = now.Sub(t.arrived)
	switch {
	case !t.first.IsZero():
		t.stats.Decode = t.last.Sub(t.first)
	case t.begun.IsZero():
		t.stats.Queue = now.Sub(t.arrived)
	case t.stats.Prefill == 0:
		t.stats.Prefill = now.Sub(t.begun)
	}
	if t.shared {
		t.stats.Beside = max(0, now.Sub(t.begun)-t.worked)
	}
	if t.stats.Drafted == 0 && t.stats.NoDrafter == "" {
		t.stats.NoDrafter = plain
	}
	if !t.begun.IsZero() {
		t.texts().Add(t.said())
	}
	t.stats.PeakBytes = peak
	t.mail.close()
	close(t.left)
}

// free releases everything that the task holds on the MLX thread.
func (t *task) free(s *mlx.Scope) {
	if t.path != nil {
		t.path.Close()
		t.path = nil
	}
	t.caches.Free(s)
	t.caches = nil
	t.inFlight.free()
	t.inFlight = nil
	for i, d := range t.drafts {
		if d != nil {
			t.countPrediction(d)
			d.Free(s)
			t.drafts[i] = nil
		}
	}
	if t.sampler != nil {
		t.sampler.Free()
		t.sampler = nil
	}
}
