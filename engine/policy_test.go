package engine

import (
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// A ledger is a store that counts the policies saved to it.
type ledger struct{ saved int }

func (*ledger) LoadPolicy(draft.Key) (*draft.State, error) { return nil, nil }
func (l *ledger) SavePolicy(draft.Key, draft.State) error  { l.saved++; return nil }

// TestOnlyPoliciesOfUsualRequestsAreStored expects that the costs and gains of other modes of
// decoding are not stored, and not mixed with those of the usual mode.
func TestOnlyPoliciesOfUsualRequestsAreStored(t *testing.T) {
	for name, c := range map[string]struct {
		speculation Speculation
		temperature float64
		stored      bool
	}{
		"as most":           {Speculation{}, 1, true},
		"trim, coupled":     {Speculation{Rollback: Trim, Rule: Coupled}, 1, true},
		"greedy, rejection": {Speculation{Rule: Rejection}, 0, true},
		"rejection":         {Speculation{Rule: Rejection}, 1, false},
		"undo":              {Speculation{Rollback: Undo}, 0, false},
		"timed":             {Speculation{Timed: true}, 0, false},
		"fused":             {Speculation{Fused: true}, 0, false},
	} {
		var l ledger
		f := newFixture(t, enginetest.Cycle(40),
			Options{Drafters: []draft.Drafter{draft.Ngram{}}, Policies: &l})
		r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(200), Speculation: c.speculation}
		r.Sampling.Temperature = c.temperature
		f.run(t, r)
		f.Close() // saves the policies that no pause has saved
		if (l.saved > 0) != c.stored {
			t.Errorf("%s: %d policies stored", name, l.saved)
		}
	}
}

// TestPolicyIsStoredAtClose closes the engine inside an answer. The policy learned from it is
// stored.
func TestPolicyIsStoredAtClose(t *testing.T) {
	var l ledger
	f := newFixture(t, enginetest.Cycle(40), Options{Drafters: []draft.Drafter{draft.Ngram{}},
		Policies: &l})
	n := 0
	for range f.Generate(t.Context(), Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(1 << 20)}) {
		if n++; n == 200 {
			f.Close()
		}
	}
	if l.saved == 0 {
		t.Errorf("%d tokens, no policy stored", n)
	}
}

// TestDepthBeyondTheDrafterIsRefused asks for a depth that the named drafter never reaches. Under
// auto the same depth is accepted, and the drafter proposes as many tokens as it can.
func TestDepthBeyondTheDrafterIsRefused(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(40), Options{Drafters: []draft.Drafter{short{},
		draft.Ngram{}}})
	for name, ok := range map[string]bool{"short": false, "ngram": true, Auto: true} {
		r := Request{Prompt: []int32{1, 2, 3}, MaxTokens: new(2),
			Speculation: Speculation{Drafter: name, Depth: new(4)}}
		var err error
		for _, err = range f.Generate(t.Context(), r) {
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// short drafts three tokens at most.
type short struct{ draft.Ngram }

func (short) Name() string   { return "short" }
func (short) MaxDrafts() int { return 3 }
