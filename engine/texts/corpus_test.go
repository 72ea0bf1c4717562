package texts

import (
	"math/rand/v2"
	"slices"
	"testing"
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

// corpusOf is a corpus of some texts.
func corpusOf(size int, list ...string) *corpus {
	c := newCorpus(size)
	for _, s := range list {
		c.add(boundary)
		for _, t := range ids(s) {
			c.add(t)
		}
	}
	return c
}

func TestLongestSuffixWinsAndItsOccurrencesVote(t *testing.T) {
	for _, c := range []struct {
		name    string
		texts   []string
		context string
		want    string
		match   Match
	}{
		{"nothing is known", nil, "abc", "", Match{}},
		{"two tokens are too few", []string{"abXYZ"}, "?ab", "", Match{}},
		{"one occurrence", []string{"abcXYZ"}, "?abc", "XYZ", Match{3, 1, 1}},
		{"no text goes on into the next", []string{"--abc", "XYZ"}, "abc", "", Match{}},
		{"the longest wins, though others are more", []string{"xyabc1", "abc2", "abc2"}, "xyabc",
			"1", Match{5, 1, 1}},
		{"the most frequent", []string{"abc1x", "abc2y", "abc1z"}, "abc", "1z", Match{3, 3, 2. / 3}},
		{"the newest of equals", []string{"abc1", "abc2"}, "abc", "2", Match{3, 2, 0.5}},
		{"those that agreed so far vote", []string{"abc1xx", "abc1xx", "abc1yy", "abc2yy"}, "abc",
			"1xx", Match{3, 4, 0.75}},
		{"a long match", []string{"0123456789abcdefghijklmnopqrstuvwxyzABCD!"},
			"0123456789abcdefghijklmnopqrstuvwxyzABCD", "!", Match{maxMatch, 1, 1}},
	} {
		corpus := corpusOf(smallest, c.texts...)
		var s search
		corpus.find(&s, ids(c.context))
		got := Match{Length: s.match, Count: s.n}
		list, share := corpus.follow(&s, nil, 4)
		if got.Share = share; text(list) != c.want || got != c.match {
			t.Errorf("%s: %q, %+v; want %q, %+v", c.name, text(list), got, c.want, c.match)
		}
	}
}

// For any texts, a lookup finds what a search of all of them finds, however full the ring is.
func FuzzCorpus(f *testing.F) {
	f.Add([]byte("abcXabcYabcX-abc"), uint8(3))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaa"), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, context uint8) {
		const size = 64
		c := newCorpus(size)
		var all []int32
		for _, b := range data {
			token := int32(b % 7)
			if token == 6 {
				token = boundary
			}
			c.add(token)
			all = append(all, token)
		}
		all = all[max(0, len(all)-size):]
		var query []int32
		for _, b := range data[:min(len(data), int(context))] {
			query = append(query, int32(b%6))
		}
		longest, occurrences := 0, 0
		for e := range all {
			n := 0
			for n < min(e, len(query), maxMatch) && all[e-1-n] == query[len(query)-1-n] {
				n++
			}
			if n >= orders[len(orders)-1] {
				occurrences++
				if all[e] != boundary {
					longest = max(longest, n)
				}
			}
		}
		var s search
		c.find(&s, query)
		if s.match != longest && occurrences < maxCompared/2 { // hashes collide

			t.Fatalf("the longest match in %v of %v is %d, found %d", all, query, longest, s.match)
		}
		list, share := c.follow(&s, nil, 9)
		if s.match > 0 && (len(list) == 0 || share <= 0 || share > 1) {
			t.Fatalf("a match of %d goes on with %v, %v", s.match, list, share)
		}
		if slices.Contains(list, boundary) {
			t.Fatalf("%v crosses a boundary", list)
		}
	})
}

// A corpus that has dropped its oldest tokens finds exactly the others, and so does one that was
// given another ring.
func TestCorpusKeepsTheNewest(t *testing.T) {
	const size = 1 << 12
	rng := rand.New(rand.NewPCG(3, 4))
	c := newCorpus(size)
	var all []int32
	for range 3*size + 77 {
		all = append(all, rng.Int32N(1<<20))
		c.add(all[len(all)-1])
	}
	check := func(c *corpus, kept int) {
		t.Helper()
		for _, at := range []int{len(all) - kept - 1, len(all) - kept, len(all) - 10} {
			var s search
			c.find(&s, all[at:at+3])
			if got, want := s.n > 0, at >= len(all)-kept; got != want {
				t.Errorf("the tokens %d before the end are found: %v, want %v", len(all)-at, got, want)
			}
		}
	}
	check(c, size)
	check(c.resized(2*size), size)
	check(c.resized(size/2), size/2)
}

func BenchmarkFindAtFullMemory(b *testing.B) {
	c, all := fullCorpus()
	var s search
	list := make([]int32, 0, 32)
	for i := 0; b.Loop(); i++ {
		at := 100 + i*7919%(len(all)-200)
		c.find(&s, all[at-32:at])
		list, _ = c.follow(&s, list[:0], 31)
	}
}

func BenchmarkAddAtFullMemory(b *testing.B) {
	c, all := fullCorpus()
	for i := 0; b.Loop(); i++ {
		c.add(all[i%len(all)])
	}
	b.ReportMetric(float64(c.bytes())/MaxTokens, "bytes/token")
}

// fullCorpus is a full memory of tokens as uneven as words.
func fullCorpus() (*corpus, []int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 4, 49151)
	c := newCorpus(MaxTokens)
	all := make([]int32, MaxTokens)
	for i := range all {
		all[i] = int32(zipf.Uint64())
		c.add(all[i])
	}
	return c, all
}
