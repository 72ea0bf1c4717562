package bench

import (
	"cmp"
	"context"
	"errors"
	"time"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A roundTimer times the pieces of a round one by one, on a model after a context. Each piece is
// built, evaluated and awaited in a separate job, and leaves the context as it was. So each costs
// one wait more than inside a round, and the unexplained rest of a round is less by these waits.
type roundTimer struct {
	thread  *mlx.Thread
	model   lm.Model
	parts   models.Parts
	context int
	ids     []int32 // the context, then a block

	caches  cache.Stack
	logits  *mlx.Array // (cache.MaxBlock, V), kept
	drafts  []timedDraft
	greedy  *sample.Sampler
	sampled *sample.Sampler // at the temperature of the drafts, or sampledTemperature
}

// A timedDraft is a draft that continues as in a round: its context grows by two tokens before each
// proposal.
type timedDraft struct {
	drafter draft.Drafter
	draft   draft.Draft
	tokens  []int32      // the last is the newest, not committed
	taps    []*mlx.Array // (2, H) each, kept
}

// sampledTemperature is measured besides greedy decoding.
const sampledTemperature = 0.8

// newRoundTimer evaluates a context of n tokens. Drafts are proposed at the given temperature. The
// caller closes the timer.
func newRoundTimer(ctx context.Context, t *mlx.Thread, b *models.Bundle, drafters []draft.Drafter,
	n int, temperature float64) (*roundTimer, error) {
	c := b.Model.Config()
	d := &roundTimer{
		thread: t, model: b.Model, parts: b.Parts, context: n,
		ids: TokenIDs(n+cache.MaxBlock, c.VocabSize),
	}
	var taps []int
	err := t.Do(ctx, func(s *mlx.Scope) error {
		d.caches = d.model.NewCaches(cache.Options{})
		d.greedy = sample.New(s, sample.Params{}, 1, c.VocabSize, d.ids[:n])
		d.sampled = sample.New(s, sample.Params{Temperature: cmp.Or(temperature,
			sampledTemperature)}, 1, c.VocabSize, d.ids[:n])
		for _, drafter := range drafters {
			open, err := drafter.Open(s,
				draft.Options{Prompt: d.ids[:n], Sampler: d.sampler(temperature)})
			if err != nil {
				return err
			}
			d.drafts = append(d.drafts, timedDraft{drafter: drafter, draft: open,
				tokens: d.ids[: n+1 : n+1]})
			taps = append(taps, drafter.Taps()...)
		}
		return nil
	})
	for from := 0; from < n && err == nil; from += cache.MaxChunk {
		err = t.Do(ctx, func(s *mlx.Scope) error { return d.chunk(s, from, min(from+cache.MaxChunk, n), taps) })
	}
	if err == nil {
		err = t.Do(ctx, func(s *mlx.Scope) error {
			out := d.forward(s, cache.MaxBlock)
			d.logits = s.Keep(d.model.Unembed(s, out.Hidden))
			return errors.Join(s.Eval(append(d.caches.Arrays(), d.logits)...),
				d.caches.Trim(cache.MaxBlock))
		})
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// chunk evaluates the ids [from, to) of the context.
func (d *roundTimer) chunk(s *mlx.Scope, from, to int, taps []int) error {
	out := d.model.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, d.ids[from:to], to-from), N: to - from, Pos: from, Caches: d.caches,
	}}, taps)
	keep := d.caches.Arrays()
	next := 0
	for i := range d.drafts {
		r := &d.drafts[i]
		outputs := out.Taps[next : next+len(r.drafter.Taps())]
		next += len(outputs)
		// the draft may keep and free them; other drafts have the same taps
		own := make([]*mlx.Array, len(outputs))
		for j, tap := range outputs {
			own[j] = s.Slice(tap, 0, 0, to-from)
		}
		r.draft.Committed(s, d.ids[from:to], from, own)
		keep = append(keep, r.draft.Arrays()...)
		if to < d.context {
			continue
		}
		for _, tap := range outputs {
			two := s.Keep(s.Contiguous(s.Slice(s.Concat(0, tap, tap), 0, 0, 2)))
			r.taps = append(r.taps, two)
			keep = append(keep, two)
		}
	}
	return s.Eval(keep...)
}

// Close frees everything.
func (d *roundTimer) Close() error {
	return d.thread.Do(context.Background(), func(s *mlx.Scope) error {
		d.caches.Free(s)
		for _, r := range d.drafts {
			r.draft.Free(s)
			for _, tap := range r.taps {
				tap.Free()
			}
		}
		d.logits.Free()
		for _, m := range []*sample.Sampler{d.greedy, d.sampled} {
			if m != nil {
				m.Free()
			}
		}
		return nil
	})
}

// forward evaluates n rows after the context.
func (d *roundTimer) forward(s *mlx.Scope, n int) lm.Output {
	return d.model.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, d.ids[d.context:d.context+n], n), N: n, Pos: d.context, Caches: d.caches,
	}}, nil)
}

// time runs work on the MLX thread and returns the milliseconds it takes there.
func (d *roundTimer) time(ctx context.Context,
	work func(s *mlx.Scope) error) (ms float64, err error) {
	err = d.thread.Do(ctx, func(s *mlx.Scope) error {
		begun := time.Now()
		err := work(s)
		ms = figures.Since(begun)
		return err
	})
	return ms, err
}

// sampler returns the greedy sampler for temperature 0, else the other one.
func (d *roundTimer) sampler(temperature float64) *sample.Sampler {
	if temperature > 0 {
		return d.sampled
	}
	return d.greedy
}

// verify times a whole round of n rows: the target's forward, its logits, and the verdict on n-1
// drafts, read.
func (d *roundTimer) verify(ctx context.Context, n int, temperature float64) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		v := d.verdict(s, d.model.Unembed(s, d.forward(s, n).Hidden), temperature)
		if err := s.AsyncEval(append(d.caches.Arrays(), v...)...); err != nil {
			return err
		}
		for _, a := range v {
			if _, err := mlx.Read[int32](s, a); err != nil {
				return err
			}
		}
		return d.caches.Trim(n)
	})
}

// verdict judges n-1 drafts by logits (n, V). It returns arrays of int32: the number of accepted
// drafts and the tokens, or for one row the drawn token.
func (d *roundTimer) verdict(s *mlx.Scope, logits *mlx.Array, temperature float64) []*mlx.Array {
	n, m := logits.Dim(0), d.sampler(temperature)
	if n == 1 {
		return []*mlx.Array{m.Draw(s, logits, nil, d.context+1)}
	}
	drafts := mlx.New(s, d.ids[d.context+1:d.context+n], n-1)
	v := m.Accept(s, sample.Coupled, m.Process(s, logits, drafts, nil), drafts, nil, d.context+1)
	return []*mlx.Array{v.Accepted, v.Tokens}
}

// linears times every linear layer but the head, for n rows.
func (d *roundTimer) linears(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		return s.Eval(d.parts.Linears(s, n, d.model.Config().Dtype))
	})
}

// attention times rotation, cache and attention of every layer, for n rows.
func (d *roundTimer) attention(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		x := d.parts.Attention(s, lm.Batch{{N: n, Pos: d.context, Caches: d.caches}},
			d.model.Config().Dtype)
		return errors.Join(s.Eval(append(d.caches.Arrays(), x)...), d.caches.Trim(n))
	})
}

// head times the logits from hidden states, for n rows.
func (d *roundTimer) head(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		c := d.model.Config()
		return s.Eval(d.model.Unembed(s, s.Zeros(c.Dtype, n, c.HiddenSize)))
	})
}

// sampling times the verdict from logits, for n rows.
func (d *roundTimer) sampling(ctx context.Context, n int, temperature float64) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		return s.Eval(d.verdict(s, s.Slice(d.logits, 0, 0, n), temperature)...)
	})
}

// propose times a proposal of n tokens by the i-th drafter. It first commits two more tokens, whose
// time counts too.
func (d *roundTimer) propose(ctx context.Context, i, n int) (float64, error) {
	r := &d.drafts[i]
	return d.time(ctx, func(s *mlx.Scope) error {
		from := len(r.tokens) - 1
		r.tokens = append(r.tokens, d.ids[d.context], d.ids[d.context+1])
		var taps []*mlx.Array // of the scope: the draft takes them
		for _, tap := range r.taps {
			taps = append(taps, s.Slice(tap, 0, 0, 2))
		}
		r.draft.Committed(s, r.tokens[from:from+2], from, taps)
		p := r.draft.Propose(s, r.tokens, n)
		keep := r.draft.Arrays()
		if p.N > 0 {
			keep = append(keep, p.Tokens)
		}
		if p.LogQ != nil {
			keep = append(keep, p.LogQ)
		}
		return s.Eval(keep...)
	})
}

// plain returns the milliseconds of a plain step of an engine after the context. Its steps are
// pipelined, which a round of one row is not.
func (d *roundTimer) plain(ctx context.Context, e *engine.Engine, steps int) (float64, error) {
	n := steps + 1
	a, err := generate(ctx, e, engine.Request{
		Prompt: d.ids[:d.context], MaxTokens: &n, IgnoreEOS: true, Speculation: withoutDrafts,
	})
	return figures.Milliseconds(a.Stats.Decode) / float64(steps), err
}
