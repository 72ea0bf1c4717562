package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/engine/enginetest"
	"tandem/storage"
)

// TestTrial: of the readings that a drafter's checkpoint leaves open the one
// it was made for is found while the model is idle, and kept.
func TestTrial(t *testing.T) {
	model := tinyModel(t, "gemma3_text", "parrot")
	drafter := enginetest.TinyDrafter(t, map[string]any{
		"num_hidden_layers": 1, "layer_types": []string{"sliding_attention"}, "num_attention_heads": 4, "num_key_value_heads": 4,
		"dflash_config": map[string]any{"mask_token_id": 259, "target_layer_ids": []int{0, 2}},
	})
	parrot(t, model, drafter)
	r := start(t, Options{Model: model}, "127.0.0.1:0")
	c := r.client(t)
	if _, err := c.Load(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	d, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "parrot", Drafter: drafter})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Measuring {
		t.Errorf("%+v", d)
	}
	for d.Measuring {
		time.Sleep(20 * time.Millisecond)
		if d, err = c.Drafter(t.Context(), control.DrafterRequest{Model: "parrot"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v", d)
	if d.Embedding != "raw" || d.Sliding != "causal" || len(d.Trials) != 4 || d.Trials[0].Blocks < 50 {
		t.Errorf("%+v", d)
	}
	got := r.say(t, "parrot", fmt.Sprintf(fixedDepth, "dflash"))
	if got.Timings.Accepted*3 < got.Timings.DraftN {
		t.Errorf("read as it was found best: %+v", got.Timings)
	}
	// The next load asks no more.
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if active := r.thread.Memory().Active; active != 0 {
		t.Errorf("%d bytes are left in MLX", active)
	}
	if err := r.pool.Load(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	if d, err = c.Drafter(t.Context(), control.DrafterRequest{Model: "parrot"}); err != nil || d.Measuring || d.Embedding != "raw" || d.Sliding != "causal" {
		t.Errorf("%+v, %v", d, err)
	}
	// Another training in the same folder is another drafter.
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(drafter, "model.safetensors"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	if d, err = c.Drafter(t.Context(), control.DrafterRequest{Model: "parrot"}); err != nil || !d.Measuring || len(d.Trials) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestTrialGivesWay: a measurement stands back for requests, and ends with the
// model.
func TestTrialGivesWay(t *testing.T) {
	model := tinyModel(t, "gemma3_text", "tiny")
	if err := os.Rename(enginetest.TinyDrafter(t, nil), filepath.Join(model, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: model}, "127.0.0.1:0")
	c := r.client(t)
	for _, begun := range []bool{false, true} {
		if err := r.pool.Load(t.Context(), "tiny"); err != nil {
			t.Fatal(err)
		}
		for idle := r.thread.Syncs(); begun && r.thread.Syncs() == idle; {
			time.Sleep(time.Millisecond)
		}
		held, err := r.pool.Acquire(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pool.TrialPause / 2) // a piece of it may be under way
		before := r.thread.Syncs()
		time.Sleep(2 * pool.TrialPause)
		if after := r.thread.Syncs(); after != before {
			t.Errorf("a trial computed while a request held the model: %d syncs, then %d", before, after)
		}
		held.Release()
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if active := r.thread.Memory().Active; active != 0 {
			t.Errorf("%d bytes are left in MLX", active)
		}
		d, err := c.Drafter(t.Context(), control.DrafterRequest{Model: "tiny"})
		if err != nil || len(d.Trials) > 0 || d.Embedding != "" {
			t.Errorf("a trial that was cut off left %+v, %v", d, err)
		}
	}
}

// TestTrialOfNothing: a model whose answers end at once measures no reading,
// which is told and not kept as a measurement.
func TestTrialOfNothing(t *testing.T) {
	every := make([]int, 256)
	for i := range every {
		every[i] = i
	}
	model := enginetest.TinyModel(t, "gemma3_text", map[string]any{"eos_token_id": every})
	if err := os.Rename(enginetest.TinyDrafter(t, nil), filepath.Join(model, "drafter")); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Model: model}, "127.0.0.1:0")
	c := r.client(t)
	id := r.State().Choice
	if err := r.pool.Load(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	d := control.Drafter{Measuring: true}
	for d.Measuring {
		time.Sleep(time.Millisecond)
		var err error
		if d, err = c.Drafter(t.Context(), control.DrafterRequest{Model: id}); err != nil {
			t.Fatal(err)
		}
	}
	if d.Kind != "dflash" || len(d.Trials) > 0 || d.Embedding != "" {
		t.Errorf("%+v", d)
	}
	if _, err := r.db.Reading(t.Context(), id, pool.WeightsKey(d.Source)); !storage.IsNotFound(err) {
		t.Errorf("it was kept: %v", err)
	}
}
