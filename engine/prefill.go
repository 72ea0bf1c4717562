package engine

import (
	"context"
	"time"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// scoreRows bounds the logits held at once while a prompt is scored:
// scoreRows x vocabulary x 4 bytes.
const scoreRows = 64

// prefill evaluates the next chunk of a task's prompt. After the last chunk the first token is in
// flight.
func (r *runner) prefill(t *task) error {
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.stats.Queue = t.begun.Sub(t.arrived)
		t.mail.leaveQueue()
	}
	var scored []Token
	err := r.thread.Do(context.Background(), func(s *mlx.Scope) (err error) {
		if t.caches == nil {
			r.checkpoints.restore(s, t)
			t.mail.restore(t.stats.CachedTokens)
			t.sampler = sample.New(s, t.req.Sampling, t.seed, r.vocab, t.req.Prompt)
			if g := t.req.Generated; len(g) > 0 {
				t.sampler.Observe(s, mlx.New(s, g, len(g)))
			}
			r.drafters.open(s, t)
			r.planner.begin(t)
		}
		if old, ok := limitMemory(r.thread, s); ok {
			defer s.SetMemoryLimit(old)
		}
		from, n := t.fed, min(r.chunk, t.remaining())
		layers := r.drafters.taps(t)
		out := r.model.Forward(s, lm.Batch{{
			Tokens: mlx.New(s, t.tokens[from:from+n], n), N: n, Pos: from, Caches: t.caches,
		}}, layers)
		hidden := out.Hidden // (n, H)
		r.drafters.commit(s, t, committed{tokens: t.tokens[from : from+n], from: from, layers: layers,
			outputs: out.Taps})
		pending := t.liveArrays()
		if t.req.PromptLogprobs {
			// Evaluated first and kept, so that scoring in pieces does not
			// evaluate the chunk again.
			defer s.Keep(hidden).Free()
			if err := s.Eval(append(pending, hidden)...); err != nil {
				return err
			}
			pending = nil
			if scored, err = r.scorePrompt(s, t, hidden, from, n); err != nil {
				return err
			}
		}
		if from+n == t.given && t.limit > 0 {
			last := s.Slice(hidden, 0, n-1, n)
			allowed, err := t.allowed(s, r.vocab)
			if err != nil {
				return err
			}
			first := t.draw(s, r.model.Unembed(s, last), allowed, from+n)
			if err = s.AsyncEval(append(pending, first.arrays()...)...); err == nil {
				first.keep(s)
				t.inFlight = first
			}
		} else if pending != nil {
			err = s.Eval(pending...)
		}
		if n > cache.MaxBlock {
			// Clearing waits for all streams that the process ever had. Fewer rows hold no
			// more than decoding does, so it is left out for them.
			s.ClearCache()
		}
		return err
	})
	if err != nil {
		return err
	}
	t.fed = min(t.fed+r.chunk, t.given)
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
	return nil
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
