package models_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
)

// TestSmallerModelDraftsWithSameTokens loads models of other architectures as drafters, for a
// loaded target and for an outline. Other tokens are refused.
func TestSmallerModelDraftsWithSameTokens(t *testing.T) {
	th := enginetest.NewThread(t)
	before := th.Memory().Active
	target := enginetest.TinyModel(t, "qwen3")
	whole := loadTiny(t, th, "qwen3")
	outline, err := outline(th, target)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outline.Model.Config(), whole.Model.Config(); got.Layers != want.Layers ||
		got.HiddenSize != want.HiddenSize || got.VocabSize != want.VocabSize {
		t.Errorf("the outline is %+v, the model %+v", got, want)
	}
	edit := func(from, to string) func(text []byte) []byte {
		return func(text []byte) []byte { return bytes.Replace(text, []byte(from), []byte(to), 1) }
	}
	for of, b := range map[string]*models.Bundle{"the whole model": whole, "its outline": outline} {
		held := th.Memory().Active
		for _, c := range []struct {
			name string
			file string
			edit func(text []byte) []byte
			code models.Code
			want string // empty = it is taken
		}{
			{name: "the same tokens"},
			{name: "another token", file: "tokenizer.json", edit: edit(`|end|`, `|fin|`), code: models.CodeInvalid, want: `its tokens are not the model's: id 256 is the special token "<|fin|>" here and the special token "<|end|>" there`},
			{name: "another id", file: "tokenizer.json", edit: edit(`"id":256`, `"id":257`), code: models.CodeInvalid, want: `id 256 is no token here and the special token "<|end|>" there`},
			{name: "not special", file: "tokenizer.json", edit: edit(`"special":true`, `"special":false`), code: models.CodeInvalid, want: `id 256 is "<|end|>" here and the special token "<|end|>" there`},
			{name: "no tokens", file: "tokenizer.json", edit: func([]byte) []byte { return []byte("{") }, code: models.CodeInvalid, want: "tokenizer.json"},
			{name: "unknown architecture", file: "config.json", edit: edit(`"llama"`, `"camel"`), code: models.CodeUnsupported, want: `model_type "camel"`},
			{name: "cut short", file: "model.safetensors", edit: func(text []byte) []byte { return text[:len(text)/2] }, code: models.CodeIncomplete, want: "cut short"},
		} {
			dir := enginetest.TinyModel(t, "llama")
			if c.file != "" {
				path := filepath.Join(dir, c.file)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				changed := c.edit(text)
				if bytes.Equal(changed, text) {
					t.Fatalf("%s, %s: %s was not changed:\n%.2000s", of, c.name, c.file, text)
				}
				if err := os.WriteFile(path, changed, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := models.LoadDrafter(t.Context(), b, dir, models.DrafterSettings{},
				models.Options{})
			if c.want == "" {
				if err != nil {
					t.Fatalf("%s, %s: %v", of, c.name, err)
				}
				if d.Block != nil {
					t.Fatalf("%s, %s: d.Block = %v, want nil", of, c.name, d.Block)
				}
				if d.Model == nil {
					t.Fatalf("%s, %s: d.Model is nil", of, c.name)
				}
				if d.Info.Architecture != "llama" {
					t.Fatalf(`%s, %s: d.Info.Architecture = %q, want "llama"`,
						of, c.name, d.Info.Architecture)
				}
				if d.Info.ContextLength != 4096 {
					t.Fatalf("%s, %s: d.Info.ContextLength = %v, want 4096",
						of, c.name, d.Info.ContextLength)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			e, ok := errors.AsType[*models.Error](err)
			if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want code %s and %q", of, c.name, err, c.code, c.want)
			}
		}
		// A block network pairs with an outline too.
		d, err := models.LoadDrafter(t.Context(), b, enginetest.TinyDrafter(t, nil),
			models.DrafterSettings{}, models.Options{})
		if err != nil || d.Block == nil {
			t.Fatalf("%s: %+v, %v", of, d, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if now := th.Memory().Active; now != held {
			t.Errorf("%s: active memory went from %d to %d", of, held, now)
		}
	}
	if err := errors.Join(outline.Close(), whole.Close()); err != nil {
		t.Fatal(err)
	}
	if after := th.Memory().Active; after != before {
		t.Errorf("active memory went from %d to %d", before, after)
	}
}

func TestPocketModelHasAnOutline(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.OpenPocket().Outline(th)
	if err != nil {
		t.Fatal(err)
	}
	if c := b.Model.Config(); c.VocabSize != b.Tokenizer.Size() || c.Layers == 0 {
		t.Errorf("%+v", c)
	}
	d, err := models.LoadDrafter(t.Context(), b, models.PocketDrafter, models.DrafterSettings{},
		models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	_, err = models.LoadDrafter(t.Context(), b, models.PocketID+"/none",
		models.DrafterSettings{}, models.Options{})
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Code != models.CodeNotFound {
		t.Errorf("there is no such drafter, and loading it says %v", err)
	}
}

// An embedded model has no file, and its drafter is not found by one.
func TestBuiltInDrafterIsFoundByTheStartersFile(t *testing.T) {
	for _, file := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "none.gguf")} {
		if name := models.BuiltInDrafter(file); name != "" {
			t.Errorf("the model in %q has the drafter %s", file, name)
		}
	}
}
