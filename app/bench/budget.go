package bench

import (
	"context"
	"fmt"
	"slices"

	"tandem/app/figures"
	"tandem/engine"
)

// A mixture makes prompts of many lengths. Some are new, some repeat an earlier prompt, and some
// continue an earlier text from its end or from its middle.
type mixture struct {
	*checkpointBench
	said []exchange // the latest
}

// An exchange is a prompt, and the same prompt with its answer.
type exchange struct {
	prompt, text []int32
}

// The limits of a mixture's requests.
const (
	mixedText   = 600  // tokens of a new prompt
	mixedAnswer = 96   // tokens of an answer
	mixedLong   = 1500 // tokens of a text that another one continues
	mixedLatest = 60   // texts that are remembered
)

// next returns a prompt.
func (m *mixture) next() []int32 {
	kind := m.random.IntN(4)
	if len(m.said) == 0 {
		kind = 0
	}
	if kind > 0 {
		old := m.said[m.random.IntN(len(m.said))]
		switch {
		case kind == 1:
			return old.prompt
		case len(old.text) > mixedLong:
		case kind == 2:
			return slices.Concat(old.text, m.text(10+m.random.IntN(50)))
		case kind == 3:
			return branch(old.text, 1+m.random.IntN(len(old.text)-1), m.text(10+m.random.IntN(100)))
		}
	}
	return m.text(20 + m.random.IntN(mixedText-20))
}

// A balance holds the memory that checkpoints took, in bytes.
type balance struct {
	most   int64 // the most that the engine reported after a request
	active int64 // the most that MLX held after a request, less what it held before
	left   int64 // what MLX held after the engine closed, less what it held before

	prompt, cached int // tokens
}

// requests lets an engine answer a mixture of n requests. budget is how many bytes its checkpoints
// may take.
func (b *checkpointBench) requests(ctx context.Context, n int, budget int64) (balance, error) {
	var got balance
	before := b.thread.Memory().Active
	e := b.open(engine.Options{Checkpoints: budget})
	defer e.Close()
	m := &mixture{checkpointBench: b}
	for i := range n {
		prompt := m.next()
		a, err := b.ask(ctx, e, engine.Request{Prompt: prompt,
			MaxTokens: new(1 + b.random.IntN(mixedAnswer)), Speculation: withoutDrafts})
		if err != nil {
			return got, err
		}
		m.said = append(m.said, exchange{prompt, slices.Concat(prompt, a.ids)})
		m.said = m.said[max(0, len(m.said)-mixedLatest):]
		got.most = max(got.most, a.stats.CheckpointBytes)
		got.active = max(got.active, b.thread.Memory().Active-before)
		got.prompt, got.cached = got.prompt+a.stats.PromptTokens, got.cached+a.stats.CachedTokens
		fmt.Fprintf(b.log, "\rrequest %d ", i+1)
	}
	fmt.Fprintln(b.log)
	e.Close()
	got.left = b.thread.Memory().Active - before
	return got, nil
}

// memory returns the table of what checkpoints take when there is more to keep than the budget
// allows. The budget is the most that the first few requests took.
func (b *checkpointBench) memory(ctx context.Context) (figures.Table, error) {
	t := figures.Table{
		Title: "Memory of checkpoints, MB",
		Columns: []string{"requests", "percent of prompts restored", "budget", "most kept",
			"most held by MLX", "MLX before", "beyond that after closing",
			"budget kept"},
		Notes: []string{
			"Requests are new, repeated, longer by a turn, or diverge in the middle of a text. Most is measured after each request, less what was held before.",
			"The budget is what a part of such requests takes when everything is kept.",
		},
	}
	few, err := b.requests(ctx, max(8, b.mixed/20), b.budget())
	if err != nil {
		return t, err
	}
	budget, before := few.most, b.thread.Memory().Active
	got, err := b.requests(ctx, b.mixed, budget)
	if err != nil {
		return t, err
	}
	verdict := "met"
	if got.most > budget {
		verdict = "missed"
		b.wrong = append(b.wrong, fmt.Errorf("checkpoints took %d bytes, their budget is %d",
			got.most, budget))
	}
	t.Rows = append(t.Rows, []any{b.mixed, figures.Round(100 * float64(got.cached) / float64(got.prompt)),
		figures.Megabytes(budget), figures.Megabytes(got.most),
		figures.Megabytes(got.active), figures.Megabytes(before), figures.Megabytes(got.left), verdict})
	return t, nil
}
