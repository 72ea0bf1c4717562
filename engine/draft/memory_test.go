package draft

import (
	"testing"

	"tandem/engine/texts"
)

var _ Featured = (*memoryDraft)(nil)

// remembering opens the draft of a client that said some texts, beside the request's lookups.
func remembering(t *testing.T, lookups []Lookup, said ...string) *memoryDraft {
	t.Helper()
	store := texts.NewStore(texts.Options{Dir: t.TempDir()})
	o := texts.Owner{Tokenizer: "runes"}
	for _, s := range said {
		u := store.Open(o, texts.Origin{})
		u.Add(texts.Text{Tokens: ids(s)})
		u.Close()
	}
	u := store.Open(o, texts.Origin{})
	t.Cleanup(u.Close)
	store.Flush()
	d, err := Memory{}.Open(nil, Options{Texts: u, Lookups: lookups})
	if err != nil {
		t.Fatal(err)
	}
	return d.(*memoryDraft)
}

func TestMemoryProposesWhatTheClientSaid(t *testing.T) {
	for _, c := range []struct {
		name, history string
		said          []string
		alone, beside string // proposed without and beside a lookup in the request's own text
		features      Features
	}{
		{"nothing was said", "xabc", nil, "", "", Features{}},
		{"in the memory only", "xabc", []string{"abcMEM"}, "MEM", "MEM", Features{3, 1, 1}},
		{"in the own text only", "abcOWN abc", []string{"xyz"}, "OWN ", "", Features{3, 1, 1}},
		{"equally long in both", "-abcOWN+abc", []string{"abcMEM"}, "OWN+", "", Features{3, 1, 1}},
		{"longer in the memory", "-abcOWN+abc", []string{"+abcMEM"}, "MEM", "MEM", Features{4, 1, 1}},
		{"longer in the own text", "+abcOWN+abc", []string{"abcMEM"}, "OWN+", "", Features{4, 1, 1}},
		{"the most frequent", "xabc", []string{"-abc1", "+abc2", "=abc2."}, "2.", "2.",
			Features{3, 3, 2. / 3}},
	} {
		for _, beside := range []bool{false, true} {
			want := c.alone
			var lookups []Lookup
			if beside {
				want, lookups = c.beside, []Lookup{newNgramDraft()}
			}
			d := remembering(t, lookups, c.said...)
			if beside && d.ngram != lookups[0] {
				t.Errorf("%s: the request's own text is indexed twice", c.name)
			}
			if got := d.Peek(ids(c.history), 4); got != len(want) {
				t.Errorf("%s: Peek says %d, want %d", c.name, got, len(want))
			}
			if got := text(d.Preview(ids(c.history), 4)); got != want {
				t.Errorf("%s: proposed %q, want %q", c.name, got, want)
			}
			features := c.features
			if want == "" {
				features = Features{}
			}
			if got := d.Features(ids(c.history)); got != features {
				t.Errorf("%s: %+v, want %+v", c.name, got, features)
			}
		}
	}
}

func TestMemoryOfNoClientDraftsNothing(t *testing.T) {
	if d, err := (Memory{}).Open(nil, Options{}); d != nil || err != nil {
		t.Error(d, err)
	}
}
