package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A text is a prompt of a simulated schedule. Its unit is the chunk.
type text struct {
	client string
	comes  int // before that many chunks were read
	chunks int
}

// simulate reads texts chunk by chunk. It returns the number of chunks at each text's end, and the
// client of each chunk.
func simulate(texts []text) (ends []int, whose []string) {
	var s fairShares
	ends = make([]int, len(texts))
	left := make([]int, len(texts))
	for i, t := range texts {
		left[i] = t.chunks
	}
	for at := 0; slices.Max(left) > 0; at++ {
		var list []pending
		var index []int
		for i, t := range texts {
			if t.comes <= at && left[i] > 0 {
				list = append(list, pending{t.client, left[i], time.Unix(int64(t.comes), int64(i))})
				index = append(index, i)
			}
		}
		if list == nil {
			whose = append(whose, "")
			continue
		}
		i := index[s.next(list)]
		whose = append(whose, texts[i].client)
		if left[i]--; left[i] == 0 {
			ends[i] = at + 1
		}
	}
	return ends, whose
}

func TestFairShares(t *testing.T) {
	many := func(client string, n, chunks, every int) (list []text) {
		for i := range n {
			list = append(list, text{client, i * every, chunks})
		}
		return list
	}
	t.Run("a short question is read within two chunks of a long prompt", func(t *testing.T) {
		for comes := 1; comes < 30; comes++ {
			for _, client := range []string{"a", "b"} {
				ends, _ := simulate([]text{{"a", 0, 32}, {client, comes, 1}})
				if wait := ends[1] - comes; wait > 2 {
					t.Errorf("one chunk of %s that comes after %d ends %d chunks later",
						client, comes, wait)
				}
			}
		}
	})
	t.Run("prompts that are alike are read one after the other", func(t *testing.T) {
		ends, _ := simulate([]text{{"a", 0, 6}, {"b", 0, 6}, {"c", 0, 6}})
		if !slices.Equal(ends, []int{6, 12, 18}) {
			t.Errorf("prompts that are alike end after %v", ends)
		}
	})
	t.Run("a chat does not wait for the prompts of an agent", func(t *testing.T) {
		for _, chunks := range []int{1, 4, 20} {
			ends, _ := simulate(append(many("a", 60, 4, 0), text{"b", 10, chunks}))
			if wait := ends[60] - 10; wait > 2*chunks+maxLead {
				t.Errorf("%d chunks beside 60 prompts of another client take %d", chunks, wait)
			}
		}
	})
	t.Run("a long prompt is read on beside endless short ones of another client",
		func(t *testing.T) {
			ends, whose := simulate(append(many("a", 400, 1, 1), text{"b", 0, 64}))
			if end := ends[400]; end > 2*64+maxLead {
				t.Errorf("64 chunks beside short prompts of another client take %d", end)
			}
			got := map[string]int{}
			for _, c := range whose[:128] {
				got[c]++
			}
			if got["a"] < 56 || got["b"] < 56 {
				t.Errorf("of 128 chunks they got %v", got)
			}
		})
	t.Run("a long prompt is read on beside endless short ones of its own client",
		func(t *testing.T) {
			for _, other := range []string{"a", "b"} { // the other client that reads
				ends, _ := simulate(slices.Concat([]text{{"a", 0, 16}}, many("a", 400, 1, 1),
					many(other, 400, 1, 1)))
				if end := ends[0]; end > 2*oldestEvery*16 {
					t.Errorf("beside %s: 16 chunks take %d", other, end)
				}
			}
		})
	t.Run("a newcomer does not stop a long prompt", func(t *testing.T) {
		_, whose := simulate([]text{{"a", 0, 500}, {"b", 200, 150}})
		n := 0
		for _, c := range whose[200:300] {
			if c == "a" {
				n++
			}
		}
		if n < 50-maxLead {
			t.Errorf("after 200 chunks of its own, the long prompt got %d of 100 beside a newcomer", n)
		}
	})
	t.Run("a long prompt is read on beside endless new clients", func(t *testing.T) {
		texts := []text{{"a", 0, 16}}
		for n := range 1000 {
			texts = append(texts, text{fmt.Sprint("new ", n), n, 1})
		}
		ends, _ := simulate(texts)
		if ends[0] > 16*oldestEvery {
			t.Errorf("16 chunks beside new clients without end take %d", ends[0])
		}
	})
	t.Run("bursts with pauses between them do not hold up a long prompt", func(t *testing.T) {
		// Client b sends bursts, with pauses in which it wants no chunk.
		var texts []text
		for n := range 40 {
			texts = append(texts, many("b", maxLead, 1, 0)...)
			for i := range texts[n*maxLead:] {
				texts[n*maxLead+i].comes = n * (maxLead + 1)
			}
		}
		_, whose := simulate(append(texts, text{"a", 0, 200}))
		n := 0
		for _, c := range whose[:200] {
			if c == "a" {
				n++
			}
		}
		if n < 100-maxLead {
			t.Errorf("of 200 chunks beside bursts the long prompt got %d", n)
		}
	})
}

// TestClientsGetEqualShares expects that two clients that always want chunks are never further
// apart than the lead allows. The lengths of their prompts do not matter. The client of the oldest
// prompt has at least its fixed share, which is more than an equal share among more than four
// clients.
func TestClientsGetEqualShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 50 {
		var texts []text
		clients := 2 + rng.IntN(4)
		for c := range clients {
			for left := 300; left > 0; {
				n := min(left, 1+rng.IntN(1+rng.IntN(40)))
				texts = append(texts, text{fmt.Sprint(c), 0, n})
				left -= n
			}
		}
		_, whose := simulate(texts)
		got := map[string]int{}
		for _, c := range whose[:300] { // no text reaches its end in these
			got[c]++
		}
		bound := 2*maxLead + max(0, 300/oldestEvery-300/clients)
		for a := range clients {
			for b := range clients {
				if d := got[fmt.Sprint(a)] - got[fmt.Sprint(b)]; d > bound {
					t.Errorf("of 300 chunks they got %v", got)
				}
			}
		}
	}
}

// TestSharesForgetClientsThatLeft expects that the counts of clients that left do not pile up.
func TestSharesForgetClientsThatLeft(t *testing.T) {
	var s fairShares
	for n := range 1000 {
		list := []pending{{client: "a", rest: 100}, {client: fmt.Sprint(n), rest: 1}}
		s.next(list)
		if len(s.had) > 2 {
			t.Fatalf("%d clients are counted", len(s.had))
		}
	}
}
