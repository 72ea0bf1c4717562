package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
)

// breakdown returns a table of where the time of a round goes, for fixed block sizes. It returns
// nil if there is nothing to show.
//
// An engine does not wait for drafts by themselves, so draft and verify come from answers that do
// wait. Both are also timed outside an engine, after a context as long as the section's in the
// middle of an answer. If a time measured alone is below the time in a round, the difference is the
// cost of alternating. Everything is measured once more in turns, so that the figures add up on a
// busy machine.
func (b *speculation) breakdown(ctx context.Context, s section,
	done []*Comparison) (*figures.Table, error) {
	t := &figures.Table{
		Title: "where the time of a round with drafts goes, in ms: " + s.String(),
		Columns: []string{
			"drafter", "block", "rollback", "rule", "plain step", "round", "first 8", "longest",
			"host", "in MLX", "wait",
			"draft", "verify", "alone: draft", "verify", "syncs", "tokens/verify",
			"(verify+draft)/plain", "needed",
		},
		Notes: []string{
			"of all rounds: host is our own code, wait is reads that block, in MLX is the rest: it builds and dispatches graphs while the device computes",
			fmt.Sprintf("needed: the tokens that make a round %.2f times as fast as plain decoding, if it only drafted and verified",
				s.target()),
			"alone: draft and verify outside an engine; each proposal follows a context that is two tokens longer than the last",
		},
	}
	length, pairs := 0, 0
	for _, c := range done {
		for _, p := range c.Pairs {
			length += p.One.Stats.PromptTokens + len(p.One.IDs)/2
			pairs++
		}
	}
	if pairs == 0 {
		return nil, nil
	}
	d, err := newRoundTimer(ctx, b.Thread, b.bundle, b.Drafters, length/pairs, s.Temperature)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for _, c := range done {
		w := c.Two
		// A draft that continues others' is not a draft by itself.
		alone := slices.ContainsFunc(b.Drafters,
			func(d draft.Drafter) bool { return d.Name() == w.Drafter })
		if w.Depth <= 0 || !alone || c.One != (Way{}) || c.figures().round == 0 {
			continue
		}
		f, p, err := b.probe(ctx, s, c, d)
		if err != nil {
			return nil, err
		}
		row := []any{
			w.Drafter, w.Block(),
			string(cmp.Or(w.Rollback, engine.Trim)), string(cmp.Or(w.Rule, engine.Coupled)),
			f.step, f.round, f.first, f.longest, f.host, f.inMLX, f.wait,
		}
		both := cmp.Or(p.draft+p.verify, p.draftAlone+p.verifyAlone) / f.step
		t.Rows = append(t.Rows, append(row, figures.OrDash(p.draft), figures.OrDash(p.verify), p.draftAlone,
			p.verifyAlone, f.syncs, f.tokens, both, s.target()*both))
	}
	if t.Rows == nil {
		return nil, nil
	}
	return t, nil
}

// probed is how many answers of each way are measured again.
const probed = 4

// A roundParts holds the milliseconds of drafting and verifying in a round. draft and verify are
// measured in an engine, and are 0 where both are fused. The others are measured outside an engine.
type roundParts struct{ draft, verify, draftAlone, verifyAlone float64 }

// probe measures four things in turns:
//
//   - plain decoding;
//   - the second side of a comparison;
//   - the same side when it waits for its drafts;
//   - drafting and verifying on a roundTimer.
func (b *speculation) probe(ctx context.Context, s section, c *Comparison,
	d *roundTimer) (f roundFigures, p roundParts, err error) {
	slow := c.Two
	slow.Timed = !slow.Fused
	plain, two, timed := b.Open(Way{}), b.Open(c.Two), b.Open(slow)
	defer plain.Close()
	defer two.Close()
	defer timed.Close()
	arm := slices.IndexFunc(d.drafts,
		func(r timedDraft) bool { return r.drafter.Name() == c.Two.Drafter })
	again := &Comparison{One: c.One, Two: c.Two}
	rounds := 0
	var drafts, verifies []float64
	for _, known := range c.Pairs[:min(probed, len(c.Pairs))] {
		next := Pair{Index: known.Index}
		var waited Response
		for _, a := range []struct {
			side *Side
			to   *Response
		}{{plain, &next.One}, {two, &next.Two}, {timed, &waited}} {
			if _, err := b.Thread.TimeC(ctx, a.side == two); err != nil {
				return f, p, err
			}
			if *a.to, err = a.side.Answer(ctx, s.Workload, known.Index, s.Setting); err != nil {
				return f, p, err
			}
		}
		again.Pairs = append(again.Pairs, next)
		if slow.Timed {
			p.draft += figures.Milliseconds(waited.Stats.Draft)
			p.verify += figures.Milliseconds(waited.Stats.Verify)
			rounds += waited.Stats.Blocks.Count
		}
		for turn := range 4 {
			draft, err := d.propose(ctx, arm, c.Two.Depth)
			if err != nil {
				return f, p, err
			}
			verify, err := d.verify(ctx, c.Two.Depth+1, s.Temperature)
			if err != nil {
				return f, p, err
			}
			// the first turn compiles kernels and allocates memory
			if turn > 0 || len(again.Pairs) > 1 {
				drafts, verifies = append(drafts, draft), append(verifies, verify)
			}
		}
	}
	p.draft /= float64(max(rounds, 1))
	p.verify /= float64(max(rounds, 1))
	p.draftAlone, p.verifyAlone = figures.Median(drafts), figures.Median(verifies)
	return again.figures(), p, nil
}
