package models_test

import (
	"context"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
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

// propose returns n guesses after the text, and the processed logits of the first.
func (r *headReader) propose(d *headDraft, n int) (ids []int32, logits []float32) {
	r.t.Helper()
	r.do(func(s *mlx.Scope) (err error) {
		p := d.Propose(s, r.text, n)
		first := s.Slice(p.LogQ, 0, 0, 1)
		if err := s.Eval(append(d.Arrays(), p.Tokens, first)...); err != nil {
			return err
		}
		if ids, err = mlx.Read[int32](s, p.Tokens); err == nil {
			logits, err = mlx.Read[float32](s, first)
		}
		return err
	})
	return ids, logits
}

func (r *headReader) close(d *headDraft) {
	r.t.Helper()
	r.do(func(s *mlx.Scope) error { d.Free(s); d.sampler.Free(); return nil })
}

// The next chain equals that of a draft that gets the whole text at once. This holds however many
// guesses of a chain are accepted, and however the text came in.
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
		ids, logits := r.propose(d, 6)
		whole := r.open(0, nil)
		r.tell(whole, len(r.text)-1, len(r.text))
		want, wanted := r.propose(whole, 6)
		if !slices.Equal(ids, want) || !slices.Equal(logits, wanted) {
			t.Errorf("after %d tokens: %v, want %v, and the logits differ: %v", len(r.text), ids, want,
				!slices.Equal(logits, wanted))
		}
		r.close(whole)
		text := r.text
		r.text = slices.Concat(text, ids[:2]) // guesses that are known are no text yet
		if got, _ := r.propose(d, 4); !slices.Equal(got, ids[2:]) {
			t.Errorf("after %d tokens: %v go on with %v", len(text), ids[:2], got)
		}
		r.text = slices.Concat(text, ids[:accepted], []int32{(ids[min(accepted, 5)] + 1) % 256})
	}
	r.close(d)
	if after := r.th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// A context that was kept in parts and restored guesses as one that was kept whole. Without its
// context a draft begins at the first token that it is told of, and guesses otherwise.
func TestHeadContextIsKeptAndRestored(t *testing.T) {
	r := newHeadReader(t)
	for i := range 90 {
		r.text = append(r.text, int32(i*i*7%256))
	}
	before := r.th.Memory().Active
	d := r.open(0, nil)
	keep := func(from, to int) (p *cache.Snapshot) {
		r.do(func(s *mlx.Scope) error {
			list, err := d.Draft.(draft.Kept).Keep(s, from, to)
			if err == nil {
				p = list[0]
			}
			return err
		})
		return p
	}
	r.tell(d, 30, 7)
	first := keep(0, 30)
	r.tell(d, len(r.text)-1, 40)
	r.propose(d, 3)
	second, whole := keep(30, 60), keep(0, 60)
	r.close(d)
	guesses := func(parts ...*cache.Snapshot) []float32 {
		var context cache.Stack
		if parts != nil {
			context = r.drafter.NewContext(cache.Options{Chunk: 40})
			r.do(func(s *mlx.Scope) error { return context[0].Restore(s, parts, 60) })
		}
		d := r.open(60, context)
		defer r.close(d)
		r.tell(d, len(r.text)-1, 11)
		_, logits := r.propose(d, 6)
		return logits
	}
	want := guesses(whole)
	if got := guesses(first, second); !slices.Equal(got, want) {
		t.Error("a context of two parts guesses otherwise")
	}
	if got := guesses(); slices.Equal(got, want) {
		t.Error("a draft without its context guesses the same")
	}
	r.do(func(*mlx.Scope) error {
		for _, p := range []*cache.Snapshot{first, second, whole} {
			p.Release()
		}
		return nil
	})
	if after := r.th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

// A head's context comes back with the checkpoint of its target, from memory and from disk. No token
// depends on it.
func TestHeadDraftsGoOnAfterARestart(t *testing.T) {
	l := newLossless(t, "qwen3_5", cache.Ring, twoLayers)
	defer l.Close()
	of := l.cast()
	defer of.Close()
	head := of.head
	i := slices.IndexFunc(of.drafters, func(d draft.Drafter) bool { return d.Name() == "mtp" })
	counted := &contextCounter{MTP: of.drafters[i].(*draft.MTP)}
	dir := t.TempDir()
	r := engine.Request{Prompt: l.prompt(30, 2), MaxTokens: new(150), IgnoreEOS: true,
		Seed: new(uint64(5)), Sampling: sample.Params{Temperature: 0.8}}
	want := l.plain("text", r, 0).ids
	head.text = slices.Concat(r.Prompt, want)
	r.Speculation = engine.Speculation{Drafter: "mtp", Depth: new(3)}
	for _, at := range []int{0, 60, 120} {
		store := checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "tiny", Budget: 1 << 30,
			Context: "head"})
		e := l.engine(store, counted)
		r := r
		r.Prompt, r.MaxTokens = head.text[:30+at], new(150-at)
		got := l.sayOn(e, r, 0)
		if !slices.Equal(got.ids, want[at:]) || got.stats.Accepted == 0 ||
			got.stats.NoDrafter != "" {
			t.Errorf("from %d on: %d drafts accepted (%s), ids %v, want %v", at, got.stats.Accepted,
				got.stats.NoDrafter, got.ids, want[at:])
		}
		if at > 0 && (got.stats.CachedTokens == 0 || counted.restored != got.stats.CachedTokens) {
			t.Errorf("from %d on: %d tokens were restored, and a context of %d", at,
				got.stats.CachedTokens, counted.restored)
		}
		e.Close()
		store.Close()
	}
}

// A contextCounter notes the rows of the context that a draft began with.
type contextCounter struct {
	*draft.MTP
	restored int
}

func (c *contextCounter) Open(s *mlx.Scope, o draft.Options) (draft.Draft, error) {
	c.restored = 0
	if o.Context != nil {
		c.restored = o.Context[0].Offset()
	}
	return c.MTP.Open(s, o)
}
