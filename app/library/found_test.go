package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/models/hub"
	"tandem/storage/disk"
)

// Two packages that may not know each other know pickled weights by the same names, and say the same
// of them.
func TestPickledWeightsAreNamedAlikeEverywhere(t *testing.T) {
	cache := t.TempDir()
	for i, c := range []struct {
		file    string
		pickled bool
	}{
		{"pytorch_model.bin", true}, {"pytorch_model-00001-of-00002.bin", true},
		{"pytorch_model.BIN", false}, {"model.bin", false}, {"pytorch_model.pt", false},
	} {
		id := fmt.Sprint("org/n-", i)
		dir := cachedModel(t, cache, id, "llama")
		if err := os.Rename(filepath.Join(dir, "model.safetensors"),
			filepath.Join(dir, c.file)); err != nil {
			t.Fatal(err)
		}
		_, atHub := hub.Resolve(cache, id)
		_, inFolder := models.Inspect(dir)
		said := bareReason(atHub, id)
		if strings.Contains(said, "pickled") != c.pickled ||
			(said == bareReason(inFolder, dir)) != c.pickled {
			t.Errorf("%s: %v, %v", c.file, atHub, inFolder)
		}
	}
}

// The search does not read a folder with too many names to its end.
func TestSearchStopsAtItsBound(t *testing.T) {
	many := t.TempDir()
	for i := range 50 {
		if err := os.Mkdir(filepath.Join(many, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := newFinder(t.Context(), nil, nil, 20)
	f.folder(many, control.PlaceFolder, foundDepth)
	if found := f.result(); !found.Cut || f.left != 0 {
		t.Errorf("%d of 20 names are unread, cut %t", f.left, found.Cut)
	}
}

// The time of a search bounds how many files of one folder are opened too.
func TestSearchStopsAmongTheFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 * foundAtOnce {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".gguf")), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var opened atomic.Int32
	f := newFinder(ctx, func(string) (models.Summary, error) {
		opened.Add(1)
		cancel()
		return models.Summary{}, errors.New("is opened")
	}, nil, foundEntries)
	f.folder(dir, control.PlaceFolder, 0)
	if found := f.result(); !found.Cut || opened.Load() > foundAtOnce {
		t.Errorf("%d files are opened, cut %t", opened.Load(), found.Cut)
	}
}

// Every model of the catalogue has a name and a whole commit at the hub. Package pool tests that it
// takes its drafter.
func TestSuggestedModelsCanBePulled(t *testing.T) {
	list, err := suggested()
	if err != nil {
		t.Fatal(err)
	}
	classes := []int{8, 16, 24, 36, 64}
	last, seen := 0, map[string]bool{}
	for _, m := range list {
		revisions := map[string]string{m.ID: m.Revision}
		for _, d := range m.Drafters {
			revisions[d.ID] = d.Revision
			if !slices.Contains([]string{"dflash", "dspark", "mtp"}, d.Kind) {
				t.Errorf("%s: %q is no kind of drafter", d.ID, d.Kind)
			}
		}
		for id, revision := range revisions {
			if _, _, err := hub.Parse(hubName(id, revision)); err != nil || seen[id] {
				t.Errorf("%s: %v", id, err)
			}
			if seen[id] = true; revision != "" &&
				(len(revision) != 40 || strings.Trim(revision, "0123456789abcdef") != "") {
				t.Errorf("%s: %q is no commit", id, revision)
			}
		}
		if !slices.Contains(classes, m.From) || m.From < last || m.What == "" {
			t.Errorf("%+v", m)
		}
		last = m.From
	}
	for _, class := range classes {
		if !slices.ContainsFunc(list, func(m control.Suggested) bool { return m.From == class }) {
			t.Errorf("there is no model for %d GB", class)
		}
	}
}

// Models are found in the hub's cache, below LM Studio's folder and in folders of the user. Models
// that cannot be served are listed with the reason. Only a chosen model is registered.
func TestFoundListsModelsOfAllPlacesAndRegistersNone(t *testing.T) {
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
	if err := os.Rename(enginetest.TinyModel(t, "gemma3_text"),
		filepath.Join(mkdir(studio, "maker"), "gem")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(mkdir(studio, "maker", "old"), "old.Q4_K_M.gguf"), "")
	write(filepath.Join(mkdir(studio, "maker", "new"), "config.json"), `{"model_type":"tomorrow"}`)
	write(filepath.Join(mkdir(own, "a", "b", "c", "d"), "config.json"), `{}`) // too deep
	if err := os.Symlink(own, filepath.Join(own, "round")); err != nil {
		t.Fatal(err)
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: cache}, ModelFolders: []ModelFolder{
		{Path: studio, Place: control.PlaceLMStudio}, {Path: own, Place: control.PlaceFolder},
		{Path: filepath.Join(own, "nowhere"), Place: control.PlaceFolder},
	}})
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
		"org/good": "", "maker/gem": "",
		"org/half": "model.safetensors is missing", "maker/old:Q4_K_M": "GGUF", "maker/new": `model_type "tomorrow"`,
	} {
		m := found[id]
		if why == "" && (m.Why != "" || m.Needs == nil || !m.Needs.Fits ||
			m.Needs.Context != 4096 || m.Bytes == 0 || m.Architecture == "" || m.Registered) {
			t.Errorf("%s is %+v", id, m)
		}
		if why != "" && (!strings.Contains(m.Why, why) || strings.Contains(m.Why, m.Path+":") ||
			m.Needs != nil) {
			t.Errorf("%s: the reason is %q", id, m.Why)
		}
	}
	if found["maker/gem"].Place != control.PlaceLMStudio || found["org/good"].Place != control.PlaceHub {
		t.Errorf("places %+v", found)
	}
	if list, err := a.library.Models(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the search registered %+v, %v", list, err)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: found["maker/gem"].Path})
	if err != nil {
		t.Fatal(err)
	}
	if now := look()[m.ID]; m.ID != "maker/gem" || !now.Registered {
		t.Errorf("after it was added, %s is %+v", m.ID, now)
	}
}

// A named pipe in the place of a file does not keep other models from being found. Neither does a
// folder that does not answer. Both are listed with the reason.
func TestFoundGoesOnPastWhatDoesNotAnswer(t *testing.T) {
	silent, cache, own := enginetest.SilentFolder(t), t.TempDir(), t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		dir := filepath.Join(own, "pipe-"+strings.TrimSuffix(name, filepath.Ext(name)))
		if err := errors.Join(os.Rename(enginetest.TinyModel(t, "llama"), dir),
			os.Remove(filepath.Join(dir, name)),
			syscall.Mkfifo(filepath.Join(dir, name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 { // more than are read at once
		if err := os.Symlink(filepath.Join(silent, fmt.Sprint(i)),
			filepath.Join(own, fmt.Sprintf("away-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Rename(enginetest.TinyModel(t, "qwen3"), filepath.Join(own, "good")),
		os.MkdirAll(filepath.Join(own, "folder", "config.json"), 0o755),
		os.Symlink("loop", filepath.Join(own, "loop"))); err != nil {
		t.Fatal(err)
	}
	cachedModel(t, cache, "org/good", "llama")
	a := open(t, setup{Hub: hub.Options{CacheDir: cache}, ModelFolders: []ModelFolder{
		{Path: silent, Place: control.PlaceLMStudio}, {Path: own, Place: control.PlaceFolder}}})
	start := time.Now()
	f, err := a.library.Found(t.Context())
	if d := time.Since(start); err != nil || d > foundTime+disk.Patience {
		t.Fatalf("the search took %v, %v", d, err)
	}
	found := map[string]string{}
	for _, m := range f.Models {
		found[filepath.Base(m.Path)] = m.Why
	}
	for name, why := range map[string]string{
		"good": "", strings.Repeat("a", 40): "", "folder": "config.json is a folder",
		filepath.Base(silent): "does not answer", "away-7": "does not answer",
		"pipe-config":    "config.json is a named pipe",
		"pipe-model":     "model.safetensors is a named pipe",
		"pipe-tokenizer": "tokenizer.json is a named pipe",
	} {
		got, ok := found[name]
		if !ok || (got == "") != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%s is listed as %t with %q, want %q", name, ok, got, why)
		}
	}
}

// A found model that is not registered is listed under the id that adding it gives, although a model
// elsewhere has its name.
func TestFoundModelsHaveFreeIDs(t *testing.T) {
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	one, two := t.TempDir(), t.TempDir()
	write := func(dir, name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"tiny.gguf", "pocket.gguf", "tandem.gguf"} {
		write(two, name)
	}
	a := open(t, setup{ModelFolders: []ModelFolder{{Path: two, Place: control.PlaceFolder}}})
	if _, err := a.library.AddModel(t.Context(),
		control.AddRequest{Path: write(one, "tiny.gguf")}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before they are registered, and after
		f, err := a.library.Found(t.Context())
		if err != nil || len(f.Models) != 3 {
			t.Fatalf("found %+v, %v", f, err)
		}
		for i, want := range []string{"pocket-2", "tandem-2", "tiny-2"} {
			m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: f.Models[i].Path})
			if err != nil || f.Models[i].ID != want || m.ID != want {
				t.Errorf("found as %s and added as %s, %v, want %s", f.Models[i].ID, m.ID, err, want)
			}
		}
	}
}

// A folder of a person's inside LM Studio's has its models listed under the ids that they get.
func TestFoundIDsInsideLMStudiosFolder(t *testing.T) {
	root := t.TempDir()
	maker := filepath.Join(root, "maker")
	if err := os.Mkdir(maker, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(enginetest.TinyModel(t, "qwen3"), filepath.Join(maker, "gem")); err != nil {
		t.Fatal(err)
	}
	a := open(t, setup{ModelFolders: []ModelFolder{{Path: maker, Place: control.PlaceFolder},
		{Path: root, Place: control.PlaceLMStudio}}})
	f, err := a.library.Found(t.Context())
	if err != nil || len(f.Models) != 1 || f.Models[0].ID != "maker/gem" {
		t.Fatalf("found %+v, %v", f, err)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: f.Models[0].Path})
	if err != nil || m.ID != "maker/gem" {
		t.Errorf("added as %s, %v", m.ID, err)
	}
}

// A snapshot that a whole download would not make a model is listed with that reason, and not as
// half downloaded.
func TestSnapshotsThatNoDownloadMends(t *testing.T) {
	cache := t.TempDir()
	for id, arch := range map[string]string{"org/pickled": "llama", "org/strange": "llama",
		"org/half": "qwen3"} {
		dir := cachedModel(t, cache, id, arch)
		err := os.Remove(filepath.Join(dir, "model.safetensors"))
		if id != "org/half" {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, "pytorch_model.bin"), nil, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		if id == "org/strange" {
			editJSON(t, filepath.Join(dir, "config.json"), map[string]any{"model_type": "strange"})
		}
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: cache}})
	found, err := a.library.Found(t.Context())
	if err != nil || len(found.Models) != 3 {
		t.Fatalf("found %+v, %v", found, err)
	}
	for i, want := range []string{"the model is only half downloaded, model.safetensors is missing: download it again",
		"its weights are pickled (.bin), which Tandem does not read; take",
		`model_type "strange" in config.json is not supported`} {
		if why := found.Models[i].Why; !strings.HasPrefix(why, want) {
			t.Errorf("%s: %q, want %q", found.Models[i].ID, why, want)
		}
	}
	_, err = a.pool.Drafter(t.Context(), control.DrafterRequest{Model: models.PocketID,
		Drafter: "org/pickled"})
	if err == nil || !strings.Contains(err.Error(), "org/pickled: its weights are pickled (.bin)") {
		t.Errorf("as a drafter: %v", err)
	}
}
