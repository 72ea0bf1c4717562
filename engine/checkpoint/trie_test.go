package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

const plenty = 1 << 30

// each runs a test for every kind of stack.
func each(t *testing.T, test func(t *testing.T, b *bench, exact bool)) {
	for _, k := range stacks {
		t.Run(k.name, func(t *testing.T) {
			b := newBench(t, k.make, plenty)
			test(t, b, b.trie.NeedsExact())
		})
	}
}

// want checks how many tokens of a text were matched and restored.
func (q *sequence) want(matched, restored int) {
	q.t.Helper()
	if q.path.Matched != matched || q.path.Restored != restored {
		q.t.Fatalf("matched %d, restored %d; want %d and %d",
			q.path.Matched, q.path.Restored, matched, restored)
	}
}

// either returns a for stacks that need exact restore points and b for the others.
func either(exact bool, a, b int) int {
	if exact {
		return a
	}
	return b
}

// TestContinuedTextIsRestored expects that a text that goes on after its end is restored whole. The
// same text again is restored except for its last token.
func TestContinuedTextIsRestored(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 50)
		q := b.begin(a, 20, 50)
		q.want(0, 0)
		q.park()
		q = b.begin(append(a, 7, 8, 9), 52)
		q.want(50, 50)
		q.park()
		q = b.begin(a)
		q.want(50, either(exact, 20, 49))
		q.leave()
	})
}

// TestPartingTextIsRestoredUpToThere begins a text that parts inside an edge. It is restored up to
// the last checkpoint before, or up to the divergence. Both texts can continue.
func TestPartingTextIsRestoredUpToThere(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 60)
		b.begin(a, 20, 40, 60).park()
		other := append(slices.Clone(a[:33]), text(2, 20)...)
		q := b.begin(other, 53)
		q.want(33, either(exact, 20, 33))
		q.park()
		q = b.begin(append(slices.Clone(other), 5))
		q.want(53, 53)
		q.leave()
		q = b.begin(append(slices.Clone(a), 5))
		q.want(60, 60)
		q.leave()
		q = b.begin(append(slices.Clone(a[:41]), 5))
		q.want(41, either(exact, 40, 41))
		q.leave()
	})
}

// TestPartingNamesTheTextUsedLast begins texts that part from three others. Two of these begin alike.
// The first run wrote what all three share, but the run used last is the one that a person remembers.
func TestPartingNamesTheTextUsedLast(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 60)
		other := append(slices.Clone(a[:33]), text(2, 20)...)
		kept := func(tokens []int32) {
			b.run++
			b.begin(tokens, len(tokens)).leave()
		}
		kept(a)           // run 1
		kept(other)       // run 2
		kept(text(3, 20)) // run 3
		want := func(tokens []int32, token int32, run int64) {
			t.Helper()
			q := b.begin(tokens)
			q.leave()
			if p := q.path.Divergence; p == nil || p.Kept != token || p.Run != run {
				t.Errorf("parted is %+v, want token %d of run %d", p, token, run)
			}
		}
		early := append(slices.Clone(a[:10]), 901)
		want([]int32{900}, text(3, 20)[0], 3)
		want(early, a[10], 2)
		want(append(slices.Clone(a[:50]), 902), a[50], 1)
		kept(append(slices.Clone(a), 7)) // run 4
		want(early, a[10], 4)
		want([]int32{900}, a[0], 4)
	})
}

// TestTwoSequencesWriteOneText lets two sequences write the same text at the same time. Each then
// goes on alone.
func TestTwoSequencesWriteOneText(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 40)
		one := b.begin(a, 10, 40)
		two := b.begin(a[:30], 30)
		two.want(30, either(exact, 10, 29))
		two.more(a[30:], 35, 40)
		one.more(text(2, 5), 45)
		two.more(text(3, 5), 45)
		two.park()
		one.leave()
		for _, end := range [][]int32{text(2, 5), text(3, 5)} {
			q := b.begin(slices.Concat(a, end, []int32{1}))
			q.want(45, 45)
			q.leave()
		}
	})
}

// TestSecondCaptureFillsInState cuts an edge, so that it has no state at its end. A second sequence
// captures the state there.
func TestSecondCaptureFillsInState(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 40)
		b.begin(a, 40).leave()
		b.begin(append(slices.Clone(a[:25]), 1, 2), 27).leave() // cuts the edge at 25
		if exact {
			b.begin(a[:26], 25).leave()
		}
		q := b.begin(append(slices.Clone(a[:25]), 3))
		q.want(25, 25)
		q.leave()
	})
}

// TestParkedCachesAreTakenOver expects that a sequence that goes on with a text takes over its
// caches without a copy. Other sequences copy.
func TestParkedCachesAreTakenOver(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 50)
		b.drafting = false // a context is copied, not parked
		first := b.begin(a, 50)
		stack := first.stack
		first.park()
		next := b.begin(append(slices.Clone(a), 1))
		if next.stack[0] != stack[0] || b.trie.bytes != 0 {
			t.Errorf("the caches were not taken over, %d bytes copied", b.trie.bytes)
		}
		b.drafting = true
		other := b.begin(append(slices.Clone(a), 2))
		other.want(50, 50)
		if other.stack[0] == stack[0] {
			t.Error("two sequences have the same caches")
		}
		other.more(text(3, 40), 91)
		next.more(text(4, 40), 91)
		other.park()
		next.park()
		for i := range int32(maxParked + 2) { // more than can be parked
			b.begin(text(10+i, 20), 20).park()
		}
		q := b.begin(append(slices.Clone(a), 2, 3000, 3001))
		q.want(53, either(exact, 50, 52))
		q.leave()
	})
}

// TestEvictKeepsTheBudget expects that the least recently used texts are evicted. The path of a
// sequence in flight stays.
func TestEvictKeepsTheBudget(t *testing.T) {
	for _, k := range stacks {
		t.Run(k.name, func(t *testing.T) {
			b := newBench(t, k.make, plenty)
			held := b.begin(text(99, 30), 30)
			for i := range int32(40) {
				b.begin(text(i, 100), 40, 60, 100).park()
				if i == 8 {
					b.trie.budget = b.trie.Bytes()
				}
				if n := b.trie.Bytes(); n > b.trie.budget {
					t.Fatalf("%d bytes are held, the budget is %d", n, b.trie.budget)
				}
			}
			q := b.begin(append(text(39, 100), 1))
			if q.path.Restored == 0 {
				t.Error("the last text was evicted")
			}
			q.leave()
			q = b.begin(append(text(0, 100), 1))
			q.want(0, 0)
			q.leave()
			held.more(text(98, 10), 40)
			held.leave()
			q = b.begin(append(slices.Concat(text(99, 30), text(98, 10)), 1))
			q.want(40, 40)
			q.leave()
		})
	}
}

// TestUseMarksThePath expects that only the nodes on the path of a used text count as used.
func TestUseMarksThePath(t *testing.T) {
	b := newBench(t, stacks[2].make, plenty)
	common := text(1, 20)
	one, two := slices.Concat(common, text(2, 20)), slices.Concat(common, text(3, 20))
	b.begin(one, 20, 40).leave()
	b.begin(two, 40).leave()
	before := b.trie.clock
	b.begin(append(slices.Clone(one), 1)).leave()
	for _, child := range b.trie.root.children[common[0]].children {
		if used := child.used > before; used != (child.tokens[0] == one[20]) {
			t.Errorf("the edge of token %d was used: %v", child.tokens[0], used)
		}
	}
}

// TestRandomSequencesKeepTheTrieSound runs sequences that share beginnings, in random order, within
// a budget that forces evictions.
func TestRandomSequencesKeepTheTrieSound(t *testing.T) {
	for _, k := range stacks {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s/%d", k.name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 2))
				b := newBench(t, k.make, 30<<10)
				var flying []*sequence
				var known [][]int32
				restored, contexts := 0, 0
				offsets := func(from, to int) (list []int) {
					for at := from + 1 + rng.IntN(20); at <= to; at += 1 + rng.IntN(30) {
						list = append(list, at)
					}
					return list
				}
				for range 120 {
					switch op := rng.IntN(6); {
					case op < 3 || len(flying) == 0:
						tokens := text(rng.Int32N(3), 1+rng.IntN(60))
						if len(known) > 0 && op > 0 {
							old := known[rng.IntN(len(known))]
							tokens = append(slices.Clone(old[:rng.IntN(len(old)+1)]), tokens...)
						}
						if len(tokens) > 400 {
							continue
						}
						b.drafting = rng.IntN(3) > 0
						q := b.begin(tokens)
						if len(q.draft) > 0 && q.path.Restored > 0 {
							contexts++
						}
						restored += q.path.Restored
						// The rest of the text has captures.
						from := len(q.tokens)
						q.more(text(rng.Int32N(3), 40), offsets(from, from+40)...)
						flying = append(flying, q)
						known = append(known, q.tokens)
					case op < 4:
						q := flying[rng.IntN(len(flying))]
						from := len(q.tokens)
						q.more(text(rng.Int32N(3), 10), offsets(from, from+10)...)
						q.check(len(q.tokens))
					default:
						i := rng.IntN(len(flying))
						q := flying[i]
						flying = slices.Delete(flying, i, i+1)
						known = append(known, q.tokens)
						if rng.IntN(3) > 0 {
							q.park()
						} else {
							q.leave()
						}
					}
				}
				for _, q := range flying {
					q.leave()
				}
				if restored == 0 || contexts == 0 {
					t.Errorf("%d tokens were restored, %d contexts", restored, contexts)
				}
			})
		}
	}
}

// TestDraftContextIsRestored expects that the context of a draft comes back with the text, unless a
// part of the text was written without a context.
func TestDraftContextIsRestored(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		a := text(1, 40)
		b.begin(a, 20, 40).park()
		more := append(slices.Clone(a), text(2, 20)...)
		q := b.begin(more, 60)
		if len(q.draft) == 0 {
			t.Error("the context is lost")
		}
		q.leave()
		b.drafting = false
		b.begin(append(slices.Clone(more), text(3, 20)...), 80).leave()
		b.drafting = true
		q = b.begin(append(slices.Clone(more), append(text(3, 20), 1)...))
		q.want(80, 80)
		if len(q.draft) > 0 {
			t.Error("a context came back that was never written")
		}
		q.leave()
	})
}

// TestExtendRefusesMissingCaptures calls Extend with fewer captures than caches. Extend refuses the
// call and releases its captures.
func TestExtendRefusesMissingCaptures(t *testing.T) {
	b := newBench(t, stacks[0].make, plenty)
	q := b.begin(text(1, 10))
	b.do(func(s *mlx.Scope) error {
		p, err := q.stack[0].Snapshot(s, 0)
		if err != nil {
			return err
		}
		if q.path.Extend(s, q.tokens, []*cache.Snapshot{p}) == nil {
			t.Error("Extend accepted one capture for two caches")
		}
		return nil
	})
	q.leave()
}
