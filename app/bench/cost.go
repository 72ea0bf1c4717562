package bench

import (
	"cmp"
	"context"
	"errors"
	"time"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A stand is a model behind a context, on which pieces of a round are timed one
// by one. Each is built, evaluated and waited for by itself, in a job of its
// own, and leaves the context as it was; so each has the cost of one wait more
// than it has inside a round, which shows in what remains unexplained.
type stand struct {
	thread  *mlx.Thread
	model   lm.Model
	parts   models.Parts
	context int
	ids     []int32 // the context and a block behind it

	caches  cache.Stack
	logits  *mlx.Array // (cache.MaxBlock, V), kept
	drafts  []standDraft
	greedy  *sample.Sampler
	sampled *sample.Sampler // at the temperature of the drafts, or sampledTemperature
}

// A standDraft is a draft that goes on as the context would: every proposal
// comes after two more tokens, so that its own context grows.
type standDraft struct {
	drafter draft.Drafter
	draft   draft.Draft
	tokens  []int32      // the last is the newest, not committed
	taps    []*mlx.Array // (2, H) each, kept
}

// sampledTemperature is the one beside greedy that is measured.
const sampledTemperature = 0.8

// newStand evaluates a context of n tokens. Drafts are proposed at a
// temperature.
func newStand(ctx context.Context, t *mlx.Thread, b *models.Bundle, drafters []draft.Drafter, n int, temperature float64) (*stand, error) {
	c := b.Model.Config()
	d := &stand{
		thread: t, model: b.Model, parts: b.Parts, context: n,
		ids: benchIDs(n+cache.MaxBlock, c.VocabSize),
	}
	var taps []int
	err := t.Do(ctx, func(s *mlx.Scope) error {
		d.caches = d.model.NewCaches(cache.Options{})
		d.greedy = sample.New(s, sample.Params{}, 1, c.VocabSize, d.ids[:n])
		d.sampled = sample.New(s, sample.Params{Temperature: cmp.Or(temperature, sampledTemperature)}, 1, c.VocabSize, d.ids[:n])
		for _, drafter := range drafters {
			open, err := drafter.Open(s, draft.Options{Prompt: d.ids[:n], Sampler: d.sampler(temperature)})
			if err != nil {
				return err
			}
			d.drafts = append(d.drafts, standDraft{drafter: drafter, draft: open, tokens: d.ids[: n+1 : n+1]})
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
			return errors.Join(s.Eval(append(d.caches.Arrays(), d.logits)...), d.caches.Trim(cache.MaxBlock))
		})
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// chunk evaluates the ids [from, to) of the context.
func (d *stand) chunk(s *mlx.Scope, from, to int, taps []int) error {
	out := d.model.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, d.ids[from:to], to-from), N: to - from, Pos: from, Caches: d.caches,
	}}, taps)
	keep := d.caches.Arrays()
	next := 0
	for i := range d.drafts {
		r := &d.drafts[i]
		outputs := out.Taps[next : next+len(r.drafter.Taps())]
		next += len(outputs)
		own := make([]*mlx.Array, len(outputs)) // it may keep and free them, and others have the same
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
func (d *stand) Close() error {
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

// forward evaluates n rows behind the context.
func (d *stand) forward(s *mlx.Scope, n int) lm.Output {
	return d.model.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, d.ids[d.context:d.context+n], n), N: n, Pos: d.context, Caches: d.caches,
	}}, nil)
}

// time runs work on the MLX thread and returns the milliseconds it takes there.
func (d *stand) time(ctx context.Context, work func(s *mlx.Scope) error) (ms float64, err error) {
	err = d.thread.Do(ctx, func(s *mlx.Scope) error {
		begun := time.Now()
		err := work(s)
		ms = since(begun)
		return err
	})
	return ms, err
}

// sampler returns the greedy one, or the other.
func (d *stand) sampler(temperature float64) *sample.Sampler {
	if temperature > 0 {
		return d.sampled
	}
	return d.greedy
}

// verify is a whole round of n rows: the target's forward, its logits and the
// verdict on n-1 drafts, read.
func (d *stand) verify(ctx context.Context, n int, temperature float64) (float64, error) {
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

// verdict judges drafts by logits (n, V): arrays of int32.
func (d *stand) verdict(s *mlx.Scope, logits *mlx.Array, temperature float64) []*mlx.Array {
	n, m := logits.Dim(0), d.sampler(temperature)
	if n == 1 {
		return []*mlx.Array{m.Draw(s, logits, nil, d.context+1)}
	}
	drafts := mlx.New(s, d.ids[d.context+1:d.context+n], n-1)
	v := m.Accept(s, sample.Coupled, m.Process(s, logits, drafts, nil), drafts, nil, d.context+1)
	return []*mlx.Array{v.Accepted, v.Tokens}
}

// linears is every linear layer but the head.
func (d *stand) linears(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		return s.Eval(d.parts.Linears(s, n, d.model.Config().Dtype))
	})
}

// attention is rotation, cache and attention of every layer.
func (d *stand) attention(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		x := d.parts.Attention(s, lm.Batch{{N: n, Pos: d.context, Caches: d.caches}}, d.model.Config().Dtype)
		return errors.Join(s.Eval(append(d.caches.Arrays(), x)...), d.caches.Trim(n))
	})
}

// head is logits from hidden states.
func (d *stand) head(ctx context.Context, n int) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		c := d.model.Config()
		return s.Eval(d.model.Unembed(s, s.Zeros(c.Dtype, n, c.HiddenSize)))
	})
}

// sampling is the verdict from logits.
func (d *stand) sampling(ctx context.Context, n int, temperature float64) (float64, error) {
	return d.time(ctx, func(s *mlx.Scope) error {
		return s.Eval(d.verdict(s, s.Slice(d.logits, 0, 0, n), temperature)...)
	})
}

// propose is a proposal of n tokens by the i-th drafter, two tokens after the
// last, and the context of those two.
func (d *stand) propose(ctx context.Context, i, n int) (float64, error) {
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

// plain returns the milliseconds of a plain step of an engine behind the
// context: pipelined, which a round of one row is not.
func (d *stand) plain(ctx context.Context, e *engine.Engine, steps int) (float64, error) {
	n := steps + 1
	var stats engine.Stats
	for _, err := range e.Generate(ctx, engine.Request{
		Prompt: d.ids[:d.context], MaxTokens: &n, IgnoreEOS: true,
		Speculation: engine.Speculation{Drafter: engine.None},
		Done:        func(s engine.Stats) { stats = s },
	}) {
		if err != nil {
			return 0, err
		}
	}
	return milliseconds(stats.Decode) / float64(steps), nil
}
