package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"tandem/app/figures"
	"tandem/engine"
)

// captureTokens is the length of the answers that are measured. Each has seven checkpoints, as
// close to one another as they ever are.
const captureTokens = 448

// captureDepth is the number of drafts in a round, on both sides. It is fixed, so that the result
// does not depend on what the sides learn.
const captureDepth = 4

// captureBar is the least speed of decoding with checkpoints, on disk too, as a ratio to decoding
// without them.
var captureBar = figures.Bar{Min: 0.97}

// captures compares decoding with checkpoints to decoding without them. It does so without drafts
// and with the first drafter.
func (b *checkpointBench) captures(ctx context.Context) (figures.Table, error) {
	t := figures.Table{
		Title: fmt.Sprintf("What captures cost an answer of %d tokens, with files", captureTokens),
		Columns: []string{"drafter", "tokens/s off", "tokens/s on", "times as fast", "low", "high",
			"end to end", "tokens/verify",
			"same ids", "files", "pairs", "prompts", "at least"},
		Notes: []string{fmt.Sprintf("Each prompt is new to both sides. A drafter guesses %d tokens in each round.",
			captureDepth)},
	}
	for _, w := range []Way{{}, {Drafter: b.loaded.List[0].Name(), Depth: captureDepth}} {
		row, err := b.capture(ctx, w)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// capture returns the row of one way to decode.
func (b *checkpointBench) capture(ctx context.Context, w Way) (row []any, err error) {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store := b.store(dir)
	defer store.Close()
	var o engine.Options
	if w.Drafter != "" {
		o.Drafters = b.loaded.List
	}
	off := b.open(o)
	defer off.Close()
	o.Checkpoints, o.Store = b.budget(), store
	on := b.open(o)
	defer on.Close()
	c := &Comparison{One: w, Two: w, Bar: captureBar}
	took := func(i int) (p Pair, err error) {
		r := engine.Request{
			// prompts recur; one id makes each new
			Prompt:    slices.Concat(b.text(1), b.code.Prompts[i%len(b.code.Prompts)].IDs),
			MaxTokens: new(captureTokens), Speculation: w.Speculation(),
		}
		p.Index = i
		if p.One, err = b.ask(ctx, off, r); err != nil {
			return p, err
		}
		if p.Two, err = b.ask(ctx, on, r); err != nil {
			return p, err
		}
		return p, awaitWritten(ctx, store)
	}
	if _, err := took(len(b.code.Prompts) - 1); err != nil { // unmeasured: it takes memory
		return nil, err
	}
	for i := 0; c.NeedsPairs(b.pairs, b.once); i++ {
		p, err := took(i)
		if err != nil {
			return nil, err
		}
		c.Pairs = append(c.Pairs, p)
		fmt.Fprintf(b.log, "\rcaptures, %s, pair %d ", w, len(c.Pairs))
	}
	fmt.Fprintln(b.log)
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var rates [2][]float64
	for _, p := range c.Pairs {
		rates[0], rates[1] = append(rates[0], p.One.Rate()), append(rates[1], p.Two.Rate())
	}
	e := c.Ratio()
	drafter := engine.None
	if w.Drafter != "" {
		drafter = w.Drafter
	}
	return []any{drafter, figures.Round(figures.Median(rates[0])),
		figures.Round(figures.Median(rates[1])), e.Median, e.Low, e.High,
		c.Whole().Median, figures.OrDash(c.figures().tokens),
		fmt.Sprintf("%d/%d", c.Count(func(p Pair) bool { return slices.Equal(p.One.IDs, p.Two.IDs) }),
			len(c.Pairs)),
		len(files), e.N, e.Prompts, c.Verdict()}, nil
}
