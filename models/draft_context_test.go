package models_test

import (
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// A recordedPath is a network whose logits are written down.
type recordingPath struct {
	draft.PathBlock
	logits []float32
}

func (b *recordingPath) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := b.PathBlock.Unembed(s, hidden)
	rows, err := mlx.Read[float32](s, s.Contiguous(s.AsType(logits, mlx.Float32)))
	if err != nil {
		s.Fail(err)
	}
	b.logits = append(b.logits, rows...)
	return logits
}

// Where a text is restored, a DFlash 2 network says what it says without a restore: its context
// comes back with the checkpoint.
func TestSecondDFlashSaysTheSameAfterARestore(t *testing.T) {
	l := newLossless(t, "qwen3", cache.Ring, twoLayers)
	defer l.Close()
	config := l.bundle.Model.Config()
	d, err := models.LoadDrafter(t.Context(), l.bundle, enginetest.TinyDFlash2(t,
		config.VocabSize-1, []int{0, 1}, map[string]any{"hidden_size": config.HiddenSize,
			"num_target_layers": config.Layers,
			"layer_types":       []string{"full_attention", "full_attention"}}),
		models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &recordingPath{PathBlock: d.Block}
	var flash *draft.DFlash
	enginetest.Do(t, l.th, func(s *mlx.Scope) error {
		flash = draft.NewDFlash(s, b, config.VocabSize)
		return nil
	})
	store := checkpoint.NewStore(checkpoint.StoreOptions{Dir: t.TempDir(), Key: "tiny",
		Budget: 1 << 30})
	defer store.Close()
	kept, fresh := l.engine(store, flash), l.engine(nil, flash)
	r := engine.Request{Prompt: l.prompt(60, 1), MaxTokens: new(200), IgnoreEOS: true,
		Seed: new(uint64(3)), Sampling: sample.Params{Temperature: 0.8},
		Speculation: engine.Speculation{Drafter: flash.Name(), Depth: new(5)}}
	text := slices.Concat(r.Prompt, l.sayOn(kept, r, 0).ids)
	r.Prompt, r.MaxTokens = text[:230], new(20)
	says := func(e *engine.Engine) (saying, []float32) {
		b.logits = nil
		said := l.sayOn(e, r, 0)
		return said, b.logits
	}
	got, drafted := says(kept)
	want, wanted := says(fresh)
	if got.stats.CachedTokens < 128 || want.stats.CachedTokens > 0 || !slices.Equal(got.ids, want.ids) {
		t.Errorf("of 230 tokens %d were restored; %v, want %v", got.stats.CachedTokens, got.ids, want.ids)
	}
	differ := 0
	for i := range min(len(drafted), len(wanted)) {
		if x := float64(drafted[i] - wanted[i]); !(x*x < 1e-8) {
			differ++
		}
	}
	if len(wanted) == 0 || len(drafted) != len(wanted) || differ > 0 {
		t.Errorf("%d of %d logits of the drafter differ, of %d", differ, len(wanted), len(drafted))
	}
	kept.Close()
	fresh.Close()
	enginetest.Do(t, l.th, func(*mlx.Scope) error { flash.Free(); return nil })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
