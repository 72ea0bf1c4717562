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

// breakdown returns a table of where the time of a round goes, for fixed block sizes. It is nil if
// there is nothing to show.
//
// An engine does not wait for a draft alone, so draft and verify come from answers that do wait.
// Both are also timed outside an engine, after a context as long as the section's in the middle of
// an answer. If a time alone is below that in a round, the difference is the price of alternating.
// Everything is measured once more in turns, so that the figures add up on a busy machine.
func (b *speculation) breakdown(ctx context.Context, s section,
	done []*comparison) (*figures.Table, error) {
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
		for _, p := range c.pairs {
			length += p.one.stats.PromptTokens + len(p.one.ids)/2
			pairs++
		}
	}
	if pairs == 0 {
		return nil, nil
	}
	d, err := newRoundTimer(ctx, b.thread, b.bundle, b.drafts, length/pairs, s.temperature)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for _, c := range done {
		w := c.two
		// A draft that goes on from others is none by itself.
		alone := slices.ContainsFunc(b.drafts,
			func(d draft.Drafter) bool { return d.Name() == w.drafter })
		if w.depth <= 0 || !alone || c.one != (way{}) || c.figures().round == 0 {
			continue
		}
		f, p, err := b.probe(ctx, s, c, d)
		if err != nil {
			return nil, err
		}
		row := []any{
			w.drafter, w.block(),
			string(cmp.Or(w.rollback, engine.Trim)), string(cmp.Or(w.rule, engine.Coupled)),
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

// probed is how many answers each way gives once more.
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
func (b *speculation) probe(ctx context.Context, s section, c *comparison,
	d *roundTimer) (f roundFigures, p roundParts, err error) {
	slow := c.two
	slow.timed = !slow.fused
	plain, two, timed := b.open(way{}), b.open(c.two), b.open(slow)
	defer plain.Close()
	defer two.Close()
	defer timed.Close()
	arm := slices.IndexFunc(d.drafts,
		func(r timedDraft) bool { return r.drafter.Name() == c.two.drafter })
	again := &comparison{one: c.one, two: c.two}
	rounds := 0
	var drafts, verifies []float64
	for _, known := range c.pairs[:min(probed, len(c.pairs))] {
		next := pair{index: known.index}
		var waited response
		for _, a := range []struct {
			side *side
			to   *response
		}{{plain, &next.one}, {two, &next.two}, {timed, &waited}} {
			if _, err := b.thread.TimeC(ctx, a.side == two); err != nil {
				return f, p, err
			}
			if *a.to, err = a.side.answer(ctx, s.workload, known.index, s.setting); err != nil {
				return f, p, err
			}
		}
		again.pairs = append(again.pairs, next)
		if slow.timed {
			p.draft += figures.Milliseconds(waited.stats.Draft)
			p.verify += figures.Milliseconds(waited.stats.Verify)
			rounds += waited.stats.Blocks.Count
		}
		for turn := range 4 {
			draft, err := d.propose(ctx, arm, c.two.depth)
			if err != nil {
				return f, p, err
			}
			verify, err := d.verify(ctx, c.two.depth+1, s.temperature)
			if err != nil {
				return f, p, err
			}
			// the first turn compiles kernels and takes memory
			if turn > 0 || len(again.pairs) > 1 {
				drafts, verifies = append(drafts, draft), append(verifies, verify)
			}
		}
	}
	p.draft /= float64(max(rounds, 1))
	p.verify /= float64(max(rounds, 1))
	p.draftAlone, p.verifyAlone = figures.Median(drafts), figures.Median(verifies)
	return again.figures(), p, nil
}
