package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/engine/enginetest"
	"tandem/models/hub"
)

// cachedModel lays a tiny model into a hub's cache, and returns its snapshot.
func cachedModel(t *testing.T, cache, id, arch string) string {
	t.Helper()
	dir := filepath.Join(cache, "models--"+strings.ReplaceAll(id, "/", "--"), "snapshots", strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyModel(t, arch), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFound: models lie in the hub's cache, below LM Studio's folder and in folders
// of the user's. What cannot be served is listed with the reason; nothing is
// registered unless it is chosen.
func TestFound(t *testing.T) {
	cache, studio, own := t.TempDir(), t.TempDir(), t.TempDir()
	cachedModel(t, cache, "org/good", "llama")
	half := cachedModel(t, cache, "org/half", "qwen3")
	if err := os.Remove(filepath.Join(half, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	mkdir := func(parts ...string) string {
		dir := filepath.Join(parts...)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(enginetest.TinyModel(t, "gemma3_text"), filepath.Join(mkdir(studio, "maker"), "gem")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(mkdir(studio, "maker", "old"), "old.Q4_K_M.gguf"), "")
	write(filepath.Join(mkdir(studio, "maker", "new"), "config.json"), `{"model_type":"tomorrow"}`)
	write(filepath.Join(mkdir(own, "a", "b", "c", "d"), "config.json"), `{}`) // too deep
	if err := os.Symlink(own, filepath.Join(own, "round")); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Hub: hub.Options{CacheDir: cache}, ModelFolders: []library.ModelFolder{
		{Path: studio, Place: control.PlaceLMStudio}, {Path: own, Place: control.PlaceFolder}, {Path: filepath.Join(own, "nowhere"), Place: control.PlaceFolder},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	look := func() map[string]control.FoundModel {
		t.Helper()
		f, err := a.library.Found(t.Context())
		if err != nil || f.Cut {
			t.Fatalf("%+v, %v", f, err)
		}
		byID := map[string]control.FoundModel{}
		for _, m := range f.Models {
			byID[m.ID] = m
		}
		if len(byID) != 5 || len(f.Models) != 5 {
			t.Fatalf("found %+v", f.Models)
		}
		return byID
	}
	found := look()
	for id, why := range map[string]string{
		"org/good": "", "gem": "",
		"org/half": "model.safetensors is missing", "old": "GGUF", "new": `model_type "tomorrow"`,
	} {
		m := found[id]
		if why == "" && (m.Why != "" || m.Needs == nil || !m.Needs.Fits || m.Needs.Context != 4096 || m.Bytes == 0 || m.Architecture == "" || m.Registered) {
			t.Errorf("%s is %+v", id, m)
		}
		if why != "" && (!strings.Contains(m.Why, why) || strings.Contains(m.Why, m.Path+":") || m.Needs != nil) {
			t.Errorf("%s: why is %q", id, m.Why)
		}
	}
	if found["gem"].Place != control.PlaceLMStudio || found["org/good"].Place != control.PlaceHub {
		t.Errorf("places %+v", found)
	}
	if list, err := a.library.Models(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("looking registered %+v, %v", list, err)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: found["gem"].Path})
	if err != nil {
		t.Fatal(err)
	}
	if now := look()[m.ID]; !now.Registered {
		t.Errorf("chosen it is %+v", now)
	}
}
