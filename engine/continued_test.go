package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// given is a lookup that has two tokens of a text, of which every third time one is wrong.
type given struct {
	draft.Ngram
	text []int32
}

func (d *given) Open(*mlx.Scope, draft.Options) (draft.Draft, error) {
	return givenDraft{given: d}, nil
}

type givenDraft struct {
	draft.Draft
	given *given
}

func (d givenDraft) Preview(history []int32, n int) []int32 {
	at := len(history)
	guess := slices.Clone(d.given.text[min(at, len(d.given.text)):min(at+min(n, 2), len(d.given.text))])
	if at%3 == 0 && len(guess) > 0 {
		guess[len(guess)-1] ^= 1
	}
	return guess
}

func (d givenDraft) Peek(history []int32, n int) int { return len(d.Preview(history, n)) }

func (d givenDraft) Features([]int32) draft.Features {
	return draft.Features{Match: 5, Count: 1, Share: 1}
}

func (d givenDraft) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	guess := d.Preview(history, n)
	return draft.Proposal{N: len(guess), Tokens: mlx.New(s, guess, len(guess))}
}

func (givenDraft) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}
func (givenDraft) Arrays() []*mlx.Array                             { return nil }
func (givenDraft) Free(*mlx.Scope)                                  {}

// TestContinuedDraftKeepsThePlainOutput lets a smaller model go on where matches end. The tokens
// equal plain decoding's, and rejected and accepted drafts both occur.
func TestContinuedDraftKeepsThePlainOutput(t *testing.T) {
	const vocab = 64
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	before := th.Memory().Active
	table := wild(vocab)
	var target, smaller *enginetest.Chain
	if err := th.Do(t.Context(), func(s *mlx.Scope) error {
		target = enginetest.NewChain(s, table)
		smaller = enginetest.NewChain(s, similar(table, 1, vocab))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var prompt []int32
	for i := range int32(120) {
		prompt = append(prompt, i*7%30)
	}
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		trained, lookup := draft.NewModel(smaller, target), &given{}
		f := &fixture{thread: th, chain: target}
		f.Engine = New(th, target, enginetest.ByteTokenizer(t), Options{Layout: layout,
			Drafters: []draft.Drafter{trained, lookup, draft.NewContinued(trained)}})
		for name, params := range map[string]sample.Params{
			"greedy":    {},
			"sampled":   {Temperature: 0.8, TopP: 0.95},
			"penalties": {Temperature: 1, RepetitionPenalty: 1.3},
		} {
			r := Request{Prompt: prompt, MaxTokens: new(150), Seed: new(uint64(3)),
				Sampling: params, IgnoreEOS: true}
			r.Speculation.Drafter = None
			plain, _, _ := f.run(t, r)
			lookup.text = slices.Concat(prompt, ids(plain))
			for _, depth := range []int{3, 6, -1} {
				for _, rollback := range []Rollback{Trim, Undo} {
					r.Speculation = Speculation{Drafter: "lookup+model", Depth: &depth, Rollback: rollback}
					if depth < 0 {
						r.Speculation = Speculation{Rollback: rollback}
					}
					got, _, stats := f.run(t, r)
					what := fmt.Sprintf("%v, %s, %d drafts, %s", layout, name, depth, rollback)
					sameTokens(t, what, got, plain)
					if depth < 0 {
						// Whoever was chosen drafted: only plain rounds have no drafts.
						for i, d := range stats.Drafters {
							if d.Rounds > 0 && d.Drafted < d.Rounds {
								t.Errorf("%s: %+v, arm %d", what, d, i)
							}
						}
						continue
					}
					if stats.NoDrafter != "" {
						t.Errorf("%s: %s", what, stats.NoDrafter)
					}
					if stats.Drafter != "lookup+model" {
						t.Errorf(`%s: stats.Drafter = %q, want "lookup+model"`, what, stats.Drafter)
					}
					if stats.Drafted == 0 {
						t.Errorf("%s: stats.Drafted is 0", what)
					}
					if stats.Accepted == 0 {
						t.Errorf("%s: stats.Accepted is 0", what)
					}
					if len(stats.AcceptedAt) < 3 {
						t.Errorf("%s: len(stats.AcceptedAt) = %v, want at least 3",
							what, len(stats.AcceptedAt))
					}
					if stats.Accepted == stats.Drafted {
						t.Errorf("%s: stats.Accepted = %v", what, stats.Accepted)
					}
				}
			}
			if name != "greedy" {
				continue
			}
			r.Speculation = Speculation{Drafter: "lookup+model", Depth: new(5), Rule: Rejection}
			if got, _, _ := f.run(t, r); !slices.Equal(ids(got), ids(plain)) {
				t.Errorf("%v: %s by rejection differs", layout, name)
			}
		}
		f.Close()
	}
	if err := th.Do(context.Background(), func(*mlx.Scope) error {
		target.Free()
		smaller.Free()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// failing is a trained drafter whose drafts panic.
type failing struct{ draft.Ngram }

func (*failing) Name() string    { return "failing" }
func (*failing) Continues() bool { return true }

func (d *failing) Open(*mlx.Scope, draft.Options) (draft.Draft, error) {
	return failingDraft{}, nil
}

type failingDraft struct{}

func (failingDraft) Propose(*mlx.Scope, []int32, int) draft.Proposal  { panic("no guess") }
func (failingDraft) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}
func (failingDraft) Arrays() []*mlx.Array                             { return nil }
func (failingDraft) Free(*mlx.Scope)                                  {}

// A trained draft that fails as another goes on from it ends with the same reason in its figures.
func TestFailedContinuationNamesItsReason(t *testing.T) {
	const vocab = 50
	f := newFixture(t, enginetest.Cycle(vocab), Options{})
	f.Engine.Close()
	trained := &failing{}
	lookup := &given{text: counting(0, 200)}
	f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t), Options{
		Drafters: []draft.Drafter{trained, lookup, draft.NewContinued(trained)},
	})
	r := Request{Prompt: counting(0, 20), MaxTokens: new(30)}
	r.Speculation.Drafter = None
	plain, _, _ := f.run(t, r)
	r.Speculation = Speculation{Drafter: "lookup+failing", Depth: new(5)}
	got, _, stats := f.run(t, r)
	sameTokens(t, "after the failure", got, plain)
	for _, i := range []int{0, 2} {
		if d := stats.Drafters[i]; d.Failed == "" {
			t.Errorf("%s failed without a reason", d.Name)
		}
	}
	if d := stats.Drafters[1]; d.Failed != "" {
		t.Errorf("%s: %s", d.Name, d.Failed)
	}
}

// TestStatsTellWhoDrafted expects for each round who drafted it, and for each drafter why it did
// not draft more.
func TestStatsTellWhoDrafted(t *testing.T) {
	const vocab = 50
	f := newFixture(t, enginetest.Cycle(vocab), Options{})
	f.Engine.Close()
	f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t), Options{
		Drafters: []draft.Drafter{draft.NewModel(f.chain, f.chain), draft.Ngram{}},
	})
	r := Request{Prompt: counting(0, 20), MaxTokens: new(60), Speculation: Speculation{Depth: new(4)}}
	_, _, stats := f.run(t, r)
	if len(stats.Arms) != len(stats.Depths) || len(stats.Drafters) != 2 {
		t.Fatalf("%d arms of %d rounds, %+v", len(stats.Arms), len(stats.Depths), stats.Drafters)
	}
	drafted := 0
	for i, arm := range stats.Arms {
		if (arm == -1) != (stats.Depths[i] == 0) || arm > 0 {
			t.Errorf("round %d of depth %d was drafted by %d", i, stats.Depths[i], arm)
		}
		if arm == 0 {
			drafted++
		}
	}
	m, n := stats.Drafters[0], stats.Drafters[1]
	if m.Name != "model" {
		t.Errorf(`%d rounds: m.Name = %q, want "model"`, drafted, m.Name)
	}
	if m.Rounds != drafted {
		t.Errorf("%d rounds: m.Rounds = %v, want %v", drafted, m.Rounds, drafted)
	}
	if m.Drafted != stats.Drafted {
		t.Errorf("%d rounds: m.Drafted = %v, want %v", drafted, m.Drafted, stats.Drafted)
	}
	if m.Accepted != stats.Accepted {
		t.Errorf("%d rounds: m.Accepted = %v, want %v", drafted, m.Accepted, stats.Accepted)
	}
	if m.Rounds < 10 {
		t.Errorf("%d rounds: m.Rounds = %v, want at least 10", drafted, m.Rounds)
	}
	if m.Trials != 0 {
		t.Errorf("%d rounds: m.Trials = %v, want 0", drafted, m.Trials)
	}
	// The cycle comes again after 50 tokens: the n-gram drafter has nothing before. Then it comes second,
	// and nothing was compared.
	if n.Name != "ngram" {
		t.Errorf(`n.Name = %q, want "ngram"`, n.Name)
	}
	if n.Rounds != 0 {
		t.Errorf("n.Rounds = %v, want 0", n.Rounds)
	}
	if n.Idle == 0 {
		t.Error("n.Idle is 0")
	}
	if n.Slower != 0 {
		t.Errorf("n.Slower = %v, want 0", n.Slower)
	}
	if n.Preceded == 0 {
		t.Error("n.Preceded is 0")
	}
	r.Speculation = Speculation{}
	_, _, stats = f.run(t, r)
	if m, n := stats.Drafters[0], stats.Drafters[1]; m.Slower == 0 || n.Idle == 0 || n.Preceded > 0 {
		t.Errorf("the first rounds are plain: %+v, %+v", m, n)
	}
	r.Speculation = Speculation{Drafter: "model"}
	_, _, stats = f.run(t, r)
	if n := stats.Drafters[1]; n.Idle+n.Slower+n.Preceded > 0 {
		t.Errorf("a drafter that is not wanted has reasons: %+v", n)
	}
}
