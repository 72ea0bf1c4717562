package bench

import (
	"context"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A headReader evaluates a text on a target and tells drafts of it.
type headReader struct {
	t       *testing.T
	th      *mlx.Thread
	bundle  *models.Bundle
	drafter *draft.MTP
	text    []int32
}

// newHeadReader loads a tiny target with its head.
func newHeadReader(t *testing.T) *headReader {
	t.Helper()
	r := &headReader{t: t, th: enginetest.NewThread(t)}
	var err error
	if r.bundle, err = models.Load(t.Context(), r.th, enginetest.TinyModel(t, "qwen3_5"),
		models.Options{}); err != nil {
		t.Fatal(err)
	}
	d, err := models.LoadDrafter(t.Context(), r.bundle, enginetest.TinyHead(t, nil),
		models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(); r.bundle.Close() })
	r.drafter = draft.NewMTP(d.Head, r.bundle.Model)
	return r
}

// do runs fn on the thread.
func (r *headReader) do(fn func(s *mlx.Scope) error) {
	r.t.Helper()
	if err := r.th.Do(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// A headDraft is a draft with what it needs.
type headDraft struct {
	draft.Draft
	sampler *sample.Sampler
	told    int // tokens
}

// open begins a draft whose prompt was restored up to a position.
func (r *headReader) open(from int, context cache.Stack) *headDraft {
	r.t.Helper()
	d := &headDraft{told: from}
	r.do(func(s *mlx.Scope) (err error) {
		d.sampler = sample.New(s, sample.Params{Temperature: 0.8}, 1,
			r.bundle.Model.Config().VocabSize, r.text)
		d.Draft, err = r.drafter.Open(s, draft.Options{Prompt: r.text, From: from, Context: context,
			Sampler: d.sampler, Caches: cache.Options{Chunk: 40}})
		return err
	})
	return d
}

// tell commits the text up to a position in runs of n tokens.
func (r *headReader) tell(d *headDraft, to, n int) {
	r.t.Helper()
	for d.told < to {
		from, end := d.told, min(d.told+n, to)
		r.do(func(s *mlx.Scope) error {
			caches := cache.Stack(r.bundle.Model.NewCaches(cache.Options{}))
			defer caches.Free(s)
			out := r.bundle.Model.Forward(s, lm.Batch{{Tokens: mlx.New(s, r.text[:end], end), N: end,
				Caches: caches}}, r.drafter.Taps())
			d.Committed(s, r.text[from:end], from,
				[]*mlx.Array{s.Slice(out.Taps[0], 0, from, end)})
			return s.Eval(d.Arrays()...)
		})
		d.told = end
	}
}

// propose returns n guesses after the text.
func (r *headReader) propose(d *headDraft, n int) (ids []int32) {
	r.t.Helper()
	r.do(func(s *mlx.Scope) (err error) {
		p := d.Propose(s, r.text, n)
		if err := s.Eval(append(d.Arrays(), p.Tokens)...); err != nil {
			return err
		}
		ids, err = mlx.Read[int32](s, p.Tokens)
		return err
	})
	return ids
}

func (r *headReader) close(d *headDraft) {
	r.t.Helper()
	r.do(func(s *mlx.Scope) error { d.Free(s); d.sampler.Free(); return nil })
}

// However many guesses of a chain are accepted and however the text came in, the next chain equals
// that of a draft that gets the whole text at once.
func TestHeadDraftEqualsANewDraftOfTheText(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	r := newHeadReader(t)
	for i := range 50 {
		r.text = append(r.text, int32(i*i*7%256))
	}
	before := r.th.Memory().Active
	d := r.open(0, nil)
	r.tell(d, 1, 1)
	r.tell(d, 30, 7)
	for i, accepted := range []int{6, 0, 3, 5, 1, 4, 2, 0} {
		r.tell(d, len(r.text)-1, 1+i*3)
		ids := r.propose(d, 6)
		whole := r.open(0, nil)
		r.tell(whole, len(r.text)-1, len(r.text))
		if want := r.propose(whole, 6); !slices.Equal(ids, want) {
			t.Errorf("after %d tokens: %v, want %v", len(r.text), ids, want)
		}
		r.close(whole)
		r.text = slices.Concat(r.text, ids[:accepted], []int32{(ids[min(accepted, 5)] + 1) % 256})
	}
	r.close(d)
	if after := r.th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}
