package hub

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// outside makes a folder with a file that must stay untouched. It returns the folder and a check.
func outside(t *testing.T) (dir string, untouched func()) {
	t.Helper()
	dir = t.TempDir()
	const text = "somebody's"
	lay(t, dir, map[string]string{"theirs.json": text, "config.json": text})
	return dir, func() {
		t.Helper()
		for _, name := range []string{"theirs.json", "config.json"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
				t.Errorf("%s outside: %q %v", name, b, err)
			}
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
			t.Errorf("outside are %v %v", all, err)
		}
	}
}

// TestPullMakesNothingThroughALink puts a link in the place of a snapshot's folder. The pull makes
// no file at its target.
func TestPullMakesNothingThroughALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		files["sub/theirs.json"], files["sub/new.json"] = []byte("{}"), []byte("{}")
		h := newFakeHub(t, files)
		cache := t.TempDir()
		there, untouched := outside(t)
		snapshot := repo{cache: cache, id: "org/name"}.snapshot(h.commit)
		if err := os.MkdirAll(snapshot, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(there, filepath.Join(snapshot, "sub")); err != nil {
			t.Fatal(err)
		}
		_, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		wantCode(t, err, Disk)
		untouched()
	})
}

// TestRemoveDeletesItsOwnBlobsOnly makes a snapshot that links to other places.
func TestRemoveDeletesItsOwnBlobsOnly(t *testing.T) {
	for name, link := range map[string]func(r repo, there string) (target, name string){
		"a file": func(r repo, there string) (string, string) {
			return filepath.Join(there, "theirs.json"), filepath.Join(r.snapshot(commitA), "a.json")
		},
		"a folder": func(r repo, there string) (string, string) {
			return there,
				filepath.Join(r.snapshot(commitA), "a")
		},
		"a folder of blobs": func(r repo, there string) (string, string) {
			return there,
				filepath.Join(r.dir(), "blobs", "a")
		},
		"upwards": func(r repo, there string) (string, string) {
			back, err := filepath.Rel(r.snapshot(commitA), filepath.Join(there, "theirs.json"))
			if err != nil {
				panic(err)
			}
			return back, filepath.Join(r.snapshot(commitA), "a.json")
		},
		"beside the blobs": func(r repo, there string) (string, string) {
			return "../../blobs/../../models--org--other/blobs/theirs",
				filepath.Join(r.snapshot(commitA), "a.json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			there, untouched := outside(t)
			inCache(t, cache, "org/name", commitA,
				map[string]string{"config.json": "{}", "model.safetensors": "w"})
			r := repo{cache: cache, id: "org/name"}
			lay(t, repo{cache: cache, id: "org/other"}.dir(),
				map[string]string{"blobs/theirs": "x"})
			target, at := link(r, there)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
			if _, err := Remove(r.snapshot(commitA)); err != nil {
				t.Error(err)
			}
			untouched()
			if _, err := os.Stat(filepath.Join(repo{cache: cache, id: "org/other"}.dir(), "blobs",
				"theirs")); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(r.snapshot(commitA)); !os.IsNotExist(err) {
				t.Errorf("the snapshot stays: %v", err)
			}
		})
	}
	// A snapshot that is a link itself.
	cache := t.TempDir()
	there, untouched := outside(t)
	r := repo{cache: cache, id: "org/name"}
	if err := os.MkdirAll(filepath.Dir(r.snapshot(commitA)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(there, r.snapshot(commitA)); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(r.snapshot(commitA)); err != nil {
		t.Error(err)
	}
	untouched()
}

// TestRemoveRefusesOtherFolders expects a refusal however the folder is spelled.
func TestRemoveRefusesOtherFolders(t *testing.T) {
	cache := t.TempDir()
	inCache(t, cache, "org/name", commitA, map[string]string{"config.json": "{}"})
	dir := repo{cache: cache, id: "org/name"}.snapshot(commitA)
	for _, path := range []string{"", ".", "/", cache, filepath.Dir(dir),
		filepath.Dir(filepath.Dir(dir)), dir + "/sub", dir + "/../..",
		strings.Replace(dir, "org--name", "..", 1), strings.Replace(dir, commitA, "main", 1)} {
		if _, err := Remove(path); err == nil {
			t.Errorf("%q was removed", path)
		}
		if freed, _ := Freed(path); freed != 0 {
			t.Errorf("%q would free %d bytes", path, freed)
		}
	}
	if _, err := fs.Stat(os.DirFS(dir), "config.json"); err != nil {
		t.Error(err)
	}
}
