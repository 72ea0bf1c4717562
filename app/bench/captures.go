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

// captureDepth is the number of drafts in a round, on both sides. It is fixed, so that what the
// sides learn makes no difference.
const captureDepth = 4

// captureBar is the least speed of decoding with checkpoints, on disk too, as a ratio to decoding
// without them.
var captureBar = figures.Bar{Least: 0.97}

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
	for _, w := range []way{{}, {drafter: b.loaded.list[0].Name(), depth: captureDepth}} {
		row, err := b.capture(ctx, w)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// capture returns the row of one way to decode.
func (b *checkpointBench) capture(ctx context.Context, w way) (row []any, err error) {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store := b.store(dir)
	defer store.Close()
	var o engine.Options
	if w.drafter != "" {
		o.Drafters = b.loaded.list
	}
	off := b.open(o)
	defer off.Close()
	o.Checkpoints, o.Store = b.budget(), store
	on := b.open(o)
	defer on.Close()
	c := &comparison{one: w, two: w, bar: captureBar}
	took := func(i int) (p pair, err error) {
		r := engine.Request{
			// prompts recur; one id makes each new
			Prompt:    slices.Concat(b.text(1), b.code.prompts[i%len(b.code.prompts)].ids),
			MaxTokens: new(captureTokens), Speculation: w.speculation(),
		}
		p.index = i
		if p.one, err = b.ask(ctx, off, r); err != nil {
			return p, err
		}
		if p.two, err = b.ask(ctx, on, r); err != nil {
			return p, err
		}
		return p, awaitWritten(ctx, store)
	}
	if _, err := took(len(b.code.prompts) - 1); err != nil { // unmeasured: it takes memory
		return nil, err
	}
	for i := 0; c.needsPairs(b.pairs, b.once); i++ {
		p, err := took(i)
		if err != nil {
			return nil, err
		}
		c.pairs = append(c.pairs, p)
		fmt.Fprintf(b.log, "\rcaptures, %s, pair %d ", w, len(c.pairs))
	}
	fmt.Fprintln(b.log)
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var rates [2][]float64
	for _, p := range c.pairs {
		rates[0], rates[1] = append(rates[0], p.one.rate()), append(rates[1], p.two.rate())
	}
	e := c.ratio()
	drafter := engine.None
	if w.drafter != "" {
		drafter = w.drafter
	}
	return []any{drafter, figures.Round(figures.Median(rates[0])), figures.Round(figures.Median(rates[1])), e.Median, e.Low, e.High,
		c.whole().Median, figures.OrDash(c.figures().tokens),
		fmt.Sprintf("%d/%d", c.count(func(p pair) bool { return slices.Equal(p.one.ids, p.two.ids) }),
			len(c.pairs)),
		len(files), e.N, e.Prompts, c.verdict()}, nil
}
