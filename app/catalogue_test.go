package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/library"
)

// A name without a slash is an id, though a folder of that name is in the working directory.
// org/name is a folder if that folder exists. These names are paths whether anything is there or
// not:
//   - A name that ends in .gguf is a file.
//   - A name that begins with /, ./ or ../ is a folder. So are . and .. themselves.
func TestFolderInTheWorkingDirectoryDoesNotShadowAnID(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"pocket", control.Alias, "org/name"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"org/x.gguf", "org/x.txt", "z.gguf"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"pocket": false, control.Alias: false, "": false, "org/other": false,
		"org/x.gguf": true, "org/x.txt": false, "org/y.gguf": true, "y.GGUF": true, "z.gguf": true,
		"org/name": true, "./pocket": true, "../x": true, ".": true, "..": true, "/nowhere": true,
	} {
		if got := library.IsFolder(name); got != want {
			t.Errorf("IsFolder(%q) = %t, want %t", name, got, want)
		}
	}
	for _, model := range []string{"pocket", control.Alias} {
		a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: model})
		if err != nil {
			t.Errorf("--model %s: %v", model, err)
			continue
		}
		if got := a.State().Choice; got != "pocket" {
			t.Errorf("--model %s chose %q, want pocket", model, got)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A registered id of the form org/name names its model, though a folder of that name is in the
// working directory.
func TestRegisteredIDWithASlashWinsOverAFolder(t *testing.T) {
	dir, home := writeModel(t, "tiny"), t.TempDir()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("org/name", 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.library.AddModel(t.Context(), control.AddRequest{Path: dir, ID: "org/name"})
	if err := errors.Join(err, a.choose(t.Context(), "org/name"), a.Close()); err != nil {
		t.Error(err)
	}
}

// A server can be started with any name that Ollama has for a registered model.
func TestANameOfOllamasIsChosen(t *testing.T) {
	store, home := t.TempDir(), t.TempDir()
	file, err := os.ReadFile("../models/testdata/gguf/llama.gguf")
	digest := strings.Repeat("0a", 32)
	blob := filepath.Join(store, "blobs", "sha256-"+digest)
	tiny := filepath.Join(store, "manifests/registry.ollama.ai/library/tiny")
	if err = errors.Join(err, os.MkdirAll(tiny, 0o700), os.Mkdir(filepath.Dir(blob), 0o700),
		os.WriteFile(blob, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"latest", "8b"} {
		if err := os.WriteFile(filepath.Join(tiny, tag), []byte(
			`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+digest+
				`"}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(t.Context(), Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, err = a.library.AddModel(t.Context(), control.AddRequest{Path: blob})
	if err := errors.Join(err, a.choose(t.Context(), "tiny:8b")); err != nil ||
		a.State().Choice != "tiny" {
		t.Errorf("the choice is %q, %v", a.State().Choice, err)
	}
	if err := a.choose(t.Context(), "tiny:9b"); err == nil ||
		!strings.Contains(err.Error(), "is not installed") {
		t.Errorf("a name that Ollama does not have is chosen: %v", err)
	}
}

// An id that the caller does not give is made from the name of the folder. AddModel refuses an
// id that is malformed, reserved, or new for a known folder.
func TestIDComesFromTheFolderNameAndIsChecked(t *testing.T) {
	r := start(t, Options{}, "")
	// The id is the folder's name without the characters that an id cannot have.
	for name, want := range map[string]string{
		control.Alias: "tandem-2", "my model (v1)": "my-model-v1", "日本": "model",
		"a--b..c.": "a-b.c",
	} {
		if m, err := r.library.AddModel(t.Context(),
			control.AddRequest{Path: writeModel(t, name)}); err != nil || m.ID != want {
			t.Errorf("folder %s has id %q, want %q, %v", name, m.ID, want, err)
		}
	}
	dir := writeModel(t, "known")
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a b", "a/b/c/d", "/a", "../x", "a@b", "x\n", control.Alias,
		"other"} {
		_, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir, ID: id})
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInvalid ||
			e.Param != "id" {
			t.Errorf("id %q for a known folder: %v, want it refused", id, err)
		}
	}
	if m, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: dir, ID: "known"}); err != nil || m.ID != "known" {
		t.Errorf("the folder again with its own id: %+v %v", m, err)
	}
}

// A model that failed to load makes the state failed. Once that model is removed, /health
// answers 200 and the state has no error.
func TestRemovingAModelClearsItsFailure(t *testing.T) {
	dir := writeModel(t, "bad")
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "bad"); err == nil {
		t.Fatal("a model without weights was loaded")
	}
	if s := r.State(); s.Phase != control.PhaseFailed {
		t.Fatalf("state %+v, want phase failed", s)
	}
	if _, err := r.library.RemoveModel(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(r.url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if s := r.State(); resp.StatusCode != http.StatusOK || s.Error != "" {
		t.Errorf("/health: %s, state %+v", resp.Status, s)
	}
}
