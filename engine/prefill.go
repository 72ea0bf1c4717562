package engine

import (
	"time"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// scoreRows bounds the logits held at once while a prompt is scored:
// scoreRows x vocabulary x 4 bytes.
const scoreRows = 64

// A chunk is a forward over some of a prompt's tokens.
type chunk struct {
	task    *task
	from, n int // tokens [from, from+n) of the task
	layers  []int

	out lm.Output // which are kept, of a chunk with pauses
	err error     // of a chunk with pauses
}

// prefill evaluates the next chunk of a task's prompt. After the last chunk the first token is in
// flight. A chunk that takes long it only begins, and returns what is under way; else it returns nil.
func (r *runner) prefill(t *task) *underWay {
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.stats.Queue = t.begun.Sub(t.arrived)
		t.mail.leaveQueue()
	}
	c := &chunk{task: t}
	long := false
	var scored []Token
	err := work(r.thread, func(s *mlx.Scope) (err error) {
		r.open(s, t)
		c.from, c.n, c.layers = t.fed, min(r.chunk, t.remaining()), r.drafters.taps(t)
		if long = r.pauses.worth(c.n); long {
			return nil
		}
		return r.pauses.run(s, c.n, t.caches.Arrays, func() (err error) {
			c.out = r.forwardChunk(s, c)
			scored, err = r.takeOutputs(s, c)
			return err
		})
	}, t)
	if !long || err != nil {
		r.finishChunk(c, scored, err)
		return nil
	}
	return evaluateBeside(t, func() { r.evaluate(c) }, func() { r.endChunk(c) })
}

// open restores what a task that begins finds among the checkpoints, and makes its sampler and drafts.
func (r *runner) open(s *mlx.Scope, t *task) {
	if t.caches != nil {
		return
	}
	r.checkpoints.restore(s, t)
	t.mail.restore(t.stats.CachedTokens)
	t.sampler = sample.New(s, t.req.Sampling, t.seed, r.vocab, t.req.Prompt)
	if g := t.req.Generated; len(g) > 0 {
		t.sampler.Observe(s, mlx.New(s, g, len(g)))
	}
	r.drafters.open(s, t)
	r.planner.begin(t)
}

// forwardChunk builds the forward of a chunk.
func (r *runner) forwardChunk(s *mlx.Scope, c *chunk) lm.Output {
	return r.model.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, c.task.tokens[c.from:c.from+c.n], c.n), N: c.n, Pos: c.from, Caches: c.task.caches,
	}}, c.layers)
}

// evaluate evaluates a chunk with pauses. It runs beside the scheduler's goroutine, which leaves the task
// alone meanwhile.
func (r *runner) evaluate(c *chunk) {
	c.err = r.pauses.do(c.task.remaining() > r.chunk, counted(r.thread, func(s *mlx.Scope) error {
		return r.pauses.run(s, c.n, c.task.caches.Arrays, func() error {
			out := r.forwardChunk(s, c)
			arrays := append([]*mlx.Array{out.Hidden}, out.Taps...)
			if err := s.Eval(append(c.task.caches.Arrays(), arrays...)...); err != nil {
				return err
			}
			for _, a := range arrays {
				s.Keep(a)
			}
			c.out = out
			return nil
		})
	}, c.task))
}

// endChunk goes on with a chunk that evaluate has evaluated.
func (r *runner) endChunk(c *chunk) {
	var scored []Token
	err := c.err
	if err == nil {
		err = work(r.thread, func(s *mlx.Scope) (err error) {
			for _, a := range append(c.out.Taps, c.out.Hidden) {
				s.Adopt(a)
			}
			if old, ok := limitMemory(r.thread, s); ok {
				defer s.SetMemoryLimit(old)
			}
			scored, err = r.takeOutputs(s, c)
			return err
		}, c.task)
	}
	r.finishChunk(c, scored, err)
}

// takeOutputs gives the outputs of a chunk to the drafts, and evaluates what is not yet evaluated. It
// returns the scores of the prompt, if they are wanted. After the last chunk it draws the first token.
func (r *runner) takeOutputs(s *mlx.Scope, c *chunk) (scored []Token, err error) {
	t, end := c.task, c.from+c.n
	r.drafters.commit(s, t, committed{tokens: t.tokens[c.from:end], from: c.from, layers: c.layers,
		outputs: c.out.Taps})
	pending := t.liveArrays()
	if t.req.PromptLogprobs {
		// Evaluated first and kept, so that scoring in pieces does not
		// evaluate the chunk again.
		defer s.Keep(c.out.Hidden).Free()
		if err := s.Eval(append(pending, c.out.Hidden)...); err != nil {
			return nil, err
		}
		pending = nil
		if scored, err = r.scorePrompt(s, t, c.out.Hidden, c.from, c.n); err != nil {
			return nil, err
		}
	}
	if end == t.given && t.limit > 0 {
		last := s.Slice(c.out.Hidden, 0, c.n-1, c.n)
		allowed, err := t.allowed(s, r.vocab)
		if err != nil {
			return nil, err
		}
		first := t.draw(s, r.model.Unembed(s, last), allowed, end)
		if err := s.AsyncEval(append(pending, first.arrays()...)...); err != nil {
			return nil, err
		}
		first.keep(s)
		t.inFlight = first
	} else if pending != nil {
		if err := s.Eval(pending...); err != nil {
			return nil, err
		}
	}
	if c.n > cache.MaxBlock {
		// Clearing waits for all streams that the process ever had. Fewer rows hold no
		// more than decoding does, so it is left out for them.
		s.ClearCache()
	}
	return scored, nil
}

// finishChunk notes that a chunk was evaluated, or ends its task with err.
func (r *runner) finishChunk(c *chunk, scored []Token, err error) {
	t := c.task
	if err != nil {
		r.finishFailed(err, t)
		return
	}
	t.fed = c.from + c.n
	r.checkpoints.save(t)
	for _, tok := range scored {
		t.mail.post(tok)
	}
	t.mail.progress(min(t.fed, len(t.req.Prompt)), len(t.req.Prompt))
	if !t.prefilling() && t.limit == 0 {
		t.stats.Prefill = time.Since(t.begun)
		t.stats.Finish = FinishLength
		r.finish(t, nil)
	}
}

// scorePrompt returns the prompt tokens that rows [from, from+n) predict, with their
// log-probabilities. The first chunk also brings the very first token, which no row predicts. The
// caller keeps hidden (n, H).
func (r *runner) scorePrompt(s *mlx.Scope, t *task, hidden *mlx.Array,
	from, n int) ([]Token, error) {
	prompt := t.tokens // nothing is generated yet
	var out []Token
	if from == 0 {
		out = append(out, Token{ID: prompt[0], Text: t.stream.Push(prompt[0]), Prompt: true})
	}
	n = min(n, len(prompt)-1-from) // the last row predicts the first generated token
	for lo := 0; lo < n; lo += scoreRows {
		hi := min(lo+scoreRows, n)
		next := prompt[from+lo+1 : from+hi+1]
		logits := r.model.Unembed(s, s.Slice(hidden, 0, lo, hi)) // (rows, V)
		d := &draw{token: mlx.New(s, next, len(next))}
		d.chosen, d.topIDs, d.topLogprob = sample.Logprobs(s, logits, d.token, t.req.TopLogprobs)
		if err := s.Eval(d.arrays()...); err != nil {
			return nil, err
		}
		tokens, err := d.read(s)
		if err != nil {
			return nil, err
		}
		for _, tok := range tokens {
			if !allNumbers([]float32{tok.Logprobs.Logprob}) {
				return nil, errNoNumbers
			}
			tok.Prompt, tok.Text = true, t.stream.Push(tok.ID)
			out = append(out, tok)
		}
	}
	return out, nil
}
