package pool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/models/hub"
)

// A model takes the drafter in the hub's cache that its name leads to. A request may call that
// drafter by its name at the hub.
func TestDrafterInTheHubsCacheIsTaken(t *testing.T) {
	cache := t.TempDir()
	snapshot := filepath.Join(cache, "models--z-lab--tiny-DFlash", "snapshots",
		strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Dir(snapshot), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyDrafter(t, nil), snapshot); err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny-4bit"),
		Hub: hub.Options{CacheDir: cache}})
	if got := r.say(t, "tiny-4bit", fmt.Sprintf(fixedDepth,
		"dflash")); got.Timings.Drafter != "dflash" {
		t.Errorf("%+v", got.Timings)
	}
	change := control.DrafterRequest{Model: "tiny-4bit", Drafter: "z-lab/tiny-DFlash"}
	d, err := r.pool.Drafter(t.Context(), change)
	if err != nil || d.Choice != snapshot {
		t.Errorf("%+v, %v", d, err)
	}
}

// A model takes the head that its own folder brings, and the memory of the head counts.
func TestHeadInTheModelsFolderIsTaken(t *testing.T) {
	model := tinyModel(t, "qwen3_5", "tiny")
	enginetest.AddTinyHead(t, model)
	r := start(t, setup{Model: model})
	plain := r.say(t, "tiny", `{"drafter":"none"}`)
	got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, "mtp"))
	if got.Timings.Drafter != "mtp" || got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
		t.Errorf("%+v", got.Timings)
	}
	if !slices.Equal(got.IDs, plain.IDs) {
		t.Errorf("tokens %v, want %v", got.IDs, plain.IDs)
	}
	d, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "tiny"})
	if err != nil || d.Kind != "mtp" || d.Source != model {
		t.Errorf("%+v, %v", d, err)
	}
	files, err := models.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	size, err := files.Head()
	whole, _ := files.Drafter()
	if err != nil || size.Weights(true) == 0 || size.Weights(true) > whole.Weights(true)/2 {
		t.Errorf("the head takes %d bytes, %v; the model takes %d", size.Weights(true), err,
			whole.Weights(true))
	}
}

// A model whose head cannot be used is served without it, and says why. Its own weights do not draft.
func TestHeadThatCannotBeUsedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		fields map[string]any
		spoil  func(file string) error
		want   string
	}{
		"damaged": {nil, func(file string) error { return os.Truncate(file, 100_000) },
			"mtp.safetensors: the file is cut short"},
		"unsupported": {map[string]any{"mtp_use_dedicated_embeddings": true},
			func(string) error { return nil }, "mtp_use_dedicated_embeddings is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			model := tinyModel(t, "qwen3_5", "tiny", c.fields)
			enginetest.AddTinyHead(t, model)
			if err := c.spoil(filepath.Join(model, "mtp.safetensors")); err != nil {
				t.Fatal(err)
			}
			r := start(t, setup{Model: model})
			got := r.say(t, "tiny", `{}`)
			if !strings.Contains(got.Timings.NoDrafter, c.want) {
				t.Errorf("no_drafter is %q, want %q", got.Timings.NoDrafter, c.want)
			}
			if d := r.pool.look().model().drafter; d != nil {
				t.Errorf("%s drafts", d.Name())
			}
			_, err := r.pool.Drafter(t.Context(), control.DrafterRequest{Model: "tiny", Drafter: model})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("chosen by name: %v, want %q", err, c.want)
			}
		})
	}
}

// A GGUF file brings its head itself. One whose head cannot be used says why, and answers all the same.
func TestHeadInAGGUFFileIsTaken(t *testing.T) {
	const model = "../../models/testdata/gguf/qwen35.gguf"
	file := enginetest.HeadedGGUF(t, model, enginetest.TinyHead(t, map[string]any{
		"vocab_size": 128, "intermediate_size": 96, "head_dim": 32, "rope_theta": 1e6,
		"partial_rotary_factor": 0.5}))
	for _, spoilt := range []bool{false, true} {
		if second := strings.Replace(file, "00001-of", "00002-of", 1); spoilt {
			data, err := os.ReadFile(second)
			if err == nil {
				err = os.WriteFile(second, bytes.Replace(data, []byte("nextn.enorm"),
					[]byte("nextn.gnorm"), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r := start(t, setup{Model: file})
		plain := r.say(t, control.Alias, `{"drafter":"none"}`)
		ask := fmt.Sprintf(fixedDepth, "mtp")
		if spoilt {
			ask = `{"drafter":"auto"}`
		}
		got := r.say(t, control.Alias, ask)
		if !slices.Equal(got.IDs, plain.IDs) {
			t.Errorf("tokens %v, want %v", got.IDs, plain.IDs)
		}
		said := strings.Contains(got.Timings.NoDrafter, "nextn.gnorm")
		if said != spoilt || spoilt == (got.Timings.Drafter == "mtp") {
			t.Errorf("spoilt %v: %+v", spoilt, got.Timings)
		}
	}
}
