package checkpoint

import (
	"slices"
	"testing"

	"tandem/engine/mlx"
)

// TestEvictKeepsSharedBeginning expects that a beginning that many texts share stays while the
// texts come and go. The path of a sequence in flight stays too.
func TestEvictKeepsSharedBeginning(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		b.drafting = false
		shared := text(1, 40)
		flying := b.begin(slices.Concat(shared, text(50, 30)), 40, 70)
		flying.more(text(60, 100)) // a ring's rows at 70 are a copy now
		for i := range int32(20) {
			b.begin(slices.Concat(shared, text(2+i, 60)), 100).park()
			if i == 5 {
				b.trie.budget = b.trie.Bytes()
			}
			if n := b.trie.Bytes(); n > b.trie.budget {
				t.Fatalf("%d bytes are held, the budget is %d", n, b.trie.budget)
			}
		}
		q := b.begin(slices.Concat(shared, text(2, 60), []int32{7}))
		if q.path.Restored < 40 || q.path.Restored >= 100 {
			t.Errorf("%d tokens of the first text were restored, want the shared beginning",
				q.path.Restored)
		}
		q.leave()
		q = b.begin(slices.Concat(shared, text(21, 60), []int32{7}))
		q.want(100, 100)
		q.leave()
		flying.more(text(61, 10), 180)
		flying.leave()
		q = b.begin(slices.Concat(shared, text(50, 30), text(60, 100), text(61, 10), []int32{7}))
		q.want(180, 180)
		q.leave()
	})
}

// TestEvictKeepsNodeWhereTextsPart expects that a node where two texts part stays as long as both
// texts do, however little it is worth.
func TestEvictKeepsNodeWhereTextsPart(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		b.drafting = false
		shared := text(1, 5)
		b.begin(shared, 5).leave()
		for i := range int32(2) {
			b.begin(slices.Concat(shared, text(2+i, 100)), 105).leave()
		}
		b.do(func(s *mlx.Scope) error {
			b.trie.budget = b.trie.Bytes() - 1
			return b.trie.evict(s)
		})
		q := b.begin(slices.Concat(shared, text(2, 100), []int32{7}))
		q.want(5, 5)
		q.leave()
		q = b.begin(slices.Concat(shared, text(3, 100), []int32{7}))
		q.want(105, 105)
		q.leave()
	})
}

// TestBytesCountCopies expects that the rows of a node count no bytes while they are in the caches
// of a sequence. They count when the caches overwrite or free them.
func TestBytesCountCopies(t *testing.T) {
	each(t, func(t *testing.T, b *bench, exact bool) {
		b.drafting = false
		q := b.begin(text(1, 50), 20, 50)
		if b.trie.bytes != 0 {
			t.Errorf("%d bytes were copied of a text in flight", b.trie.bytes)
		}
		q.more(text(2, 100)) // more rows than a ring holds
		if n := b.trie.bytes; (n > 0) != exact {
			t.Errorf("%d bytes were copied once a ring went around", n)
		}
		q.leave()
		if b.trie.bytes == 0 || b.trie.Bytes() != b.trie.bytes {
			t.Errorf("%d bytes are held, %d of them copies", b.trie.Bytes(), b.trie.bytes)
		}
		if active := b.th.Memory().Active; active < b.trie.bytes {
			t.Errorf("%d bytes are accounted for, %d are active", b.trie.bytes, active)
		}
		b.do(func(s *mlx.Scope) error {
			b.trie.budget = 0
			return b.trie.evict(s)
		})
		if n := b.trie.Bytes(); n != 0 {
			t.Errorf("%d bytes are left of an empty trie", n)
		}
	})
}
