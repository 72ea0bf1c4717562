package drafters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
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
			if all = append(all, d.ID); !pairs(d.ID, m.ID) {
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
		if got := Beside(filepath.Join(dir, x.model)); got != want {
			t.Errorf("%s: %q, want %q", x.name, got, want)
		}
	}
	if got := Beside(""); got != "" {
		t.Errorf("the embedded model: %q", got)
	}
}
