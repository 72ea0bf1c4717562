package bench

import (
	"slices"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// A scripted drafter knows how the text goes on, and gets one row of each block wrong.
type scripted struct {
	text   []int32
	vocab  int
	wrong  func(round, n int) int // which of n rows is wrong; n for none
	rounds int
}

// inTurn returns a function that makes each row wrong in turn. shift says which one is first.
func inTurn(shift int) func(round, n int) int {
	return func(round, n int) int { return (5*round + shift) % (n + 1) }
}

func (*scripted) Name() string   { return "script" }
func (*scripted) Taps() []int    { return nil }
func (*scripted) MaxDrafts() int { return engine.MaxDepth }

func (d *scripted) Open(*mlx.Scope, draft.Options) (draft.Draft, error) {
	d.rounds = 0
	return d, nil
}

// Propose implements draft.Draft. It proposes nothing if the history is not the beginning of the
// text.
func (d *scripted) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	n = min(n, len(d.text)-len(history))
	if n <= 0 || !slices.Equal(history, d.text[:len(history)]) {
		return draft.Proposal{}
	}
	tokens := slices.Clone(d.text[len(history):][:n])
	if wrong := d.wrong(d.rounds, n); wrong < n {
		tokens[wrong] = (tokens[wrong] + 1) % int32(d.vocab)
	}
	d.rounds++
	return draft.Proposal{N: n, Tokens: mlx.New(s, tokens, n)}
}

func (*scripted) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}
func (*scripted) Arrays() []*mlx.Array                             { return nil }
func (*scripted) Free(*mlx.Scope)                                  {}
