package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tandem/app/control"
	"tandem/app/library"
)

// TestFolderOrID: what lies in the working folder takes no id's place.
func TestFolderOrID(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"pocket", control.Alias, "org/name"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"pocket": false, control.Alias: false, "": false, "org/other": false,
		"org/name": true, "./pocket": true, "../x": true, ".": true, "..": true, "/nowhere": true,
	} {
		if got := library.IsFolder(name); got != want {
			t.Errorf("IsFolder(%q) = %t", name, got)
		}
	}
	for _, model := range []string{"pocket", control.Alias} {
		a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: model})
		if err != nil {
			t.Errorf("--model %s: %v", model, err)
			continue
		}
		if got := a.State().Choice; got != "pocket" {
			t.Errorf("--model %s chose %q", model, got)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRegisteredIDBeforeFolder: an id with a slash is an id once it is one.
func TestRegisteredIDBeforeFolder(t *testing.T) {
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

func TestIDs(t *testing.T) {
	r := start(t, Options{}, "")
	// The folder's name, as far as it can be an id.
	for name, want := range map[string]string{
		control.Alias: "tandem-2", "my model (v1)": "my-model-v1", "日本": "model",
		"a--b..c.": "a-b.c",
	} {
		if m, err := r.library.AddModel(t.Context(),
			control.AddRequest{Path: writeModel(t, name)}); err != nil || m.ID != want {
			t.Errorf("%s: id %q, want %q, %v", name, m.ID, want, err)
		}
	}
	dir := writeModel(t, "known")
	if _, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a b", "a/b/c", "/a", "../x", "a@b", "x\n", control.Alias,
		"other"} {
		_, err := r.library.AddModel(t.Context(), control.AddRequest{Path: dir, ID: id})
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInvalid ||
			e.Param != "id" {
			t.Errorf("id %q for a known folder: %v", id, err)
		}
	}
	if m, err := r.library.AddModel(t.Context(),
		control.AddRequest{Path: dir, ID: "known"}); err != nil || m.ID != "known" {
		t.Errorf("the same id again: %+v %v", m, err)
	}
}

// TestRemovedFailure: what could not be loaded and is gone is no failure.
func TestRemovedFailure(t *testing.T) {
	dir := writeModel(t, "bad")
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if err := r.pool.Load(t.Context(), "bad"); err == nil {
		t.Fatal("a model without weights was loaded")
	}
	if s := r.State(); s.Phase != control.PhaseFailed {
		t.Fatalf("state %+v", s)
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
