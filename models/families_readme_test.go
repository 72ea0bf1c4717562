package models_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/models"
)

var update = flag.Bool("update", false, "write the table of families into models/README.md")

// calls names the recordings of app/dialect that show how a family writes calls and thoughts.
var calls = map[string][]string{
	"gemma3_text":   {"gemma3", "gemma3_json", "gemma3_tool_code", "functiongemma"},
	"gemma4":        {"gemma4", "gemma4_reasons", "gemma4_result", "gemma4_silent"},
	"glm4_moe_lite": {"glm4_7"},
	"gpt_oss":       {"gpt_oss", "harmony", "harmony_answer", "harmony_role"},
	"granite":       {"granite3_3"},
	"lfm2":          {"lfm2", "lfm2_5", "lfm2_card", "lfm2_json"},
	"lfm2_moe":      {"lfm2_5"},
	"llama": {"llama3_1", "llama3_1_built_in", "llama3_2_pythonic", "functionary3_1", "minicpm5",
		"mistral_v3", "mistral_v7"},
	"ministral3": {"mistral_devstral2", "mistral_v13", "mistral_v13_think"},
	"mistral3": {"mistral_devstral2", "mistral_v7", "mistral_v11", "mistral_v13",
		"mistral_v13_think"},
	"muse_glimmer": {"muse_glimmer", "muse_glimmer_answer"},
	"nemotron_h":   {"nemotron_3", "nemotron_nano"},
	"qwen2":        {"qwen2_5"},
	"phi3":         {"phi4_mini", "phi4_mini_list"},
	"qwen3":        {"qwen3"},
	"qwen3_5":      {"qwen3_5"},
	"qwen3_5_moe":  {"qwen3_5"},
	"qwen3_moe":    {"qwen3", "qwen3_2507", "qwen3_coder", "qwen3_coder_json"},
	"qwen3_next":   {"qwen3_2507", "qwen3_coder_json"},
	"smollm3":      {"smollm3", "smollm3_no_think"},
}

// otherCalls are recordings of models that no family here is.
var otherCalls = []string{"apriel1_5", "deepseek_v3", "deepseek_v31", "glm4_5"}

// A tried family is what the recordings of one model_type show.
type tried struct {
	models   int
	types    map[string]bool // of activations
	packings map[string]bool
}

// recordedFamilies reads every recording of parity.
func recordedFamilies(t *testing.T) map[string]*tried {
	t.Helper()
	all := map[string]*tried{}
	paths, err := filepath.Glob(filepath.Join(parityFolder, "*", "config.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		var config struct {
			ModelType    string         `json:"model_type"`
			Quantization map[string]any `json:"quantization"`
			Other        map[string]any `json:"quantization_config"`
		}
		var recording struct {
			Types []string `json:"types"`
		}
		readInto(t, path, &config)
		readInto(t, filepath.Join(filepath.Dir(path), "fixture.json"), &recording)
		name := baseOf(config.ModelType)
		f := all[name]
		if f == nil {
			f = &tried{types: map[string]bool{}, packings: map[string]bool{}}
			all[name] = f
		}
		f.models++
		for _, d := range recording.Types {
			f.types[d] = true
		}
		addPackings(f.packings, config.Quantization)
		addPackings(f.packings, config.Other)
	}
	return all
}

func readInto(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// addPackings adds the packings of a section of config.json, and of the modules in it.
func addPackings(to map[string]bool, section map[string]any) {
	mode, _ := section["mode"].(string)
	if method, ok := section["quant_method"].(string); ok {
		mode = method
	}
	bits, _ := section["bits"].(float64)
	switch {
	case mode != "" && mode != "affine":
		to[mode] = true
	case bits > 0:
		to[fmt.Sprintf("%g-bit", bits)] = true
	}
	for _, value := range section {
		if module, ok := value.(map[string]any); ok {
			addPackings(to, module)
		}
	}
}

// tableOfFamilies returns the table of models/README.md.
func tableOfFamilies(t *testing.T) string {
	t.Helper()
	held := map[string][]string{} // by family, the models of the bit tests
	for _, f := range everyFamily {
		var config struct {
			ModelType string `json:"model_type"`
		}
		readInto(t, filepath.Join(parityFolder, f.name, "config.json"), &config)
		base := baseOf(config.ModelType)
		held[base] = append(held[base], f.name)
	}
	var b bytes.Buffer
	b.WriteString("| `model_type` | parity with mlx_lm | packings | calls and thoughts | drafters and checkpoints |\n")
	b.WriteString("| --- | --- | --- | --- | --- |\n")
	all := recordedFamilies(t)
	list := func(names map[string]bool) string {
		return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		fmt.Fprintf(&b, "| `%s` | %s: %s | %s | %s | %s |\n", name, plural(f.models, "model"),
			list(f.types), cmp.Or(list(f.packings), "-"), strings.Join(calls[name], ", "),
			cmp.Or(strings.Join(held[name], ", "), "-"))
	}
	return b.String()
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// The table of models/README.md says what the recordings and the tests of this package hold. Every
// architecture stands in it, or the one that has the same layers.
func TestReadmeSaysWhatFamiliesWereTriedWith(t *testing.T) {
	const readme, head = "README.md", "## What each family was tried with\n"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, section, ok := strings.Cut(string(text), head)
	start := strings.Index(section, "| `model_type`")
	if !ok || start < 0 {
		t.Fatalf("%s has no table after %q", readme, head)
	}
	old := section[start:]
	if end := strings.Index(old, "\n\n"); end >= 0 {
		old = old[:end+1]
	}
	want := tableOfFamilies(t)
	if *update && old != want {
		whole := before + head + section[:start] + want + section[start+len(old):]
		if err := os.WriteFile(readme, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("the table of families has to be\n%s\nRun go test ./models -run Readme -update.",
			want)
	}
	for _, name := range models.Architectures() {
		if !strings.Contains(want, "| `"+baseOf(name)+"` |") {
			t.Errorf("nothing is recorded of model_type %s", name)
		}
	}
}

// TestEveryRecordingOfCallsIsOfAFamily expects each recording of app/dialect in the table, or among
// those of other models. Each family has one.
func TestEveryRecordingOfCallsIsOfAFamily(t *testing.T) {
	paths, err := filepath.Glob("../app/dialect/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, path := range paths {
		recorded = append(recorded, strings.TrimSuffix(filepath.Base(path), ".txt"))
	}
	named := slices.Clone(otherCalls)
	for _, files := range calls {
		named = append(named, files...)
	}
	slices.Sort(named)
	if named = slices.Compact(named); !slices.Equal(named, recorded) {
		t.Errorf("families have the recordings %v, and the recordings are %v", named, recorded)
	}
	for name := range recordedFamilies(t) {
		if len(calls[name]) == 0 {
			t.Errorf("no recording says how a %s writes calls", name)
		}
	}
}
