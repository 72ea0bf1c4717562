package engine

import (
	"slices"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A shaped model notes the shape of its forwards.
type shaped struct {
	*enginetest.Chain
	batches []lm.Batch
}

func (m *shaped) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	m.batches = append(m.batches, b)
	return m.Chain.Forward(s, b, taps)
}

// TestExactForwardsHaveOneShape expects three things of each forward after an exact request's
// prompt: it has the same number of rows, it serves this request alone, and it marks its rows of
// padding.
func TestExactForwardsHaveOneShape(t *testing.T) {
	d := &enginetest.Scripted{Vocab: 50, Wrong: func(round, n int) int { return round % (n + 1) }}
	for i := range 200 {
		d.Text = append(d.Text, int32(i%50))
	}
	f := newFixture(t, enginetest.Cycle(50), Options{})
	m := &shaped{Chain: f.chain}
	f.Engine.Close()
	f.Engine = New(f.thread, m, enginetest.ByteTokenizer(t), Options{Drafters: []draft.Drafter{d}})
	for _, r := range []Speculation{
		{Drafter: None},
		{Depth: new(0)},
		{Depth: new(3)},
		{Depth: new(7)},
		{Depth: new(7), Rollback: Undo},
		{},
	} {
		m.batches = nil
		r.Exact = true
		done := make(chan Stats)
		go func() { // beside it, not exact
			f.run(t, Request{Prompt: []int32{0}, MaxTokens: new(40),
				Speculation: Speculation{Drafter: None}})
			done <- Stats{}
		}()
		tokens, _, stats := f.run(t, Request{Prompt: []int32{0, 1, 2}, MaxTokens: new(60),
			Speculation: r})
		<-done
		if !slices.Equal(ids(tokens), d.Text[3:63]) {
			t.Errorf("%+v: %v", r, ids(tokens))
		}
		blocks, pads := 0, 0
		for _, b := range m.batches {
			for _, q := range b {
				if q.Pos < 3 || q.N == 1 {
					continue // a prompt, or the other one's step
				}
				if blocks++; len(b) != 1 || q.N != ExactRows {
					t.Errorf("%+v: a forward of %d sequences, one of %d rows", r, len(b), q.N)
				}
				pads += q.Pad
			}
		}
		// A round reads the newest token, the carried tokens and its drafts.
		if want := stats.Rounds*(ExactRows-1) - stats.Drafted; blocks != stats.Rounds ||
			r.Rollback != Undo && pads != want {
			t.Errorf("%+v: %d blocks with %d rows of padding, want %d and %d",
				r, blocks, pads, stats.Rounds, want)
		}
		if (stats.Drafted > 0) != (r.Drafter != None && (r.Depth == nil || *r.Depth > 0)) {
			t.Errorf("%+v: %d drafts", r, stats.Drafted)
		}
	}
	for _, err := range f.Generate(t.Context(),
		Request{Prompt: []int32{0}, Speculation: Speculation{Exact: true, Depth: new(8)}}) {
		if e, ok := err.(*Error); !ok || e.Code != CodeInvalid {
			t.Errorf("8 drafts in exact mode: %v", err)
		}
	}
}
