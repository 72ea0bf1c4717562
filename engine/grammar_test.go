package engine

import (
	"errors"
	"slices"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

// TestGrammarHoldsWhoeverDrafts expects output that the grammar allows, with the ids of plain
// decoding, for every drafter and depth.
func TestGrammarHoldsWhoeverDrafts(t *testing.T) {
	prompt := counting(0, 20)
	// another third after a while
	thirds := func(text []int32, id int32) bool { return (int(id)+len(text)/7)%3 == 0 }
	for _, temperature := range []float64{0, 1} {
		r := Request{Prompt: prompt, MaxTokens: new(60), Seed: new(uint64(7))}
		r.Sampling.Temperature = temperature
		generate := func(f *fixture) ([]int32, Stats) {
			m := &sieve{vocab: 50, forbid: thirds}
			r.Grammar = m
			tokens, _, stats := f.run(t, r)
			got := ids(tokens)
			if len(got) != 60 || !slices.Equal(m.text, got) {
				t.Fatalf("%+v: generated was %v, the grammar followed %v",
					r.Speculation, got, m.text)
			}
			for i, id := range got {
				if thirds(got[:i], id) {
					t.Fatalf("%+v: token %d of %v may not be there", r.Speculation, i, got)
				}
			}
			return got, stats
		}
		want, _ := generate(newFixture(t, enginetest.Cycle(50), Options{}))
		for _, depth := range []int{0, 1, 3, 7} {
			for _, rollback := range []Rollback{Trim, Undo} {
				for _, rule := range []Rule{Coupled, Rejection} {
					wrong := func(round, n int) int { return round % (n + 1) }
					drafter := &enginetest.Scripted{Text: slices.Concat(prompt, want), Vocab: 50,
						Wrong: wrong}
					r.Speculation = Speculation{Depth: new(depth), Rollback: rollback, Rule: rule}
					got, stats := generate(newFixture(t, enginetest.Cycle(50),
						Options{Drafters: []draft.Drafter{drafter}}))
					if rule == Rejection && temperature > 0 {
						continue // this rule draws other tokens
					}
					if !slices.Equal(got, want) {
						t.Errorf("temperature %v, depth %d, %s, %s: %v, plain %v",
							temperature, depth, rollback, rule, got, want)
					}
					if depth > 1 && (stats.Accepted == 0 || stats.Accepted == stats.Drafted) {
						t.Errorf("depth %d: %d of %d drafts stood",
							depth, stats.Accepted, stats.Drafted)
					}
				}
			}
		}
	}
}

// TestGrammarRoundHasTwoSyncs expects two reads in a round with drafts: first the drafts, then the
// verified tokens.
func TestGrammarRoundHasTwoSyncs(t *testing.T) {
	script := counting(0, 400)
	for _, depth := range []int{0, 3} {
		f := newFixture(t, enginetest.Cycle(50),
			Options{Drafters: []draft.Drafter{&enginetest.Scripted{Text: script, Vocab: 50}}})
		_, _, stats := f.run(t, Request{Prompt: script[:20], MaxTokens: new(41),
			Grammar: &sieve{vocab: 50}, Speculation: Speculation{Depth: new(depth)}})
		per := 1
		if depth > 0 {
			per = 2
			if stats.Accepted != stats.Drafted || stats.Accepted == 0 {
				t.Errorf("%d of %d drafts stood", stats.Accepted, stats.Drafted)
			}
		}
		// The first token comes from the prompt, and a step reads it.
		if most := per*stats.Rounds + 1; stats.Syncs > most {
			t.Errorf("depth %d: %d syncs in %d rounds, want %d at most",
				depth, stats.Syncs, stats.Rounds, most)
		}
	}
}

// TestGrammarEndsTheTextInsideABlock expects that a text ends where the grammar completes it, even
// inside a block.
func TestGrammarEndsTheTextInsideABlock(t *testing.T) {
	script := counting(0, 400)
	for _, depth := range []int{0, 7} {
		for n := 1; n <= 9; n++ {
			f := newFixture(t, enginetest.Cycle(50),
				Options{Drafters: []draft.Drafter{&enginetest.Scripted{Text: script, Vocab: 50}}})
			tokens, _, stats := f.run(t, Request{Prompt: script[:20], IgnoreEOS: true,
				Grammar: &sieve{vocab: 50, length: n}, Speculation: Speculation{Depth: new(depth)}})
			if got := ids(tokens); !slices.Equal(got, script[20:20+n]) ||
				stats.Finish != FinishStop {
				t.Errorf("depth %d, %d tokens: %v, %s", depth, n, got, stats.Finish)
			}
		}
	}
}

// TestGrammarFollowsGeneratedTokensFirst resumes an answer under a grammar. The grammar reads the
// generated tokens first and refuses the forbidden ones.
func TestGrammarFollowsGeneratedTokensFirst(t *testing.T) {
	script := counting(0, 400)
	f := newFixture(t, enginetest.Cycle(50), Options{})
	tokens, _, stats := f.run(t, Request{Prompt: script[:20], Generated: script[20:25],
		Grammar: &sieve{vocab: 50, length: 9}})
	if got := ids(tokens); !slices.Equal(got, script[20:29]) || stats.Finish != FinishStop {
		t.Errorf("%v, %s", got, stats.Finish)
	}
	err := drain(f, t.Context(), Request{Prompt: script[:20], Generated: script[20:25],
		Grammar: &sieve{vocab: 50, forbid: func(_ []int32, id int32) bool { return id == 24 }}})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalid {
		t.Errorf("a token that the grammar forbids was accepted: %v", err)
	}
	err = drain(f, t.Context(), Request{Prompt: script[:20], Grammar: &sieve{vocab: 500}})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalid {
		t.Errorf("a grammar of another vocabulary was accepted: %v", err)
	}
}

// TestFailedGrammarEndsItsRequestAlone lets a grammar fail inside an answer. Its request ends after
// the tokens generated so far. The other requests go on.
func TestFailedGrammarEndsItsRequestAlone(t *testing.T) {
	script := counting(0, 400)
	for _, depth := range []int{0, 5} {
		for _, at := range []int{0, 1, 12} {
			f := newFixture(t, enginetest.Cycle(50),
				Options{Drafters: []draft.Drafter{&enginetest.Scripted{Text: script, Vocab: 50}}})
			m := &sieve{vocab: 50, fails: at + 1}
			var got []int32
			var err error
			for tok, failed := range f.Generate(t.Context(),
				Request{Prompt: script[:20], MaxTokens: new(60), Grammar: m,
					Speculation: Speculation{Depth: new(depth)}}) {
				if err = failed; err == nil {
					got = append(got, tok.ID)
				}
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalid ||
				!errors.Is(err, errSieve) {
				t.Errorf("depth %d, at %d: %v", depth, at, err)
			}
			if !slices.Equal(got, script[20:20+len(got)]) || depth == 0 && len(got) != at {
				t.Errorf("depth %d, at %d: generated was %v", depth, at, got)
			}
			if tokens, _, _ := f.run(t, Request{Prompt: script[:20],
				MaxTokens: new(5)}); len(tokens) != 5 {
				t.Errorf("then %d tokens", len(tokens))
			}
		}
	}
}

var errSieve = errors.New("too much")

// A sieve is a grammar that forbids single tokens, and may have a length. After its first error it
// is broken, like llguidance's grammars.
type sieve struct {
	vocab  int
	forbid func(text []int32, id int32) bool // nil forbids none
	length int                               // 0 = without end
	fails  int                               // the mask that does, counted from 1; 0 = none

	text   []int32
	masks  int
	broken bool
}

func (m *sieve) Words() int { return (m.vocab + 31) / 32 }

func (m *sieve) may(id int32) bool { return m.forbid == nil || !m.forbid(m.text, id) }

func (m *sieve) Mask(bits []uint32) error {
	if m.masks++; m.masks == m.fails {
		m.broken = true
	}
	if m.broken {
		return errSieve
	}
	clear(bits)
	for id := range int32(m.vocab) {
		if m.may(id) {
			bits[id/32] |= 1 << (id % 32)
		}
	}
	return nil
}

func (m *sieve) Accept(id int32) error {
	if m.broken = m.broken || !m.may(id) || m.Stopped(); m.broken {
		return errSieve
	}
	m.text = append(m.text, id)
	return nil
}

func (m *sieve) Rollback(n int) error {
	if m.broken {
		return errSieve
	}
	m.text = m.text[:len(m.text)-n]
	return nil
}

func (m *sieve) Stopped() bool { return m.length > 0 && len(m.text) == m.length }
