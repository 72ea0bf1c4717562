package bench

import (
	"context"
	"fmt"
	"slices"

	"tandem/engine"
)

// mixture makes requests of many lengths, new ones and such as go on with
// what was said, once or again, to its end or from its midst.
type mixture struct {
	*checkpointBench
	said []said // the latest
}

// said is a request and its answer.
type said struct {
	prompt, text []int32
}

// What a request of a mixture may have at most.
const (
	mixedText   = 600  // tokens of a new prompt
	mixedAnswer = 96   // tokens
	mixedLong   = 1500 // tokens of a text with which another goes on
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

// A balance is what checkpoints came to take. All are bytes.
type balance struct {
	most   int64 // that they said to take, after a request
	active int64 // the most that MLX held then, beyond what it held before
	left   int64 // the same once the engine was closed

	prompt, cached int // tokens
}

// requests has an engine answer a mixture of n requests within a budget.
func (b *checkpointBench) requests(ctx context.Context, n int, budget int64) (balance, error) {
	var got balance
	before := b.thread.Memory().Active
	e := b.Open(engine.Options{Checkpoints: budget})
	defer e.Close()
	m := &mixture{checkpointBench: b}
	for i := range n {
		prompt := m.next()
		a, err := b.Ask(ctx, e, engine.Request{Prompt: prompt, MaxTokens: new(1 + b.random.IntN(mixedAnswer)), Speculation: plainly})
		if err != nil {
			return got, err
		}
		m.said = append(m.said, said{prompt, slices.Concat(prompt, a.ids)})
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

// Memory is the table of what checkpoints take when there is more to keep than
// they may. What the first of the requests leave is all they may.
func (b *checkpointBench) Memory(ctx context.Context) (BenchTable, error) {
	t := BenchTable{
		Title: "Memory of checkpoints, MB",
		Columns: []string{"requests", "percent of prompts restored", "budget", "most kept", "most held by MLX", "MLX before", "beyond that after closing",
			"budget kept"},
		Notes: []string{
			"Requests are new, the same again, longer by a turn, or part in the midst of a text. Most are after a request, beyond what was held before.",
			"The budget is what a part of such requests leaves if they may keep everything.",
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
		b.wrong = append(b.wrong, fmt.Errorf("checkpoints took %d bytes, their budget is %d", got.most, budget))
	}
	t.Rows = append(t.Rows, []any{b.mixed, whole(100 * float64(got.cached) / float64(got.prompt)), megabytes(budget), megabytes(got.most),
		megabytes(got.active), megabytes(before), megabytes(got.left), verdict})
	return t, nil
}
