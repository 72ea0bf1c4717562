package models_test

import (
	"context"
	"slices"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// The draft model has recurrent layers. However many tokens of a chain are accepted, the next chain
// equals that of a draft that gets the whole text at once.
func TestRecurrentDraftEqualsANewDraftOfTheText(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "qwen3_5"), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	do := func(fn func(s *mlx.Scope) error) {
		t.Helper()
		if err := th.Do(context.Background(), fn); err != nil {
			t.Fatal(err)
		}
	}
	d := draft.NewModel(b.Model, b.Model)
	text := []int32{3, 1, 4, 1, 5, 9, 2, 6}
	open := func() (dr draft.Draft, m *sample.Sampler) {
		do(func(s *mlx.Scope) (err error) {
			m = sample.New(s, sample.Params{}, 1, b.Model.Config().VocabSize, text)
			dr, err = d.Open(s, draft.Options{Prompt: text, From: 0, Sampler: m,
				Caches: cache.Options{}})
			return err
		})
		return dr, m
	}
	// next commits text from a position on and returns a proposal of 6 tokens after it.
	next := func(dr draft.Draft, from int) (ids []int32) {
		do(func(s *mlx.Scope) (err error) {
			dr.Committed(s, text[from:len(text)-1], from, nil)
			p := dr.Propose(s, text, 6)
			if err := s.Eval(append(dr.Arrays(), p.Tokens)...); err != nil {
				return err
			}
			ids, err = mlx.Read[int32](s, p.Tokens)
			return err
		})
		return ids
	}
	before := th.Memory().Active
	dr, m := open()
	done := 0 // committed
	for _, accepted := range []int{6, 0, 3, 5, 1, 4, 2, 0} {
		ids := next(dr, done)
		done = len(text) - 1
		whole, other := open()
		if want := next(whole, 0); !slices.Equal(ids, want) {
			t.Errorf("after %d tokens: %v, want %v", len(text), ids, want)
		}
		do(func(s *mlx.Scope) error { whole.Free(s); other.Free(); return nil })
		text = slices.Concat(text, ids[:accepted], []int32{(ids[min(accepted, 5)] + 1) % 256})
	}
	do(func(s *mlx.Scope) error { dr.Free(s); m.Free(); return nil })
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}
