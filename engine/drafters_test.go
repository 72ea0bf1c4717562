package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// similar returns a table like another, with noise. Some of its rows are padding.
func similar(table [][]float32, noise float64, vocab int) [][]float32 {
	rng := rand.New(rand.NewPCG(4, 2))
	out := make([][]float32, vocab)
	for i := range out {
		out[i] = make([]float32, vocab)
		for j := range out[i] {
			if i < len(table) && j < len(table) {
				out[i][j] = table[i][j] + float32(rng.NormFloat64()*noise)
			} else {
				out[i][j] = 30 // padding, which must never be drafted
			}
		}
	}
	return out
}

// TestModelDraftKeepsThePlainOutput decodes with a smaller model that agrees with the target
// always, mostly or never. The tokens equal plain decoding, with either rollback, on rings and full
// caches, for every chunk.
func TestModelDraftKeepsThePlainOutput(t *testing.T) {
	const vocab = 64
	table := wild(vocab)
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	before := th.Memory().Active
	prompt := make([]int32, 150)
	for i := range prompt {
		prompt[i] = int32(i * 7 % vocab)
	}
	for _, c := range []struct {
		layout cache.Layout
		chunk  int
		noise  float64
		vocab  int // the drafter's
	}{
		{cache.Ring, 0, 0, vocab}, {cache.Ring, 8, 1, vocab}, {cache.Full, 8, 1, vocab},
		{cache.Ring, 40, 1, vocab + 5}, {cache.Ring, 0, 20, vocab},
	} {
		target, drafter := &enginetest.Chain{}, &enginetest.Chain{}
		if err := th.Do(t.Context(), func(s *mlx.Scope) error {
			target, drafter = enginetest.NewChain(s, table),
				enginetest.NewChain(s, similar(table, c.noise, c.vocab))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		f := &fixture{thread: th, chain: target}
		f.Engine = New(th, target, enginetest.ByteTokenizer(t), Options{
			Layout: c.layout, Chunk: c.chunk,
			Drafters: []draft.Drafter{draft.NewModel(drafter, target)},
		})
		for name, params := range map[string]sample.Params{
			"greedy":    {},
			"sampled":   {Temperature: 0.8, TopK: 20, TopP: 0.95},
			"penalties": {Temperature: 1, RepetitionPenalty: 1.3, FrequencyPenalty: 0.4},
		} {
			r := Request{Prompt: prompt, MaxTokens: new(120), Seed: new(uint64(7)),
				Sampling: params, IgnoreEOS: true}
			r.Speculation.Drafter = None
			plain, _, _ := f.run(t, r)
			accepted := 0
			for _, depth := range []int{1, 4, 15, -1} {
				for _, rollback := range []Rollback{Trim, Undo} {
					if rollback == Undo && depth != 4 {
						continue
					}
					r.Speculation = Speculation{Drafter: "model", Depth: &depth, Rollback: rollback}
					if depth < 0 {
						r.Speculation.Depth = nil
					}
					got, _, stats := f.run(t, r)
					what := fmt.Sprintf("%+v: %s, %d drafts, %s", c, name, depth, rollback)
					sameTokens(t, what, got, plain)
					if depth < 0 {
						continue
					}
					if stats.NoDrafter != "" {
						t.Errorf("%s: %s", what, stats.NoDrafter)
					}
					accepted += stats.Accepted
					if c.noise == 0 && name != "penalties" && stats.Accepted != stats.Drafted {
						t.Errorf("%s: the target's own guesses: %d of %d were accepted",
							what, stats.Accepted, stats.Drafted)
					}
					// The first token comes from the prompt, in a round of its own.
					if stats.Drafted == 0 || stats.Syncs != stats.Rounds+1 {
						t.Errorf("%s: %d drafts, %d syncs in %d rounds",
							what, stats.Drafted, stats.Syncs, stats.Rounds)
					}
				}
			}
			if c.noise < 2 && accepted < 50 {
				t.Errorf("%+v: %s: %d drafts were accepted", c, name, accepted)
			}
			r.Speculation = Speculation{Drafter: "model", Depth: new(4), Rule: Rejection}
			if got, _, stats := f.run(t, r); stats.Drafted == 0 || len(got) != len(plain) ||
				name == "greedy" && !slices.Equal(ids(got), ids(plain)) {
				t.Errorf("%+v: %s by rejection: %d drafts, tokens %v, want %v",
					c, name, stats.Drafted, ids(got), ids(plain))
			}
		}
		f.Close()
		if err := th.Do(context.Background(), func(*mlx.Scope) error {
			target.Free()
			drafter.Free()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// TestModelDraftCatchesUpBesidePlainSteps lets a smaller model read a restored text piece by piece,
// beside plain steps. It drafts as soon as it has caught up.
func TestModelDraftCatchesUpBesidePlainSteps(t *testing.T) {
	const vocab, chunk = 50, 64
	f := newFixture(t, enginetest.Cycle(vocab), Options{})
	f.Engine.Close()
	f.Engine = New(f.thread, f.chain, enginetest.ByteTokenizer(t), Options{
		Checkpoints: 1 << 30, Layout: cache.Full, Chunk: chunk,
		Drafters: []draft.Drafter{draft.NewModel(f.chain, f.chain)},
	})
	text := counting(0, 2200)
	f.ask(t, Request{Prompt: text[:2000], MaxTokens: new(1),
		Speculation: Speculation{Drafter: None}})
	stats, got := f.ask(t, Request{Prompt: text[:2001], MaxTokens: new(199),
		Speculation: Speculation{Depth: new(4)}})
	if !slices.Equal(got, text) || stats.CachedTokens < 1999 || stats.NoDrafter != "" {
		t.Fatalf("%d tokens, of %d cached ones: %s", len(got), stats.CachedTokens, stats.NoDrafter)
	}
	// The draft reads 64 tokens a round. It reads the remaining ones together with a proposal.
	if first := slices.Index(stats.Depths, 4); first < 1700/chunk || first > 2000/chunk ||
		stats.Accepted != stats.Drafted {
		t.Errorf("the first drafts came in round %d; %d of %d were accepted",
			first, stats.Accepted, stats.Drafted)
	}
}

// limited is a model with a shorter context.
type limited struct {
	*enginetest.Chain
	context int
}

func (m limited) Config() lm.Config {
	c := m.Chain.Config()
	c.ContextLength = m.context
	return c
}

// TestModelDraftEndsWithItsContext expects no drafts beyond the smaller model's context. An id that
// it has no token for ends its draft, not the request.
func TestModelDraftEndsWithItsContext(t *testing.T) {
	const vocab = 64
	for _, c := range []struct {
		name    string
		context int
		vocab   int
		reason  string
	}{
		{"context", 40, vocab, ""},
		{"context within the prompt", 10, vocab, "no drafter had anything to propose"},
		{"vocabulary", 1 << 10, vocab - 4, "model failed: draft: token 60 is not one of the drafter's 60"},
	} {
		th, err := mlx.NewThread(mlx.Options{CPU: true})
		if err != nil {
			t.Fatal(err)
		}
		var target, drafter *enginetest.Chain
		if err := th.Do(t.Context(), func(s *mlx.Scope) error {
			target = enginetest.NewChain(s, enginetest.Cycle(vocab))
			drafter = enginetest.NewChain(s, similar(enginetest.Cycle(vocab), 0, c.vocab))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		f := &fixture{thread: th, chain: target}
		f.Engine = New(th, target, enginetest.ByteTokenizer(t), Options{
			Drafters: []draft.Drafter{draft.NewModel(limited{drafter, c.context}, target)},
		})
		r := Request{MaxTokens: new(100), Speculation: Speculation{Drafter: None}}
		for i := range 20 {
			r.Prompt = append(r.Prompt, int32(i))
		}
		plain, _, _ := f.run(t, r)
		r.Speculation = Speculation{Depth: new(4)}
		got, _, stats := f.run(t, r)
		sameTokens(t, c.name, got, plain)
		if stats.NoDrafter != c.reason || (stats.Drafted == 0) != (c.context < 20) {
			t.Errorf("%s: %d drafts, reason %q, want %q",
				c.name, stats.Drafted, stats.NoDrafter, c.reason)
		}
		f.Close()
		th.Do(context.Background(),
			func(*mlx.Scope) error { target.Free(); drafter.Free(); return nil })
		th.Close()
	}
}
