package app

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// TestSameSeed decodes with one seed under the coupled rule: the ids are those
// of plain decoding, whoever drafts, how far, and however drafts are undone.
// Prompt and answer go around the ring.
func TestSameSeed(t *testing.T) {
	if !enginetest.Bit(t) {
		return
	}
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	b, err := models.Load(t.Context(), th, enginetest.TinyModel(t, "gemma3_text"), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	loaded, err := models.LoadDrafter(t.Context(), b, enginetest.TinyDrafter(t, nil), models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	var dflash *draft.DFlash
	if err := th.Do(t.Context(), func(s *mlx.Scope) error {
		dflash = draft.NewDFlash(s, loaded.Block, b.Model)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	defer th.Do(context.Background(), func(*mlx.Scope) error { dflash.Free(); return nil })
	known := &enginetest.Scripted{Vocab: b.Model.Config().VocabSize, Layers: []int{1}}
	known.Wrong = func(round, n int) int { return round % (n + 1) }
	// The same weights in a model of its own: what it says is the target's word.
	twin, err := models.LoadDrafter(t.Context(), b, enginetest.TinyModel(t, "gemma3_text"), models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	drafters := []draft.Drafter{draft.Prediction{}, known, dflash, draft.NewModel(twin.Model, b.Model)}

	const adaptive = -1
	stood := map[string]int{} // drafts by drafter, and where the depth was left open
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		e := engine.New(th, b.Model, b.Tokenizer, engine.Options{Layout: layout, Chunk: 32, Drafters: drafters})
		say := func(r engine.Request) (ids []int32, stats engine.Stats) {
			r.Done = func(s engine.Stats) { stats = s }
			for tok, err := range e.Generate(t.Context(), r) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tok.ID)
			}
			return ids, stats
		}
		for _, temperature := range []float64{0.8, 1} {
			r := engine.Request{MaxTokens: new(48), IgnoreEOS: true, Seed: new(uint64(7)), Sampling: sample.Params{Temperature: temperature}}
			for i := range 25 {
				r.Prompt = append(r.Prompt, int32(i*i%90))
			}
			r.Speculation.Drafter = engine.None
			want, _ := say(r)
			known.Text = slices.Concat(r.Prompt, want)
			// What the client expects, with a mistake now and then.
			r.Prediction = slices.Clone(want)
			for i := 5; i < len(want); i += 7 {
				r.Prediction[i] = (want[i] + 1) % 256
			}
			for _, d := range drafters {
				for depth := adaptive; depth <= min(8, d.MaxDrafts()); depth++ {
					for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
						r.Speculation = engine.Speculation{Drafter: d.Name(), Rollback: rollback}
						if depth != adaptive {
							r.Speculation.Depth = &depth
						}
						got, stats := say(r)
						what := fmt.Sprintf("%s, temperature %g, %s, depth %d, %s", layout, temperature, d.Name(), depth, rollback)
						if !slices.Equal(got, want) {
							t.Errorf("%s: %v, want %v", what, got, want)
						}
						if depth > 0 && stats.Drafted == 0 {
							t.Errorf("%s: nothing was drafted (%s)", what, stats.NoDrafter)
						}
						stood[d.Name()] += stats.Accepted
						if depth == adaptive {
							stood["adaptive"] += stats.Accepted
						}
					}
				}
			}
		}
		e.Close()
	}
	t.Log("drafts that stood:", stood)
	// How often the engine drafts by itself depends on the clock.
	for name, least := range map[string]int{"prediction": 100, "scripted": 100, "dflash": 100, "model": 100, "adaptive": 1} {
		if stood[name] < least {
			t.Errorf("%s: %d drafts stood, that is too few to tell", name, stood[name])
		}
	}
}
