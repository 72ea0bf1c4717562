package enginetest

import (
	"fmt"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// A Scripted drafter knows the output of plain decoding. It guesses exactly that, except at the
// position that Wrong names. With it a test makes a round accept any number of drafts.
type Scripted struct {
	Text  []int32 // prompt and continuation as plain decoding has them
	Vocab int     // ids are below it

	// Wrong returns which of n drafts is the first wrong one, n for none. It is called once a
	// round; rounds count from the request's first. Nil means none is wrong.
	Wrong func(round, n int) int

	// Lenient proposes nothing where the text so far is not the script's. Otherwise that is an error,
	// which ends the draft.
	Lenient bool

	// Layers are the layers to tap.
	Layers []int

	// Fail, if set, is called at each proposal. An error ends the draft.
	Fail func(round int) error

	// OnCommitted, if set, gets what is committed.
	OnCommitted func(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array)

	// Seen holds the positions that were committed, in order of the calls.
	Seen []int
}

// Name implements draft.Drafter.
func (d *Scripted) Name() string { return "scripted" }

// Taps implements draft.Drafter.
func (d *Scripted) Taps() []int { return d.Layers }

// MaxDrafts implements draft.Drafter.
func (d *Scripted) MaxDrafts() int { return 31 }

// Open implements draft.Drafter.
func (d *Scripted) Open(*mlx.Scope, draft.Options) (draft.Draft, error) {
	return &scripted{d: d}, nil
}

type scripted struct {
	d      *Scripted
	rounds int
}

// Propose implements draft.Draft.
func (t *scripted) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	d := t.d
	round := t.rounds
	t.rounds++
	if d.Fail != nil {
		if err := d.Fail(round); err != nil {
			s.Fail(err)
		}
	}
	if !slices.Equal(history, d.Text[:min(len(history), len(d.Text))]) {
		if d.Lenient {
			return draft.Proposal{}
		}
		s.Fail(fmt.Errorf("enginetest: the text so far is not the script's"))
	}
	tokens := slices.Clone(d.Text[len(history):min(len(history)+n, len(d.Text))])
	if n = len(tokens); n == 0 {
		return draft.Proposal{}
	}
	if d.Wrong != nil {
		if j := d.Wrong(round, n); j < n {
			tokens[j] = (tokens[j] + 1) % int32(d.Vocab)
		}
	}
	return draft.Proposal{N: n, Tokens: mlx.New(s, tokens, n)}
}

// Committed implements draft.Draft.
func (t *scripted) Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array) {
	for i, id := range tokens {
		t.d.Seen = append(t.d.Seen, from+i)
		if id != t.d.Text[from+i] {
			s.Fail(fmt.Errorf("enginetest: committed %d at position %d, which is %d in the script",
				id, from+i, t.d.Text[from+i]))
		}
	}
	if t.d.OnCommitted != nil {
		t.d.OnCommitted(s, tokens, from, taps)
	}
	if len(taps) != len(t.d.Layers) || len(taps) > 0 && taps[0].Dim(0) != len(tokens) {
		s.Fail(fmt.Errorf("enginetest: %d taps for %d tokens", len(taps), len(tokens)))
	}
}

// Arrays implements draft.Draft.
func (t *scripted) Arrays() []*mlx.Array { return nil }

// Free implements draft.Draft.
func (t *scripted) Free(*mlx.Scope) {}
