package bench

import (
	"context"
	"slices"
	"testing"

	"tandem/engine"
)

// A mixture makes prompts of many lengths. Some are new, some repeat an earlier prompt, and some
// continue an earlier text from its end or from its middle.
type mixture struct {
	*checkpointSuite
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
	most int64 // the most that the engine reported after a request
	left int64 // what MLX held after the engine closed, less what it held before
}

// requests lets an engine answer a mixture of n requests. budget is how many bytes its checkpoints
// may take.
func (b *checkpointSuite) requests(ctx context.Context, n int, budget int64) (balance, error) {
	var got balance
	before := b.thread.Memory().Active
	e := b.open(engine.Options{Checkpoints: budget})
	defer e.Close()
	m := &mixture{checkpointSuite: b}
	for range n {
		prompt := m.next()
		a, err := b.ask(ctx, e, engine.Request{Prompt: prompt,
			MaxTokens: new(1 + b.random.IntN(mixedAnswer)), Speculation: withoutDrafts})
		if err != nil {
			return got, err
		}
		m.said = append(m.said, exchange{prompt, slices.Concat(prompt, a.IDs)})
		m.said = m.said[max(0, len(m.said)-mixedLatest):]
		got.most = max(got.most, a.Stats.CheckpointBytes)
	}
	e.Close()
	got.left = b.thread.Memory().Active - before
	return got, nil
}

// keepsBudget sends more than the budget can keep, and expects that checkpoints stay within it. The budget
// is the most that a part of such requests took.
func (b *checkpointSuite) keepsBudget(t *testing.T) {
	t.Helper()
	few, err := b.requests(t.Context(), max(8, b.mixed/20), b.budget())
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.requests(t.Context(), b.mixed, few.most)
	if err != nil {
		t.Fatal(err)
	}
	if got.most == 0 || got.most > few.most {
		t.Errorf("checkpoints took %d bytes, their budget is %d", got.most, few.most)
	}
	if got.left != 0 {
		t.Errorf("%d bytes are left after closing", got.left)
	}
}
