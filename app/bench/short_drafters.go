package bench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/models"
)

// MostDrafters is how many drafters of one model are measured, so that a bench takes some minutes at
// most.
const MostDrafters = 5

// drafters measures each drafter that the model could have, and the lookups alone, one after the
// other. Each takes turns with plain decoding, and has a share of the time of its own. A drafter that
// cannot be loaded is left out, with the reason.
func (b *Short) drafters(ctx context.Context,
	code *workload) (list []control.BenchDrafter, err error) {
	found, err := b.m.Candidates(ctx)
	if err != nil {
		return nil, err
	}
	own, served := b.m.Drafter(), false
	ways := min(len(found), MostDrafters) + 1
	for i, c := range found {
		d := control.BenchDrafter{Name: c.Name, Source: c.Source, Choice: c.Choice}
		switch {
		case own != nil && own.Source() == c.Source:
			d.Served, served = true, true
			err = b.measure(ctx, code, &d, own, i+1, ways)
		case i >= MostDrafters:
			d.Why = fmt.Sprintf("Only the first %d drafters are measured.", MostDrafters)
		default:
			err = b.measureOther(ctx, code, &d, c, i+1, ways)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	d := control.BenchDrafter{Name: control.Lookups, Choice: control.DrafterNone, Served: !served}
	err = b.measure(ctx, code, &d, nil, ways, ways)
	return append(list, d), err
}

// measureOther measures a drafter that requests do not have. It is in memory meanwhile.
func (b *Short) measureOther(ctx context.Context, code *workload, d *control.BenchDrafter,
	c control.DrafterChoice, nth, of int) (err error) {
	if err := b.standBack(ctx); err != nil {
		return err
	}
	other, err := b.m.BorrowDrafter(ctx, c.Source)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.Why = reason(err)
		return nil
	}
	defer func() { err = errors.Join(err, other.GiveBack()) }()
	return b.measure(ctx, code, d, other.Drafter, nth, of)
}

// reason returns an error about a drafter as a sentence. The drafter's name stands beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Message
	}
	if e, ok := errors.AsType[*models.Error](err); ok {
		return control.Sentence(e.Message)
	}
	return control.Sentence(err.Error())
}

// measure compares plain decoding with what requests get that have a drafter, in turns. The drafter
// is nil for the lookups alone.
func (b *Short) measure(ctx context.Context, code *workload, d *control.BenchDrafter,
	with *pool.Drafter, nth, of int) error {
	b.begin(control.BenchProgress{Part: "decode", Total: b.plan.Pairs, Drafter: d.Name, Nth: nth,
		Of: of}, b.plan.Decode)
	m := b.m
	c := contest{
		thread: m.Thread(), model: m.Bundle().Model, pairs: b.plan.Pairs, once: true,
		warm: b.plan.Warm, log: io.Discard, host: b,
		engines: func(model lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(m.Thread(), model, m.Bundle().Tokenizer,
				engine.Options{Drafters: continued(drafters)})
		},
	}
	d.Kind = draft.Ngram{}.Name()
	if with != nil {
		d.Kind, d.Bytes = with.Name(), with.Bytes()
		c.drafts = append(c.drafts, with.Drafter)
	}
	c.drafts = append(c.drafts, draft.Ngram{})
	found, err := c.compare(ctx, code, setting{}, way{}, way{drafter: engine.Auto, depth: adaptive},
		bar{})
	if err != nil {
		return err
	}
	if d.Why = found.failure(d.Kind); d.Why != "" {
		d.Kind, d.Bytes = "", 0
		return nil
	}
	times := found.ratio()
	b.hasTime(times.n) // reports them as done
	d.Decode = control.BenchDecode{
		Plain:           spread(found.estimate(func(p pair) float64 { return p.one.rate() })),
		Drafted:         spread(found.estimate(func(p pair) float64 { return p.two.rate() })),
		Times:           spread(times),
		TokensPerVerify: found.figures().tokens,
		Pairs:           times.n, Prompts: times.prompts, Differing: len(found.wrong),
	}
	for _, n := range found.rejected {
		d.Decode.Left += n
	}
	return nil
}

// failure returns why a drafter was given up in an answer of the second side, as a sentence; empty if
// it never was.
func (c *comparison) failure(drafter string) string {
	for _, p := range c.pairs {
		for _, d := range p.two.stats.Drafters {
			if d.Name == drafter && d.Failed != "" {
				return control.Sentence(d.Failed)
			}
		}
	}
	return ""
}
