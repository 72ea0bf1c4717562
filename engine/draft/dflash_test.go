package draft_test

import (
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A follower is a block network that drafts the tokens after its last known one in a cycle. Like a real
// one it keeps its context in a full cache and in a ring.
type follower struct {
	vocab, size int
	at          []int // positions of its context, in order of the calls
	rows        []int // of each call
}

func (b *follower) Taps() []int      { return []int{0, 1} }
func (b *follower) BlockSize() int   { return b.size }
func (b *follower) MaskToken() int32 { return int32(b.vocab - 1) }

func (b *follower) NewCaches(opts cache.Options) []cache.Cache {
	return []cache.Cache{cache.New(opts, 0), cache.New(opts, 4)}
}

func (b *follower) Context(s *mlx.Scope, taps []*mlx.Array, pos int, caches []cache.Cache) {
	n := taps[0].Dim(0)
	for i := range n {
		b.at = append(b.at, pos+i)
	}
	b.rows = append(b.rows, n)
	b.write(s, n, caches)
}

func (b *follower) write(s *mlx.Scope, n int, caches []cache.Cache) {
	rows := s.Zeros(mlx.Float32, 1, 1, n, 1)
	for _, c := range caches {
		c.(cache.Attention).Update(s, rows, rows)
	}
}

func (b *follower) Forward(s *mlx.Scope, taps []*mlx.Array, known *mlx.Array, n, pos int,
	caches []cache.Cache) *mlx.Array {
	k := known.Dim(0)
	if taps != nil {
		b.Context(s, taps, pos-taps[0].Dim(0), caches)
	}
	b.write(s, k+n, caches)
	for _, c := range caches {
		if err := c.Trim(k + n); err != nil {
			s.Fail(err)
		}
	}
	ids, err := mlx.Read[int32](s, known)
	if err != nil {
		s.Fail(err)
		return known
	}
	hidden := make([]float32, n*b.vocab)
	for i := range n {
		hidden[i*b.vocab+(int(ids[k-1])+1+i)%b.vocab] = 1
	}
	return mlx.New(s, hidden, n, b.vocab)
}

func (b *follower) Unembed(_ *mlx.Scope, hidden *mlx.Array) *mlx.Array { return hidden }

// The drafter gets committed tokens in runs of many sizes, with caches made for many chunks. It
// receives every position once, in order, and then drafts.
func TestDFlashReadsEachPositionOnce(t *testing.T) {
	th := enginetest.NewThread(t)
	const vocab = 20
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, chunk := range []int{0, 1, 16, 40, 512} {
			for _, run := range []int{1, 5, 16, 63, 64, 200, 700} {
				b := &follower{vocab: vocab, size: 8}
				err := th.Do(t.Context(), func(s *mlx.Scope) error {
					d := draft.NewDFlash(s, b, vocab)
					defer d.Free()
					sampler := sample.New(s, sample.Params{}, 0, vocab, nil)
					defer sampler.Free()
					one, err := d.Open(s, draft.Options{Sampler: sampler,
						Caches: cache.Options{Layout: layout, Chunk: chunk}})
					if err != nil {
						return err
					}
					defer one.Free(s)
					history := []int32{0}
					for len(history) < 1500 {
						from := len(history) - 1
						for range run {
							history = append(history, int32(len(history)%vocab))
						}
						tap := s.Zeros(mlx.Float32, run, vocab)
						one.Committed(s, history[from:from+run], from, []*mlx.Array{tap, tap})
						if err := s.Eval(one.Arrays()...); err != nil {
							return err
						}
					}
					checkDrafts(t, s, one, b, history, 7)
					// Another draft's tokens may come before: here 4, another time 7.
					checkDrafts(t, s, one, b, append(slices.Clip(history), 3, 9, 11, 2), 3)
					full := append(slices.Clip(history), make([]int32, 7)...)
					if p := one.Propose(s, full, 7); p.N != 0 {
						t.Errorf("%d tokens were drafted in a block of 8 known ones", p.N)
					}
					return s.Err()
				})
				if err != nil {
					t.Errorf("%s layout, chunk %d, runs of %d: %v", layout, chunk, run, err)
				}
				for i, pos := range b.at {
					if pos != i {
						t.Fatalf("%s layout, chunk %d, runs of %d: position %d is row %d of the context",
							layout, chunk, run, pos, i)
					}
				}
				if most := slices.Max(b.rows); most > (cache.Options{Chunk: chunk}).MaxRows() {
					t.Errorf("%s layout, chunk %d, runs of %d: %d rows at once",
						layout, chunk, run, most)
				}
			}
		}
	}
}

// checkDrafts expects the n tokens that come after history in the cycle.
func checkDrafts(t *testing.T, s *mlx.Scope, one draft.Draft, b *follower, history []int32, n int) {
	t.Helper()
	p := one.Propose(s, history, 7)
	if p.N != n {
		t.Errorf("%d tokens were drafted, want %d", p.N, n)
		return
	}
	got, err := mlx.Read[int32](s, p.Tokens)
	if err != nil {
		t.Error(err)
		return
	}
	last := int(history[len(history)-1])
	var want []int32
	for i := range n {
		want = append(want, int32((last+1+i)%b.vocab))
	}
	// The mask token is never drafted.
	if i := slices.Index(want, b.MaskToken()); i >= 0 {
		want[i] = got[i]
		if got[i] == b.MaskToken() {
			t.Error("the mask token was drafted")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v were drafted after %d, want %v", got, last, want)
	}
}

// A draft's context is kept in parts, and another draft opens with it, except for the rows that a
// ring has dropped. A draft that begins inside a text has no context to keep.
func TestDFlashContextIsKeptInParts(t *testing.T) {
	for layout, kept := range map[cache.Layout]int{cache.Full: 2, cache.Ring: 1} {
		t.Run(string(layout), func(t *testing.T) { testDFlashKeep(t, layout, kept) })
	}
}

func testDFlashKeep(t *testing.T, layout cache.Layout, caches int) {
	th := enginetest.NewThread(t)
	const vocab, end = 20, 150
	b := &follower{vocab: vocab, size: 8}
	o := cache.Options{Layout: layout}
	history := make([]int32, end+1)
	for i := range history {
		history[i] = int32(i % vocab)
	}
	err := th.Do(t.Context(), func(s *mlx.Scope) error {
		d := draft.NewDFlash(s, b, vocab)
		defer d.Free()
		sampler := sample.New(s, sample.Params{}, 0, vocab, nil)
		defer sampler.Free()
		// goOn commits the positions [from, to) to a draft and lets it draft.
		goOn := func(from, to int, context cache.Stack) draft.Kept {
			one, _ := d.Open(s, draft.Options{From: from, Context: context, Sampler: sampler,
				Caches: o}) // it has no error
			tap := s.Zeros(mlx.Float32, to-from, vocab)
			one.Committed(s, history[from:to], from, []*mlx.Array{tap, tap})
			if p := one.Propose(s, history[:to+1], 3); p.N != 3 || s.Err() != nil {
				t.Errorf("%d tokens were drafted after %d: %v", p.N, to, s.Err())
			}
			return one.(draft.Kept)
		}
		whole := goOn(0, 100, nil)
		defer whole.Free(s)
		tap := s.Zeros(mlx.Float32, 20, vocab)
		whole.Committed(s, history[100:120], 100, []*mlx.Array{tap, tap}) // they wait
		context := d.NewContext(o)
		parts := make([][]*cache.Snapshot, len(context))
		for _, span := range [][2]int{{0, 40}, {40, 110}} {
			kept, err := whole.Keep(s, span[0], span[1])
			if err != nil {
				return err
			}
			if len(kept) != caches {
				t.Errorf("%d caches were kept, want %d", len(kept), caches)
			}
			for i, p := range kept {
				if p.From() != span[0] || p.To() != span[1] {
					t.Errorf("%d to %d were kept of %v", p.From(), p.To(), span)
				}
				parts[i] = append(parts[i], p)
			}
		}
		for i, c := range context.Rewindable() {
			if err := c.Restore(s, parts[i], 105); err != nil {
				return err
			}
			for _, p := range parts[i] {
				p.Release()
			}
		}
		again := goOn(105, end, context)
		defer again.Free(s)
		if kept, err := again.Keep(s, 0, end); err != nil || len(kept) != caches ||
			kept[0].From() != 0 {
			t.Errorf("of a context that was restored %v was kept: %v", kept, err)
		} else {
			for _, p := range kept {
				p.Release()
			}
		}
		late := goOn(105, end, nil)
		defer late.Free(s)
		if kept, err := late.Keep(s, 110, 120); kept != nil || err != nil {
			t.Errorf("a context that begins inside was kept: %v, %v", kept, err)
		}
		return s.Err()
	})
	if err != nil {
		t.Error(err)
	}
}
