package hub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRemoveFreesASnapshot(t *testing.T) {
	cache := t.TempDir()
	r := repo{cache, "org/name"}
	one := map[string]string{"config.json": "{}", "model.safetensors": strings.Repeat("w", 1000),
		"sub/x.jinja": "x"}
	two := map[string]string{"config.json": `{"a": 1}`,
		"model.safetensors": one["model.safetensors"]}
	inCache(t, cache, "org/name", commitA, one)
	lay(t, r.dir(), map[string]string{"refs/v1": commitA, "refs/main": commitB, "trees/" + commitA +
		".json": "{}", ".no_exist/" + commitA + "/x": ""})
	for name, content := range two { // the weights are the same blob
		etag := etagOf(name, []byte(content))
		lay(t, r.dir(), map[string]string{"snapshots/" + commitB + "/" + name: "-> ../../blobs/" +
			etag})
		if name == "config.json" {
			lay(t, r.dir(), map[string]string{"blobs/" + etag: content})
		}
	}
	inCache(t, cache, "org/other", commitA, one)

	const own = int64(len("{}") + len("x"))
	if n, err := Remove(r.snapshot(commitA)); err != nil || n != own {
		t.Errorf("freed %d, %v, want %d: the weights belong to another snapshot too", n, err, own)
	}
	left := tree(t, r.dir())
	want := []string{
		"blobs/" + etagOf("config.json", []byte(two["config.json"])), "blobs/" +
			etagOf("model.safetensors", []byte(two["model.safetensors"])), "refs/main",
		"snapshots/" + commitB + "/config.json -> ../../blobs/" +
			etagOf("config.json", []byte(two["config.json"])),
		"snapshots/" + commitB + "/model.safetensors -> ../../blobs/" +
			etagOf("model.safetensors", []byte(two["model.safetensors"])),
	}
	slices.Sort(left)
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left\n%s\nwant\n%s", strings.Join(left, "\n"), strings.Join(want, "\n"))
	}
	if n, err := Remove(r.snapshot(commitB)); err != nil ||
		n != int64(len(two["config.json"])+1000) {
		t.Errorf("freed %d, %v", n, err)
	}
	if _, err := os.Stat(r.dir()); err == nil {
		t.Error("the folder is still there after its last snapshot")
	}
	if dir, err := Resolve(cache, "org/other"); err != nil {
		t.Errorf("another model was touched: %s, %v", dir, err)
	}
	_, err := Remove(r.snapshot(commitA))
	wantCode(t, err, NotFound)
	other := repo{cache, "org/other"}
	for _, bad := range []string{"", cache, other.dir(), other.snapshot("main"),
		other.snapshot("../" + commitA), filepath.Join(other.dir(), "blobs", commitA)} {
		_, err := Remove(bad)
		wantCode(t, err, Invalid)
	}
}

// TestRemoveKeepsForeignFiles expects that files outside the model's folder stay, whatever links
// lead to them.
func TestRemoveKeepsForeignFiles(t *testing.T) {
	cache, elsewhere := t.TempDir(), t.TempDir()
	lay(t, elsewhere, map[string]string{"mine.safetensors": "precious", "blobs/x": "precious"})
	lay(t, cache, map[string]string{
		"blobs/ab/abcd":                                                 "shared payload",
		"models--org--name/blobs/eeee":                                  "-> ../../blobs/ab/abcd",
		"models--org--name/blobs/ffff":                                  "12345",
		"models--org--name/snapshots/" + commitA + "/config.json":       "plain",
		"models--org--name/snapshots/" + commitA + "/model.safetensors": "-> ../../blobs/eeee",
		"models--org--name/snapshots/" + commitA + "/tokenizer.json":    "-> ../../blobs/ffff",
		"models--org--name/snapshots/" + commitA + "/mine.safetensors": "-> " + elsewhere +
			"/mine.safetensors",
		"models--org--name/snapshots/" + commitA + "/x.json": "-> " + elsewhere +
			"/blobs/x",
		"models--org--name/snapshots/" + commitA +
			"/up.json": "-> ../../../blobs/ab/abcd",
	})
	// A blob that no snapshot links to, with the name of a link's foreign target, stays while
	// another snapshot is there.
	lay(t, cache, map[string]string{"models--org--name/blobs/mine.safetensors": "other",
		"models--org--name/snapshots/" + commitB + "/x": "x"})
	const want = int64(len("plain") + len("12345"))
	if n, err := Remove(repo{cache, "org/name"}.snapshot(commitA)); err != nil || n != want {
		t.Errorf("freed %d, %v, want %d", n, err, want)
	}
	for _, name := range []string{filepath.Join(elsewhere, "mine.safetensors"),
		filepath.Join(elsewhere, "blobs/x"), filepath.Join(cache, "blobs/ab/abcd"),
		filepath.Join(cache, "models--org--name/blobs/mine.safetensors")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestRemoveRefusesADownloadingModel(t *testing.T) {
	cache := t.TempDir()
	inCache(t, cache, "org/name", commitA, map[string]string{"config.json": "{}",
		"model.safetensors": "w"})
	r := repo{cache, "org/name"}
	lay(t, r.dir(), map[string]string{"blobs/abc.1234.incomplete": "part"})
	unlock, err := r.tryLock("abc")
	if err != nil || unlock == nil {
		t.Fatal(unlock != nil, err)
	}
	_, err = Remove(r.snapshot(commitA))
	wantCode(t, err, Busy)
	if _, err := Resolve(cache, "org/name"); err != nil {
		t.Error(err)
	}
	unlock()
	if n, err := Remove(r.snapshot(commitA)); err != nil || n != int64(len("{}w")+len("part")) {
		t.Errorf("freed %d, %v", n, err)
	}
}

// TestRemoveOfTheLastSnapshotTakesParts expects that the parts that no program is writing go too.
func TestRemoveOfTheLastSnapshotTakesParts(t *testing.T) {
	cache := t.TempDir()
	r := repo{cache, "org/name"}
	inCache(t, cache, "org/name", commitA, map[string]string{"config.json": "{}",
		"model.safetensors": "w"})
	inCache(t, cache, "org/name", commitB, map[string]string{"config.json": "{ }"})
	lay(t, r.dir(), map[string]string{"blobs/abc.incomplete": "part",
		"blobs/whole": "no snapshot has it yet"})
	if n, err := Remove(r.snapshot(commitA)); err != nil || n != int64(len("{}w")) {
		t.Errorf("freed %d, %v", n, err)
	}
	for _, name := range []string{"abc.incomplete", "whole"} {
		if _, err := os.Stat(r.blob(name)); err != nil {
			t.Error(err)
		}
	}
	if n, err := Remove(r.snapshot(commitB)); err != nil ||
		n != int64(len("{ }")+len("part")+len("no snapshot has it yet")) {
		t.Errorf("freed %d, %v", n, err)
	}
	if _, err := os.Stat(r.dir()); err == nil {
		t.Error("an empty folder was left")
	}
}
