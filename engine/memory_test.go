package engine

import (
	"path/filepath"
	"testing"

	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/texts"
)

// The second of two similar requests is drafted from what the first one said, in another process
// too. Another client's is not, nor is a request that wants nothing of earlier ones.
func TestClientIsDraftedFromItsEarlierTexts(t *testing.T) {
	const vocab = 200
	opts := Options{Drafters: []draft.Drafter{draft.Memory{}, draft.Ngram{}}}
	f := newFixture(t, enginetest.Cycle(vocab), opts)
	dir := filepath.Join(t.TempDir(), "texts")
	store := texts.NewStore(texts.Options{Dir: dir})
	prompt := make([]int32, 20)
	for i := range prompt {
		prompt[i] = int32(i)
	}
	ask := func(client string, r Request) Stats {
		t.Helper()
		u := store.Open(texts.Owner{Client: client, Tokenizer: "bytes"}, texts.Origin{})
		store.Flush()
		r.Prompt, r.MaxTokens, r.Texts = prompt, new(100), u
		if r.Speculation.Depth == nil {
			r.Speculation.Depth = new(7)
		}
		got, _, stats := f.run(t, r)
		u.Close()
		store.Flush()
		for i, tok := range got {
			if int(tok.ID) != (20+i)%vocab {
				t.Fatalf("token %d is %d", i, tok.ID)
			}
		}
		return stats
	}
	check := func(what string, stats Stats, drafts bool) {
		t.Helper()
		want := ""
		if drafts {
			want = "memory"
		}
		if stats.Drafter != want || (stats.Accepted > 70) != drafts {
			t.Errorf("%s: %q drafted %d tokens, and %d were accepted: %s", what, stats.Drafter, stats.Drafted,
				stats.Accepted, stats.NoDrafter)
		}
	}
	check("fresh", ask("Ada", Request{Fresh: true}), false)
	check("first", ask("Ada", Request{}), false)
	check("another client's", ask("Bob", Request{}), false)
	check("second", ask("Ada", Request{}), true)
	check("second, fresh", ask("Ada", Request{Fresh: true}), false)
	check("second, by name", ask("Ada", Request{Speculation: Speculation{Drafter: "memory"}}), true)
	check("second, n-grams", ask("Ada", Request{Speculation: Speculation{Drafter: "ngram"}}), false)
	check("second, plain", ask("Ada", Request{Speculation: Speculation{Drafter: None}}), false)
	store = texts.NewStore(texts.Options{Dir: dir})
	check("after a restart", ask("Ada", Request{}), true)
	if _, err := store.Forget(func(texts.Owner, texts.Origin) bool { return true }); err != nil {
		t.Fatal(err)
	}
	check("after it was forgotten", ask("Ada", Request{}), false)
}

// A lookup in the request's own text and one in the client's earlier texts are two drafters. What
// is in the request's own is the first one's, whatever the order in which they come.
func TestMemoryLeavesTheOwnTextToTheNgrams(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(40), Options{Drafters: []draft.Drafter{draft.Memory{},
		draft.Ngram{}}})
	store := texts.NewStore(texts.Options{Dir: t.TempDir()})
	prompt := make([]int32, 60)
	for i := range prompt {
		prompt[i] = int32(i % 40)
	}
	for name, want := range map[string]string{Auto: "ngram", "memory": "memory"} {
		u := store.Open(texts.Owner{Tokenizer: "bytes"}, texts.Origin{})
		_, _, stats := f.run(t, Request{Prompt: prompt, MaxTokens: new(50), Texts: u,
			Speculation: Speculation{Drafter: name, Depth: new(7)}})
		u.Close()
		if stats.Drafter != want || stats.Accepted < 30 {
			t.Errorf("%s: %q drafted, and %d tokens were accepted", name, stats.Drafter, stats.Accepted)
		}
	}
}
