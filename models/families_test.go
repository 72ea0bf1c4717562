package models_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// parityFolder is the folder of the models that parity was recorded with.
const parityFolder = "testdata/parity"

// families are recorded models of every architecture, in each form that has caches of its own or
// rows of another arithmetic.
var everyFamily = []family{
	{"gemma3", false},
	{"gemma4", true},
	{"gemma4-e", false},
	{"gemma4-moe", true},
	{"gemma4-moe-4bit", true},
	{"glimmer", false},
	{"glm4-moe-lite-4bit", false},
	{"gpt-oss", true},
	{"gpt-oss-4bit", true},
	{"gpt-oss-mxfp4", false},
	{"granite", false},
	{"lfm2", false},
	{"lfm2-moe-4bit", false},
	{"llama", false},
	{"llama-4bit", true},
	{"llama-sliding", false},
	{"ministral3", false},
	{"mistral3", false},
	{"nemotron-h-4bit", false},
	{"phi3", false},
	{"phi3-long", true},
	{"qwen2", false},
	{"qwen3", false},
	{"qwen3-moe", false},
	{"qwen3-next-moe", false},
	{"qwen35", false},
	{"qwen35-moe", true},
	{"smollm3", false},
}

// A family is a recorded model. The long ones have the caches of others in the list.
type family struct {
	name string
	long bool
}

// compare orders families by name.
func (f family) compare(other family) int { return strings.Compare(f.name, other.name) }

// recordedFolder makes a folder of a recorded model. Its tokenizer has one token.
func recordedFolder(t *testing.T, name string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, enginetest.RecordedModel(t, parityFolder, name)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// layouts returns the layouts of caches that differ for a model. The one that is not served has its
// turn in the long matrices alone.
func (l *lossless) layouts() []cache.Layout {
	if !l.ringless && enginetest.Long {
		return []cache.Layout{cache.Ring, cache.Full}
	}
	return []cache.Layout{cache.Ring}
}

// hasRings reports whether a layer of the model keeps a ring of rows.
func (l *lossless) hasRings() bool {
	rings := false
	caches := l.bundle.Model.NewCaches(cache.Options{})
	enginetest.Do(l.t, l.th, func(s *mlx.Scope) error {
		for _, c := range caches {
			_, ring := c.(*cache.Rotating)
			rings = rings || ring
			c.Free(s)
		}
		return nil
	})
	return rings
}

// forEachFamily runs a test on every family, in each layout. Each family has a process of its own.
func forEachFamily(t *testing.T, test func(*lossless)) {
	for _, f := range everyFamily {
		if f.long && !enginetest.Long {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			if !enginetest.Bit(t) {
				return
			}
			l := openLosslessIn(t, recordedFolder(t, f.name), f.name, cache.Ring)
			defer l.Close()
			l.steady, l.ringless = true, !l.hasRings()
			if !enginetest.Long {
				l.length = 120 // rings start over twice
			}
			for _, layout := range l.layouts() {
				l.layout, l.known = layout, map[string]oracle{}
				test(l)
			}
		})
	}
}

// In every family, decoding with drafts equals plain decoding to the bit, greedy and sampled. This
// holds for right and for wrong drafts, however many drafts of a block are accepted. Decoding with
// each drafter that Tandem serves equals it too. A random DFlash network is one of these drafters.
func TestFamiliesDecodeWithDraftsToTheBit(t *testing.T) {
	blocks, least := []struct {
		rollback engine.Rollback
		depths   []int
	}{{engine.Trim, []int{3}}, {engine.Undo, []int{7}}}, 1
	if enginetest.Long {
		blocks, least = blockDepths, 20
	}
	forEachFamily(t, func(l *lossless) {
		of := l.cast()
		defer of.Close()
		differ, all := 0, 0
		for _, b := range blocks {
			for _, depth := range b.depths {
				c := cell{l.shape, l.layout, b.rollback, depth}
				n, m := l.long(c, least, true)
				if enginetest.Long || b.rollback == engine.Trim { // which is served
					d, a := l.each(c, of)
					n, m = n+d, m+a
				}
				differ, all = differ+n, all+m
				if n > 0 || m == 0 {
					l.t.Errorf("%s: %d of %d logits differ", c, n, m)
				}
			}
		}
		l.t.Logf("%s, %s: %d of %d logits differ", l.shape, l.layout, differ, all)
	})
}

// In every family, a text goes on from random places to the bit, from memory and from disk.
func TestFamiliesRestoreToTheBit(t *testing.T) {
	cuts := 6 // a branch of each half
	if enginetest.Long {
		cuts = 200
	}
	forEachFamily(t, func(l *lossless) {
		r := engine.Request{Prompt: l.prompt(20, 1), Seed: new(uint64(1)), IgnoreEOS: true,
			Sampling: sample.Params{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1}}
		restored, differ, all := l.takeUp(r, cuts, true)
		if differ > 0 || all == 0 || restored == 0 {
			l.t.Errorf("%s, %s: %d tokens restored", l.shape, l.layout, restored)
		}
		l.t.Logf("%s, %s: %d places, %d tokens restored, %d of %d logits differ", l.shape,
			l.layout, cuts, restored, differ, all)
	})
}

// Every architecture has a model in the list.
func TestFamiliesAreComplete(t *testing.T) {
	types := map[string]bool{}
	for _, f := range everyFamily {
		text, err := os.ReadFile(filepath.Join(parityFolder, f.name, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			ModelType string `json:"model_type"`
		}
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		types[baseOf(config.ModelType)] = true
	}
	for _, name := range models.Architectures() {
		if !types[baseOf(name)] {
			t.Errorf("no family is of model_type %s", name)
		}
	}
	if !slices.IsSortedFunc(everyFamily, family.compare) {
		t.Error("families are not in order")
	}
}

// sameLayers are other names of an architecture.
var sameLayers = map[string]string{
	"gemma3":           "gemma3_text",
	"gemma4_text":      "gemma4",
	"gemma4_unified":   "gemma4",
	"mistral":          "llama",
	"qwen3_5_moe_text": "qwen3_5_moe",
	"qwen3_5_text":     "qwen3_5",
}

// baseOf returns the name that stands for an architecture here.
func baseOf(modelType string) string {
	if base, ok := sameLayers[modelType]; ok {
		return base
	}
	return modelType
}
