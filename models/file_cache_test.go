package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/engine/enginetest"
)

// A FileCache opens a path again after a change of its files, and only then.
func TestChangedFilesAreOpenedAgain(t *testing.T) {
	var c FileCache
	dir := enginetest.TinyModel(t, "qwen3")
	open := func() *Files {
		t.Helper()
		f, err := c.Open(dir)
		if err == nil {
			_, err = f.Summary()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := open()
	if open() != first {
		t.Error("the same files are opened again")
	}
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json",
		"generation_config.json", "mtp/model.safetensors", "additional_chat_templates/rag.jinja"} {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			text, err = []byte("{}"), os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err := errors.Join(err, os.WriteFile(file, text, 0o600),
			os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		next := open()
		if next == first {
			t.Errorf("a change of %s is not noticed", name)
		}
		first = next
	}
	pocket, err := c.Open(PocketID)
	if again, _ := c.Open(PocketID); err != nil || again != pocket {
		t.Errorf("the embedded model is opened again, %v", err)
	}
}

// A FileCache keeps the tokenizers of two paths, and what a GGUF file says only as long. What follows from
// them stays.
func TestLargePartsOfThePathsUsedLastAreKept(t *testing.T) {
	var c FileCache
	var all []*Files
	for _, path := range []string{"testdata/gguf/qwen35.gguf", enginetest.TinyModel(t, "llama"),
		enginetest.TinyModel(t, "qwen3")} {
		f, err := c.Open(path)
		if err == nil {
			_, err = f.Summary()
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	holds := func() (list []bool) {
		for _, f := range all {
			list = append(list, f.tokens.value.Load() != nil)
		}
		return list
	}
	if got := holds(); got[0] || !got[1] || !got[2] || all[0].folder.value.Load() != nil {
		t.Errorf("after three models the tokenizers of %v are kept", got)
	}
	if _, err := all[1].Tokenizer(); err != nil {
		t.Fatal(err)
	}
	if _, err := all[0].Tokenizer(); err != nil {
		t.Fatal(err)
	}
	if got := holds(); !got[0] || !got[1] || got[2] {
		t.Errorf("after two others the tokenizers of %v are kept", got)
	}
	c.DropLarge()
	if got := holds(); got[0] || got[1] || got[2] {
		t.Errorf("after DropLarge the tokenizers of %v are kept", got)
	}
	for _, f := range all {
		if f.summary.value.Load() == nil || f.weights.value.Load() == nil {
			t.Errorf("%s: what is small was dropped", f.name)
		}
	}
	(*all[2].weights.value.Load()).size = smallHeaders + 1
	if all[2].DropLarge(); all[2].weights.value.Load() != nil {
		t.Error("headers of more than 1 MiB are kept")
	}
}

// Weights that have changed since their header was read are not loaded by it.
func TestChangedWeightsAreNotLoadedByTheirOldHeader(t *testing.T) {
	th := enginetest.NewThread(t)
	dir := enginetest.TinyModel(t, "qwen3")
	f, err := Open(dir)
	if err == nil {
		_, err = f.Summary()
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "model.safetensors")
	for _, change := range []func() error{
		func() error { return os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)) },
		func() error { return os.Truncate(file, 50_000) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		_, err := f.Load(t.Context(), th, Options{})
		if err == nil || !strings.Contains(err.Error(), "model.safetensors changed while it was read; try again") {
			t.Errorf("the load gives %v", err)
		}
	}
	if active := th.Memory().Active; active != 0 {
		t.Errorf("%d bytes are left in MLX", active)
	}
}
