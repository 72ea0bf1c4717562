package library

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/models/hub"
	"tandem/models/ollama"
	"tandem/storage"
)

func TestIDsOfGGUFFiles(t *testing.T) {
	for path, want := range map[string]string{
		"/lm/org/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf":                  "org/Qwen3-4B-GGUF:Q4_K_M",
		"/lm/org/Qwen3-4B-GGUF/Qwen3-4B-UD-Q4_K_XL.gguf":              "org/Qwen3-4B-GGUF:UD-Q4_K_XL",
		"/lm/org/Big-GGUF/Big-Q8_0-00001-of-00003.gguf":               "org/Big-GGUF:Q8_0",
		"/lm/org/gpt-oss-20b-GGUF/gpt-oss-20b-MXFP4.gguf":             "org/gpt-oss-20b-GGUF:MXFP4",
		"/lm/SmolLM2-135M-Instruct.Q4_1.gguf":                         "SmolLM2-135M-Instruct.Q4_1",
		"/lm/org/other/some model.gguf":                               "some-model",
		"/c/models--org--n-GGUF/snapshots/" + commit + "/n-q4_0.gguf": "org/n-GGUF:Q4_0",
	} {
		if got := folderID(path); got != want {
			t.Errorf("%s has the id %q, not %q", path, got, want)
		}
	}
}

// A name means the same files on disk and at the hub.
func TestNamesOfGGUFFilesMeanTheSameEverywhere(t *testing.T) {
	for name, files := range map[string]int{"a.gguf": 1, "a-00002-of-00003.GGUF": 3,
		"a-00001-of-00001.gguf": 1, "a-00001-of-01024.gguf": 1024, "a-00001-of-01025.gguf": 1,
		"a-00001-of-99999.gguf": 1, "a-00001-of-00000.gguf": 1, "a-00009-of-00003.gguf": 3,
		"a-1-of-3.gguf": 1, "-00001-of-00002.gguf": 2, "d/a-00001-of-00002.gguf": 2,
		"a-00001-of-00002.safetensors": 1} {
		of := models.GGUFSet(name)
		if len(of) != files {
			t.Errorf("%s belongs to %d files, not %d: %q", name, len(of), files, of[0])
		}
		if first := models.FirstOfGGUFSet(name); first != of[0] {
			t.Errorf("%s belongs to the set of %s, not of %s", name, of[0], first)
		}
	}
	for _, name := range []string{"mmproj-a.gguf", "a-MMPROJ.GGUF", "a.GGUF", "gguf", "a.gguf.part"} {
		if projector := models.IsGGUF(name) && strings.Contains(strings.ToLower(name),
			"mmproj"); hub.IsProjector(name) != projector {
			t.Errorf("%s lets a model see: %t", name, !projector)
		}
	}
}

// A folder with many sets costs no more for each of its files than a small one.
func TestFolderOfManySets(t *testing.T) {
	var entries []fs.DirEntry
	for i := range 1000 {
		info := fstest.MapFS{fmt.Sprintf("m%d-00001-of-01024.gguf", i): {}}
		list, err := info.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, list...)
	}
	const most = 50 // for each file
	if n := testing.AllocsPerRun(1, func() { ggufModels(entries) }); n > most*1000 {
		t.Errorf("1000 files of sets take %v allocations", n)
	}
}

// A person may give a model any id that Tandem gives itself.
func TestIDsOfPeople(t *testing.T) {
	for id, want := range map[string]bool{
		"tiny": true, "tiny:q8": true, "org/n:Q4_K_M": true, "hf.co/org/small": true,
		"hf.co/org/small:UD-Q4_K_XL": true, "odd-name-main-x": true, "Tiny_1.5B": true,
		"": false, "a/b/c/d": false, "a:": false, ":a": false, "a:b:c": false, "a:b/c": false, "a//b": false,
		"-a": false, "a.": false, "a--b": false, "a..b": false, "a@main": false, "a b": false, "é": false,
		"../a": false, strings.Repeat("a/", 2) + strings.Repeat("b", 300): false,
	} {
		if isID(id) != want {
			t.Errorf("%q is an id: %t", id, !want)
		}
	}
	a := open(t, setup{})
	m, err := a.library.AddModel(t.Context(), control.AddRequest{ID: "hf.co/org/small:q8",
		Path: "../../models/testdata/gguf/llama.gguf"})
	if err != nil || m.ID != "hf.co/org/small:q8" {
		t.Errorf("it is added as %q, %v", m.ID, err)
	}
	for id, word := range map[string]string{"a b": "Each part has letters", control.Alias: "means the current model"} {
		_, err := a.library.AddModel(t.Context(), control.AddRequest{ID: id,
			Path: "../../models/testdata/gguf/llama.gguf"})
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q is added: %v", id, err)
		}
	}
}

const commit = "0123456789012345678901234567890123456789"

// Each quantization in a folder is a model of its own. What lets one see is none.
func TestFoundListsGGUFFiles(t *testing.T) {
	studio := t.TempDir()
	dir := filepath.Join(studio, "maker", "tiny-GGUF")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tiny-Q8_0.gguf", "tiny-Q4_K_M.gguf", "mmproj-tiny-f16.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, setup{ModelFolders: []ModelFolder{{Path: studio, Place: control.PlaceLMStudio}}})
	f, err := a.library.Found(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, m := range f.Models {
		ids[m.ID] = m.Why
		if m.Why != "" || m.Needs == nil || m.Place != control.PlaceLMStudio {
			t.Errorf("found %+v", m)
		}
	}
	if _, ok := ids["maker/tiny-GGUF:Q4_K_M"]; len(ids) != 2 || !ok {
		t.Errorf("found %v", ids)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: f.Models[0].Path})
	if err != nil || m.ID != f.Models[0].ID {
		t.Errorf("added as %q, %v", m.ID, err)
	}
	if m.FileType != "Q8_0" || m.Packing() != "Q8_0, mixed 8-bit" {
		t.Errorf("it is %q, %q", m.FileType, m.Packing())
	}
}

// A folder with one model in GGUF stands for it. Of several, the error names the files.
func TestAFolderStandsForItsGGUFFile(t *testing.T) {
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("tiny-Q8_0.gguf")
	write("mmproj-tiny-f16.gguf")
	write("config.json") // publishers lay one beside
	a := open(t, setup{})
	if _, err := a.library.AddModel(t.Context(), control.AddRequest{}); err == nil ||
		!strings.Contains(err.Error(), "The path is empty") {
		t.Errorf("an empty path is added: %v", err)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: dir})
	if err != nil || m.ID != "tiny-Q8_0" || m.Path != filepath.Join(dir, "tiny-Q8_0.gguf") {
		t.Fatalf("added %+v, %v", m, err)
	}
	write("other-Q4_0-00001-of-00002.gguf")
	write("other-Q4_0-00002-of-00002.gguf")
	_, err = a.library.AddModel(t.Context(), control.AddRequest{Path: dir})
	want := " holds 2 models in GGUF, so name the file of one: " +
		"other-Q4_0-00001-of-00002.gguf, tiny-Q8_0.gguf"
	e, ok := errors.AsType[*control.Error](err)
	if !ok || e.Code != control.CodeModelInvalid || e.Message != dir+want {
		t.Errorf("a folder with two is added: %v", err)
	}
}

// A folder is refused if it has only later files of a set, or only the file that lets a model see.
// The error says what is missing. The search lists the set with that reason.
func TestAFolderWithoutTheModelsOwnFile(t *testing.T) {
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, name := range []string{"set/big-00002-of-00003.gguf", "set/big-00003-of-00003.gguf",
		"vision/mmproj-big-f16.gguf"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, file, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, setup{ModelFolders: []ModelFolder{{Path: root, Place: control.PlaceFolder}}})
	for path, want := range map[string]string{
		"set": "/set/big-00001-of-00003.gguf: the file is missing, though others of its set are there; " +
			"copy it beside them, or download the model again if it comes from the hub",
		"set/big-00002-of-00003.gguf": "/set/big-00001-of-00003.gguf: the file is missing, " +
			"though others of its set are there; " +
			"copy it beside them, or download the model again if it comes from the hub",
		"vision": "/vision holds mmproj-big-f16.gguf, which lets a model see and is not a model; " +
			"download the model's own file too",
	} {
		_, err := a.library.AddModel(t.Context(), control.AddRequest{Path: filepath.Join(root, path)})
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelInvalid ||
			!strings.HasSuffix(e.Message, want) {
			t.Errorf("%s is added: %v, want %q", path, err, want)
		}
	}
	found, err := a.library.Found(t.Context())
	if err != nil || len(found.Models) != 1 || found.Models[0].ID != "big" ||
		!strings.HasPrefix(found.Models[0].Why, "the file is missing, though") {
		t.Errorf("found %+v, %v", found, err)
	}
}

// Publishers lay a config.json beside their GGUF files. A set that is half there hides no whole file
// of the same snapshot.
func TestSnapshotsOfGGUFFilesAreListedWhole(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "models--org--tiny-GGUF", "snapshots", commit)
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err = errors.Join(err, os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "tiny-Q8_0.gguf",
		"tiny-Q4_K_M-00002-of-00002.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: cache}})
	found, err := a.library.Found(t.Context())
	if err != nil || len(found.Models) != 2 {
		t.Fatalf("found %+v, %v", found, err)
	}
	half, whole := found.Models[0], found.Models[1]
	if whole.ID != "org/tiny-GGUF:Q8_0" || whole.Why != "" || half.ID != "org/tiny-GGUF:Q4_K_M" ||
		!strings.Contains(half.Why, "is missing") {
		t.Errorf("found %+v", found.Models)
	}
}

// A model in Ollama's store has Ollama's name. When Ollama takes its file away, the model is
// missing and the program goes on.
func TestOllamasStoreIsFound(t *testing.T) {
	store := t.TempDir()
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte, parts ...string) string {
		t.Helper()
		path := filepath.Join(append([]string{store}, parts...)...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	digest := strings.Repeat("0a", 32)
	manifest := []byte(`{"schemaVersion":2,"layers":[
		{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:00"},
		{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:` + digest + `"}]}`)
	for _, tag := range []string{"q8-long", "q8"} { // two tags of one blob
		write(manifest, "manifests", "registry.ollama.ai", "library", "tiny", tag)
	}
	other := strings.Repeat("0b", 32)
	latest := strings.ReplaceAll(string(manifest), digest, other)
	for _, tag := range []string{"8b", "latest", "s"} {
		write([]byte(latest), "manifests", "hf.co", "org", "small", tag)
	}
	third := strings.Repeat("0c", 32)
	write([]byte(strings.ReplaceAll(string(manifest), digest, third)), "manifests",
		"registry.ollama.ai", "library", "odd name@main", "x")
	write(file, "blobs", "sha256-"+third)
	write([]byte(`{"layers":[{"mediaType":"application/vnd.ollama.image.model",
		"digest":"sha256:../../etc"}]}`), "manifests", "registry.ollama.ai", "library", "bad", "x")
	write([]byte("no manifest"), "manifests", "registry.ollama.ai", "library", "bad", "y")
	blob := write(file, "blobs", "sha256-"+digest)
	write(file, "blobs", "sha256-"+other)
	a := open(t, setup{ModelFolders: []ModelFolder{{Path: store, Place: control.PlaceOllama}}})
	f, err := a.library.Found(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, m := range f.Models {
		ids = append(ids, m.ID)
		if m.Why != "" || m.Needs == nil || m.Place != control.PlaceOllama {
			t.Errorf("found %+v", m)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"hf.co/org/small", "odd-name-main-x", "tiny:q8"}) {
		t.Errorf("found %q", ids)
	}
	m, err := a.library.AddModel(t.Context(), control.AddRequest{Path: blob})
	if err != nil || m.ID != "tiny:q8" || m.Source != storage.SourceOllama {
		t.Fatalf("added as %q from %s, %v", m.ID, m.Source, err)
	}
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	gone := "its file in Ollama's store is missing; pull tiny:q8 again in Ollama"
	if f, err = a.library.Found(t.Context()); err != nil || len(f.Models) != 3 ||
		f.Models[0].Why != gone {
		t.Errorf("found %+v, %v", f, err)
	}
	write(file[:len(file)/2], "blobs", "sha256-"+other)
	write([]byte("text"), "blobs", "sha256-"+third)
	if f, err = a.library.Found(t.Context()); err != nil ||
		f.Models[1].Why != "its file in Ollama's store is damaged; pull hf.co/org/small again in Ollama" ||
		!strings.Contains(f.Models[2].Why, "is damaged; pull ") {
		t.Errorf("found %+v, %v", f, err)
	}
	_, err = a.library.AddModel(t.Context(), control.AddRequest{Path: blob})
	if err == nil || !strings.Contains(err.Error(), "The model tiny:q8 is no longer at "+blob+
		"; pull it again in Ollama, or ") {
		t.Errorf("a blob that is gone is added: %v", err)
	}
}

// A search reads Ollama's manifests once, however many models the store has. Broken files are named by
// what was read then.
func TestOllamasManifestsAreReadOnce(t *testing.T) {
	store := t.TempDir()
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const count = 40
	for i := range count {
		digest := fmt.Sprintf("%064x", i)
		dir := filepath.Join(store, "manifests/registry.ollama.ai/library", fmt.Sprint("m", i))
		err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Join(store, "blobs"), 0o755),
			os.WriteFile(filepath.Join(dir, "latest"), []byte(
				`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+
					digest+`"}]}`), 0o644))
		if i%2 == 0 {
			err = errors.Join(err, os.WriteFile(filepath.Join(store, "blobs", "sha256-"+digest), file,
				0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var once sync.Once
	f := newFinder(t.Context(), nil, func(models.Summary) *control.Needs { return nil },
		foundEntries)
	f.store(store, func(m ollama.Model) (models.Summary, error) {
		once.Do(func() {
			if err := os.RemoveAll(filepath.Join(store, "manifests")); err != nil {
				t.Error(err)
			}
		})
		files, err := models.OpenOllama(m)
		if err != nil {
			return models.Summary{}, err
		}
		return files.Summary()
	})
	found := f.result()
	for i, m := range found.Models {
		want := ""
		if i%2 != 0 {
			want = "its file in Ollama's store is missing; pull " + m.ID + " again in Ollama"
		}
		if m.ID != fmt.Sprint("m", i) || m.Why != want {
			t.Errorf("found %s: %s", m.ID, m.Why)
		}
	}
	if len(found.Models) != count {
		t.Errorf("%d models are found", len(found.Models))
	}
}

// A repository of GGUF files gives the usual quantization, under its name, and says which others
// there are. A file that cannot be loaded is refused before its weights.
func TestPullOfGGUFFiles(t *testing.T) {
	r := &repository{dir: t.TempDir()}
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tiny-Q8_0.gguf", "tiny-Q4_K_M.gguf", "mmproj-f16.gguf"} {
		write(name, append(slices.Clone(file), name...)) // a blob of its own
	}
	write("tiny-Q2_K.gguf", []byte(strings.Replace(string(file), "llama", "camel", 1)))
	a := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}})
	var note string
	pull := func(id string) (control.Model, error) {
		note = ""
		return a.library.Pull(t.Context(), control.PullRequest{ID: id},
			func(p control.Progress) { note += p.Note })
	}
	m, err := pull("org/tiny-GGUF")
	if err != nil || m.ID != "org/tiny-GGUF:Q4_K_M" || !m.DownloadedByUs ||
		filepath.Base(m.Path) != "tiny-Q4_K_M.gguf" {
		t.Fatalf("pulled %+v, %v", m, err)
	}
	for _, word := range []string{"Q4_K_M was taken", "Q8_0", "mmproj"} {
		if !strings.Contains(note, word) {
			t.Errorf("the note %q lacks %q", note, word)
		}
	}
	if other, err := pull("org/tiny-GGUF:q8_0"); err != nil || other.ID != "org/tiny-GGUF:Q8_0" ||
		strings.Contains(note, "was taken") {
		t.Errorf("pulled %+v, %q, %v", other, note, err)
	}
	if again, err := pull("org/tiny-GGUF:Q4_K_M"); err != nil || again.ID != m.ID ||
		again.Path != m.Path {
		t.Errorf("pulled again %+v, %v", again, err)
	}
	if _, err := pull("org/tiny-GGUF:Q2_K"); err == nil || !strings.Contains(err.Error(), "camel") {
		t.Errorf("an unknown architecture gives %v", err)
	}
	found, err := a.library.Found(t.Context())
	if err != nil || len(found.Models) != 2 || found.Models[0].ID != m.ID ||
		!found.Models[0].Registered {
		t.Errorf("found %+v, %v", found, err)
	}
	if gone, err := a.library.RemoveModel(t.Context(), m.ID); err != nil || !gone.Deletes ||
		gone.Bytes < int64(len(file)) {
		t.Errorf("removed %+v, %v", gone, err)
	}
	list, err := a.library.Models(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(m control.Model) bool {
		_, err := os.Stat(m.Path)
		return m.ID == "org/tiny-GGUF:Q8_0" && err == nil
	}) {
		t.Errorf("the other file is gone: %+v, %v", list, err)
	}
}

// The files that one snapshot has in safetensors and in GGUF are two models. Removing one, or pulling
// its next revision, leaves the other.
func TestModelsOfOneRepositoryAreRemovedAlone(t *testing.T) {
	r := &repository{dir: enginetest.TinyModel(t, "llama")}
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, "tiny-Q4_K_M.gguf"), file,
		0o644)); err != nil {
		t.Fatal(err)
	}
	o := hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}
	a := open(t, setup{Hub: o})
	pull := func(id string) control.Model {
		t.Helper()
		m, err := a.library.Pull(t.Context(), control.PullRequest{ID: id}, func(control.Progress) {})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	plain, packed := pull("org/tiny"), pull("org/tiny:Q4_K_M")
	if plain.Path == packed.Path || !plain.DownloadedByUs || !packed.DownloadedByUs {
		t.Fatalf("pulled %+v and %+v", plain, packed)
	}
	r.pushes.Add(1)
	next := pull("org/tiny")
	if next.ID != plain.ID || next.Path == plain.Path {
		t.Fatalf("the next revision is %+v", next)
	}
	if _, err := os.Stat(filepath.Join(plain.Path, "config.json")); err == nil {
		t.Error("the earlier revision is kept")
	}
	if _, err := os.Stat(packed.Path); err != nil {
		t.Error("the next revision takes the GGUF file along:", err)
	}
	packed = pull("org/tiny:Q4_K_M")
	if _, err := a.library.RemoveModel(t.Context(), next.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packed.Path); err != nil {
		t.Error("the removal takes the GGUF file along:", err)
	}
}

// A pulled file whose name another model has is renewed under the id that it got.
func TestRevisionsOfAFileWithAnotherIDAreOneModel(t *testing.T) {
	r, studio := &repository{dir: t.TempDir()}, t.TempDir()
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	other := filepath.Join(studio, "org", "tiny-GGUF", "tiny-Q4_K_M.gguf")
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(other), 0o755), os.WriteFile(other, file, 0o644),
		os.WriteFile(filepath.Join(r.dir, "tiny-Q4_K_M.gguf"), file, 0o644),
		os.WriteFile(filepath.Join(r.dir, "tiny-Q8_0.gguf"), file, 0o644)); err != nil {
		t.Fatal(err)
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}})
	if _, err := a.library.AddModel(t.Context(), control.AddRequest{Path: other}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Q8_0": "org/tiny-GGUF:Q8_0", "Q4_K_M": "org/tiny-GGUF:Q4_K_M-2"}
	last := map[string]string{} // paths of the revision before
	for i := range int64(2) {
		r.pushes.Store(i)
		for tag, id := range want {
			m, err := a.library.Pull(t.Context(), control.PullRequest{ID: "org/tiny-GGUF:" + tag},
				func(control.Progress) {})
			if err != nil || m.ID != id || m.Path == last[tag] {
				t.Errorf("revision %d of %s is %+v, %v", i, tag, m, err)
			}
			if _, err := os.Stat(last[tag]); err == nil {
				t.Errorf("the earlier revision is kept at %s", last[tag])
			}
			last[tag] = m.Path
		}
	}
}

// A pull renews the file that it took before, also if the repository has another model of the same
// quantization by now. What no revision is of is not deleted.
func TestPullKeepsToItsFile(t *testing.T) {
	r := &repository{dir: t.TempDir()}
	file, err := os.ReadFile("../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.dir, name), append(slices.Clone(file), name...),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}})
	var note string
	pull := func(want string) control.Model {
		t.Helper()
		note = ""
		m, err := a.library.Pull(t.Context(), control.PullRequest{ID: "org/tiny:Q4_K_M"},
			func(p control.Progress) { note += p.Note })
		if err != nil || m.ID != "org/tiny:Q4_K_M" || filepath.Base(m.Path) != want ||
			!m.DownloadedByUs {
			t.Errorf("pulled %+v, %v, want %s", m, err, want)
		}
		return m
	}
	write("zeta-1B-Q4_K_M.gguf")
	first := pull("zeta-1B-Q4_K_M.gguf")
	write("alpha-7B-Q4_K_M.gguf")
	r.pushes.Add(1)
	second := pull("zeta-1B-Q4_K_M.gguf")
	if _, err := os.Stat(first.Path); err == nil || second.Path == first.Path || note != "" {
		t.Errorf("the earlier revision is kept at %s, %q", first.Path, note)
	}
	if err := os.Remove(filepath.Join(r.dir, "zeta-1B-Q4_K_M.gguf")); err != nil {
		t.Fatal(err)
	}
	r.pushes.Add(1)
	pull("alpha-7B-Q4_K_M.gguf")
	if _, err := os.Stat(second.Path); err != nil || !strings.Contains(note, second.Path) {
		t.Errorf("the other model is gone, %v; the note is %q", err, note)
	}
}

// Writers of GGUF files lay a small tensor that tells the rotary embedding after large ones. The
// check of a pull fetches neither. A file that cannot be loaded costs no weights.
func TestGGUFIsCheckedByItsHeaderAlone(t *testing.T) {
	whole, err := os.ReadFile("../../models/testdata/gguf/llama-3.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const far = 104 << 20 // bytes; a preview shows no more than 100 MiB
	const name = "rope_freqs.weight"
	at := strings.Index(string(whole), name) + len(name) + 4 + 8 + 4 // after the extent and the kind
	moved := binary.LittleEndian.Uint64(whole[at:]) + far
	binary.LittleEndian.PutUint64(whole[at:], moved)
	r := &repository{dir: t.TempDir()}
	for file, text := range map[string]string{"tiny-Q8_0.gguf": string(whole),
		"tiny-Q2_K.gguf": strings.Replace(string(whole), "llama", "camel", 1)} {
		f, err := os.Create(filepath.Join(r.dir, file))
		if err == nil {
			_, head := f.WriteString(text)
			_, data := f.WriteAt(whole, far) // with the tensor that was moved
			err = errors.Join(head, data, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, setup{Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: r.serve(t)}})
	for tag, bytes := range map[string]int64{"Q2_K": 0, "Q8_0": int64(len(whole) + far)} {
		before := r.weights.Load()
		m, err := a.library.Pull(t.Context(), control.PullRequest{ID: "org/tiny-GGUF:" + tag},
			func(control.Progress) {})
		if (err == nil) != (bytes > 0) || err != nil && !strings.Contains(err.Error(), "camel") {
			t.Errorf("%s: pulled %+v, %v", tag, m, err)
		}
		if sent := r.weights.Load() - before - bytes; sent < 0 || sent > 1<<20 {
			t.Errorf("%s: the check took %d bytes", tag, sent)
		}
	}
}
