package pool

import (
	"bytes"
	"encoding/json"
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
	"tandem/storage"
)

// The longest name that begins the model's name wins.
func TestDrafterNamesOfTheHubAreFoundByTheModelsName(t *testing.T) {
	ids := []string{
		"z-lab/Qwen3-8B-DFlash-b16", "z-lab/Qwen3-8B-Coder-DFlash", "z-lab/Qwen3-4B-DFlash",
		"me/qwen3-8b-dflash", "me/DFlash", "me/x-DFlashy", "Qwen/Qwen3-8B",
		"z-lab/gemma-4-26B-A4B-it-DFlash", "z-lab/gemma4-12B-it-DFlash",
		"google/gemma-4-12B-it-assistant", "google/gemma-4-E2B-it-assistant",
		"mlx-community/Qwen3.8-27B-MTP-4bit", "me/Qwen3.8-27B-DSpark", "me/Qwen3.8-27B-MTPLX",
	}
	for model, want := range map[string][]string{
		"Qwen/Qwen3-8B":               {"me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16"},
		"mlx-community/Qwen3-8B-4bit": {"me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16"},
		"org/Qwen3-8B-Coder-4bit": {
			"z-lab/Qwen3-8B-Coder-DFlash", "me/qwen3-8b-dflash", "z-lab/Qwen3-8B-DFlash-b16",
		},
		"mlx-community/gemma-4-12B-it-qat-4bit": {
			"z-lab/gemma4-12B-it-DFlash", "google/gemma-4-12B-it-assistant",
		},
		"mlx-community/gemma-4-e2b-it-4bit": {"google/gemma-4-E2B-it-assistant"},
		"mlx-community/Qwen3.8-27B-4bit": {
			"me/Qwen3.8-27B-DSpark", "mlx-community/Qwen3.8-27B-MTP-4bit",
		},
		"mlx-community/Qwen3.8-27B-MTP-4bit":    {"me/Qwen3.8-27B-DSpark"},
		"mlx-community/gemma-4-26b-a4b-it-4bit": {"z-lab/gemma-4-26B-A4B-it-DFlash"},
		"Qwen3-4B":                              {"z-lab/Qwen3-4B-DFlash"},
		"Qwen3-80B":                             nil,
		"x":                                     nil,
	} {
		if got := drafterNames(model, ids); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}

// The name of a model at the hub is what `tandem pull` takes, whatever its id became.
func TestNamesAtTheHub(t *testing.T) {
	snapshot := "/cache/models--org--tiny/snapshots/" + strings.Repeat("a", 40)
	for path, want := range map[string]string{
		snapshot:                             "org/tiny",
		snapshot + "/tiny-Q4_K_M.gguf":       "org/tiny:Q4_K_M",
		snapshot + "/q8_0/tiny-q8_0.gguf":    "org/tiny:Q8_0",
		snapshot + "/tiny.gguf":              "org/tiny",
		"/elsewhere/models/tiny-Q4_K_M.gguf": "tiny-2",
		"/elsewhere/models/tiny":             "tiny-2",
	} {
		if got := hubName(storage.Model{ID: "tiny-2", Path: path}); got != want {
			t.Errorf("%s is %s at the hub, not %s", path, got, want)
		}
	}
}

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
	size, err := models.MeasureHead(model)
	whole, _ := models.MeasureDrafter(model)
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
			if d := r.pool.current().drafter; d != nil {
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

// Each suggested model takes its drafters by itself once they are downloaded: the first of them if
// all are.
func TestSuggestedModelsTakeTheirDrafters(t *testing.T) {
	b, err := os.ReadFile("../library/suggested.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []control.Suggested
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		t.Fatalf("%d models, %v", len(list), err)
	}
	drafted := 0
	for _, m := range list {
		var all []string
		for _, d := range m.Drafters {
			if all = append(all, d.ID); !Drafts(d.ID, m.ID) {
				t.Errorf("%s does not take %s by itself", m.ID, d.ID)
			}
		}
		if len(all) > 0 && drafterNames(m.ID, all)[0] != all[0] {
			t.Errorf("%s takes %s before %s", m.ID, drafterNames(m.ID, all)[0], all[0])
		}
		drafted += len(all)
	}
	if drafted == 0 {
		t.Error("no suggested model has a drafter")
	}
}

// A folder drafter belongs to the model in the folder around it. It belongs to none of several GGUF
// files.
func TestFolderDrafterBelongsToTheModelAroundIt(t *testing.T) {
	lay := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			path := filepath.Join(dir, name)
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(path, 0o700)
			} else if err == nil {
				err = os.WriteFile(path, nil, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, x := range []struct {
		name  string
		files []string
		model string // below the folder
		found bool
	}{
		{"a model's folder", []string{"config.json", "drafter/config.json"}, "", true},
		{"a drafter without a config, whose load says so", []string{"drafter/"}, "", true},
		{"none", []string{"config.json"}, "", false},
		{"a file of that name", []string{"drafter"}, "", false},
		{"one GGUF file", []string{"a.gguf", "drafter/config.json"}, "a.gguf", true},
		{"a GGUF set", []string{"a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "drafter/config.json"},
			"a-00001-of-00002.gguf", true},
		{"two GGUF files", []string{"a.gguf", "b.gguf", "drafter/config.json"}, "a.gguf", false},
	} {
		dir, want := lay(x.files...), ""
		if x.found {
			want = filepath.Join(dir, "drafter")
		}
		if got := DrafterBeside(filepath.Join(dir, x.model)); got != want {
			t.Errorf("%s: %q, want %q", x.name, got, want)
		}
	}
	if got := DrafterBeside(""); got != "" {
		t.Errorf("the embedded model: %q", got)
	}
}
