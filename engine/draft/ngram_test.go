package draft

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/mlx"
)

func ids(s string) []int32 {
	var list []int32
	for _, c := range s {
		list = append(list, c)
	}
	return list
}

func text(list []int32) string {
	return string(append([]rune(nil), list...))
}

func TestNgramProposesTheEarlierContinuation(t *testing.T) {
	for _, c := range []struct {
		name, history string
		n             int
		want          string
	}{
		{"no history", "", 4, ""},
		{"nothing recurs", "abcdefgh", 4, ""},
		{"two tokens are too few", "abXYZ-ab", 4, ""},
		{"three will do", "abcXYZ-abc", 4, "XYZ-"},
		{"no more than asked for", "abcXYZ-abc", 2, "XY"},
		{"up to the end of what there is", "abcXabc", 9, "Xabc"},
		{"the newest of equals", "abc1234 abc5678 abc", 4, "5678"},
		{"the longest match", "xyabc1234 abc5678 -xyabc", 4, "1234"},
		{"long matches are equal", "0123456789abc1 x3456789abc2 0123456789abc", 1, "2"},
		{"a loop offers more than its period", "abababababababab", 4, "abab"},
		{"one token over and over", "aaaaaaaaaaaaaaaa", 4, "aaaa"},
	} {
		d := newNgramDraft()
		if got := text(d.Preview(ids(c.history), c.n)); got != c.want {
			t.Errorf("%s: after %q came %q, want %q", c.name, c.history, got, c.want)
		}
		if got := d.Peek(ids(c.history), c.n); got != len(c.want) {
			t.Errorf("%s: Peek says %d, want %d", c.name, got, len(c.want))
		}
	}
}

// A long match is found even if its last tokens have occurred since more often than a lookup
// compares.
func TestNgramFindsFarMatch(t *testing.T) {
	history := ids("unique123;")
	for i := range 10 * chainLimit {
		history = append(history, int32(1000+i), '2', '3', ';')
	}
	history = append(history, ids("!unique123;")...)
	d := newNgramDraft()
	if got := d.Preview(history, 1); !slices.Equal(got, []int32{1000}) {
		t.Errorf("proposed %v, want the token after the first occurrence", got)
	}
}

// A draft that grew with its history proposes the same as a new one.
func TestNgramLookupIsIncremental(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	history := make([]int32, 3000)
	for i := range history {
		history[i] = rng.Int32N(6)
	}
	d := newNgramDraft()
	for n := 1; n < len(history); n += 1 + rng.IntN(9) {
		got := d.Preview(history[:n], 8)
		want := newNgramDraft().Preview(history[:n], 8)
		// A fresh index and one that has grown hold the same occurrences.
		if !slices.Equal(got, want) {
			t.Fatalf("at %d: %v, a fresh draft says %v", n, got, want)
		}
	}
}

// The index forgets exactly the tokens that are older than its length.
func TestIndexForgetsTheOldest(t *testing.T) {
	tokens := make([]int32, maxIndexed+5000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range tokens {
		tokens[i] = rng.Int32N(1 << 20)
	}
	ix := &index{n: minMatch}
	for end := 1000; end < len(tokens); end += 999 {
		ix.extend(tokens, end)
	}
	if len(ix.prev) != maxIndexed || len(ix.head) != 2*maxIndexed {
		t.Fatalf("index of %d and %d, want at most %d tokens",
			len(ix.prev), len(ix.head), maxIndexed)
	}
	for _, c := range []struct {
		end  int
		want bool
	}{{100, false}, {ix.end - maxIndexed, false}, {ix.end - maxIndexed + 1, true},
		{ix.end - 1, true}, {ix.end, true}} {
		found := ix.matches(nil, tokens, tokens[:c.end])
		if got := slices.ContainsFunc(found,
			func(m match) bool { return m.end == c.end }); got != c.want {
			t.Errorf("n-gram that ends at %d found: %v, want %v", c.end, got, c.want)
		}
	}
}

func TestNgramTokensAreOnTheDevice(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	err = th.Do(context.Background(), func(s *mlx.Scope) error {
		d, err := Ngram{}.Open(s, Options{})
		if err != nil {
			return err
		}
		defer d.Free(s)
		if p := d.Propose(s, ids("abc"), 4); p.N != 0 || p.Tokens != nil {
			t.Errorf("proposed %d tokens without a match", p.N)
		}
		p := d.Propose(s, ids("abcXYZ-abc"), 4)
		if p.LogQ != nil {
			t.Error("a certain draft has a distribution")
		}
		got, err := mlx.Read[int32](s, p.Tokens)
		if text(got) != "XYZ-" || p.N != 4 {
			t.Errorf("proposed %d tokens, %q", p.N, text(got))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// For any history, a proposal is the continuation of an earlier occurrence of its last tokens.
func FuzzNgram(f *testing.F) {
	f.Add([]byte("abcXYZ-abc"), uint8(4), uint8(3))
	f.Add([]byte("aaaaaaaaaaaa"), uint8(31), uint8(1))
	f.Add([]byte("the cat sat on the cat mat"), uint8(8), uint8(0))
	f.Fuzz(func(t *testing.T, bytes []byte, n, prompt uint8) {
		history := ids(string(bytes))
		d := newNgramDraft()
		for end := min(int(prompt), len(history)); end <= len(history); end += 1 + int(n)%3 {
			h := history[:end]
			got := d.Preview(h, 1+int(n))
			if len(got) > 1+int(n) {
				t.Fatalf("%d tokens, asked for %d", len(got), 1+int(n))
			}
			if len(got) > 0 && !follows(h, h, got, minMatch) {
				t.Fatalf("after %q: %q follows no earlier occurrence", text(h), text(got))
			}
		}
	})
}

// follows reports whether got occurs in tokens after an occurrence of the last n tokens of context.
func follows(tokens, context, got []int32, n int) bool {
	for e := n; e+len(got) <= len(tokens); e++ {
		if slices.Equal(tokens[e:e+len(got)], got) &&
			slices.Equal(tokens[e-n:e], context[len(context)-n:]) {
			return true
		}
	}
	return false
}

// The benchmark looks up the newest token in a history of 100,000 tokens, of 32 kinds or all alike.
func BenchmarkNgram(b *testing.B) {
	for _, kinds := range []int32{1, 32, 30000} {
		b.Run(map[int32]string{1: "loop", 32: "dense", 30000: "sparse"}[kinds], func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			history := make([]int32, 100_000, 1<<24)
			for i := range history {
				history[i] = rng.Int32N(kinds)
			}
			d := newNgramDraft()
			d.Preview(history, 8)
			b.ResetTimer()
			for b.Loop() {
				history = append(history, rng.Int32N(kinds))
				d.Preview(history, 8)
			}
		})
	}
}
