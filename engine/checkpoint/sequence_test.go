package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

const window = 8 // of the rings

// stacks are the combinations of layers that differ for a trie.
var stacks = []struct {
	name string
	make func() cache.Stack
}{
	{"full", func() cache.Stack { return cache.Stack{cache.NewKV(0), cache.NewKV(0)} }},
	{"ring", func() cache.Stack { return cache.Stack{cache.NewRotating(window, 1)} }},
	{"mixed", func() cache.Stack {
		return cache.Stack{cache.NewRotating(window, 1), cache.NewKV(0),
			cache.NewRotating(2*window, 1)}
	}},
}

// A bench is a trie with its own thread. At its end it checks that no bytes are left in memory.
type bench struct {
	t     *testing.T
	th    *mlx.Thread
	fresh func() cache.Stack
	trie  *Trie
	run   int64 // of new sequences

	// drafting gives new sequences a draft with a context.
	drafting bool
}

func context1() cache.Stack { return cache.Stack{cache.NewKV(0)} }

func newBench(t *testing.T, fresh func() cache.Stack, budget int64) *bench {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, th: th, fresh: fresh, trie: New(fresh(), context1(), budget), drafting: true}
	t.Cleanup(func() {
		b.do(func(s *mlx.Scope) error { b.trie.Close(s); return nil })
		if n := th.Memory().Active; n != 0 {
			t.Errorf("%d bytes are left", n)
		}
		th.Close()
	})
	return b
}

func (b *bench) do(fn func(s *mlx.Scope) error) {
	b.t.Helper()
	if err := b.th.Do(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
	if err := b.trie.Check(); err != nil {
		b.t.Fatal(err)
	}
}

// A sequence is a text in flight. The rows of a position depend on all tokens up to it, so check
// finds a row of another text.
type sequence struct {
	*bench
	tokens []int32
	path   *Path
	stack  cache.Stack
	draft  cache.Stack // a context; may be empty
}

// row is the value that the caches hold at position i.
func row(tokens []int32, i int) float32 {
	h := uint32(2166136261)
	for _, id := range tokens[:i+1] {
		h = (h ^ uint32(id)) * 16777619
	}
	return float32(h >> 8)
}

// begin restores a text as far as it can, checks the rows, and evaluates the rest with captures at
// offsets.
func (b *bench) begin(tokens []int32, offsets ...int) *sequence {
	b.t.Helper()
	q := &sequence{bench: b, tokens: slices.Clone(tokens)}
	b.do(func(s *mlx.Scope) (err error) {
		q.path = b.trie.Begin(tokens, Label{Run: b.run})
		if q.stack, err = q.path.Restore(s, b.fresh); err != nil || !b.drafting {
			return err
		}
		context, ok := context1(), false
		failed := s.Try(func() (err error) {
			ok, err = q.path.RestoreContext(s, context)
			return err
		})
		if failed == nil && (ok || q.path.Restored == 0) {
			q.draft = context
		} else {
			context.Free(s) // the context is damaged or missing; the text is restored without it
		}
		return nil
	})
	q.check(q.path.Restored)
	q.write(q.path.Restored, len(tokens), offsets...)
	return q
}

// write evaluates tokens [from, to) and extends the path by the captures at offsets.
func (q *sequence) write(from, to int, offsets ...int) {
	q.t.Helper()
	q.do(func(s *mlx.Scope) error {
		caches := slices.Concat(q.stack, q.draft)
		for _, c := range caches {
			if err := c.Schedule(q.path.From(), offsets...); err != nil {
				return err
			}
		}
		for at := from; at < to; {
			n := min(4, to-at)
			values := make([]float32, n)
			for i := range values {
				values[i] = row(q.tokens, at+i)
			}
			x := mlx.New(s, values, 1, 1, n, 1)
			for _, c := range caches {
				c.(cache.Attention).Update(s, x, x)
			}
			if err := s.Eval(caches.Arrays()...); err != nil {
				return err
			}
			at += n
		}
		captured := make([][]*cache.Snapshot, len(offsets))
		for _, c := range caches {
			for i, p := range c.Captured() {
				captured[i] = append(captured[i], p)
			}
		}
		for i, at := range offsets {
			if len(q.draft) == 0 {
				captured[i] = append(captured[i], nil)
			}
			if err := q.path.Extend(s, q.tokens[q.path.From():at], captured[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// more appends tokens and evaluates them.
func (q *sequence) more(tokens []int32, offsets ...int) {
	q.t.Helper()
	from := len(q.tokens)
	q.tokens = append(q.tokens, tokens...)
	q.write(from, len(q.tokens), offsets...)
}

// check compares the rows that queries after n positions would attend.
func (q *sequence) check(n int) {
	q.t.Helper()
	q.do(func(s *mlx.Scope) error {
		for i, c := range slices.Concat(q.stack, q.draft) {
			if c.Offset() != n {
				return fmt.Errorf("cache %d is at %d, not %d", i, c.Offset(), n)
			}
			p, err := c.Snapshot(s, 0)
			if err != nil {
				return err
			}
			defer p.Release()
			if p.From() == p.To() {
				continue
			}
			k, _ := p.Rows(s)
			rows, err := mlx.Read[float32](s, s.Contiguous(k))
			if err != nil {
				return err
			}
			for j, got := range rows {
				if want := row(q.tokens, p.From()+j); got != want {
					return fmt.Errorf("cache %d has %g at position %d, want %g",
						i, got, p.From()+j, want)
				}
			}
		}
		return nil
	})
}

func (q *sequence) park() {
	q.t.Helper()
	q.do(func(s *mlx.Scope) error {
		q.draft.Free(s)
		return q.path.Park(s, q.stack)
	})
}

// leave ends the sequence and frees its caches.
func (q *sequence) leave() {
	q.t.Helper()
	q.do(func(s *mlx.Scope) error {
		q.path.Close()
		q.draft.Free(s)
		q.stack.Free(s)
		return nil
	})
}

// text makes n tokens that depend on first.
func text(first int32, n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = first*1000 + int32(i)
	}
	return tokens
}
