package pool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/storage"
)

// What was learned about a drafter belongs to the bits that it is packed in and to the rows that it
// reads. So do its context rows in checkpoints.
func TestDrafterOptionsAreLearnedApart(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny")})
	dir := enginetest.TinyDFlash2(t, 259, []int{0, 2}, map[string]any{
		"layer_types": []string{"full_attention", "full_attention"}})
	if _, err := control.Call(t.Context(), r.client(t), control.SetDrafter,
		control.DrafterRequest{Model: "tiny",
			Drafter: dir}); err != nil {
		t.Fatal(err)
	}
	for i, own := range []control.ModelSettings{{}, {DraftWindow: new(10)}, {DrafterBits: new(4)}} {
		own.Model = "tiny"
		if _, err := r.pool.SetModelSettings(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		set := r.pool.formatSetting(own)
		key := r.pool.drafters.Key(dir, drafters.LoadOptions{Options: models.Options{Bits: set.drafterBits},
			Window: set.draftWindow})
		for _, want := range []bool{false, true} {
			_, err := r.db.Models.Policy(t.Context(), "tiny", "dflash "+key, draft.Buckets[0])
			if got := err == nil; got != want {
				t.Errorf("%s: a policy is there: %t, want %t", key, got, want)
			}
			list, err := r.db.Checkpoints.All(t.Context(), "tiny")
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(list, func(c storage.Checkpoint) bool {
				return c.Context == key
			}); got != want {
				t.Errorf("%s: a checkpoint is there: %t, want %t", key, got, want)
			}
			if want {
				break
			}
			r.ask(t, map[string]any{"model": "tiny", "max_tokens": 60, "temperature": 0,
				"prompt": string(rune('a'+i)) + strings.Repeat("func main() { ", 20), "ignore_eos": true,
				"speculation": json.RawMessage(`{"drafter":"dflash"}`)}, false)
			if err := r.pool.Unload(t.Context(), ""); err != nil { // writes what was learned
				t.Fatal(err)
			}
		}
	}
}
