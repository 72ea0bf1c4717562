package bench

import (
	"context"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
)

// verifyTimes holds the milliseconds of all turns on one roundTimer.
type verifyTimes struct {
	timer    *roundTimer
	drafters []draft.Drafter
	plain    []float64                    // of a plain step
	rows     map[string]map[int][]float64 // of a piece of a round, by its name and its rows
}

// clear clears all times so far.
func (t *verifyTimes) clear() {
	clear(t.rows)
	t.plain = nil
}

// add keeps the time of a piece. It returns err, for the caller to end on.
func (t *verifyTimes) add(piece string, rows int, ms float64, err error) error {
	if t.rows[piece] == nil {
		t.rows[piece] = map[int][]float64{}
	}
	t.rows[piece][rows] = append(t.rows[piece][rows], ms)
	return err
}

// timePlain times plain steps of an engine.
func (t *verifyTimes) timePlain(ctx context.Context, e *engine.Engine, steps int) error {
	ms, err := t.timer.plain(ctx, e, steps)
	if err != nil {
		return err
	}
	t.plain = append(t.plain, ms)
	return nil
}

// timeRows times a round of n rows and each of its pieces once.
func (t *verifyTimes) timeRows(ctx context.Context, n int) error {
	d := t.timer
	for piece, run := range map[string]func(context.Context, int) (float64, error){
		"linears": d.linears, "attention": d.attention, "head": d.head,
	} {
		ms, err := run(ctx, n)
		if err := t.add(piece, n, ms, err); err != nil {
			return err
		}
	}
	for piece, temperature := range map[string]float64{"sampling": 0,
		"sampled": sampledTemperature} {
		ms, err := d.sampling(ctx, n, temperature)
		if err := t.add(piece, n, ms, err); err != nil {
			return err
		}
	}
	ms, err := d.verify(ctx, n, 0)
	if err := t.add("verify", n, ms, err); err != nil {
		return err
	}
	for i, r := range t.drafters {
		if n < 2 || n-1 > r.MaxDrafts() {
			continue
		}
		ms, err := d.propose(ctx, i, n-1)
		if err := t.add(r.Name(), n, ms, err); err != nil {
			return err
		}
	}
	return nil
}

// cost returns the median of each piece of a round of n rows.
func (t *verifyTimes) cost(n int) blockCost {
	of := func(piece string) float64 { return figures.Median(t.rows[piece][n]) }
	c := blockCost{
		Rows: n, Verify: of("verify"), Linears: of("linears"), Attention: of("attention"),
		Head:     of("head"),
		Sampling: of("sampling"), Sampled: of("sampled"), Drafts: map[string]float64{},
	}
	for _, r := range t.drafters {
		if ms := of(r.Name()); ms > 0 {
			c.Drafts[r.Name()] = ms
		}
	}
	return c
}
