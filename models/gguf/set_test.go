package gguf

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// splitSet returns the smallest model in two files.
func splitSet() fstest.MapFS {
	whole := smallest()
	first, second := smallest(), &image{}
	at := len(whole.tensors) / 2
	first.tensors, second.tensors = first.tensors[:at], nil
	taken := map[string]bool{}
	for _, t := range first.tensors {
		taken[t.name] = true
	}
	for _, t := range whole.tensors {
		if !taken[t.name] {
			second.tensors = append(second.tensors, t)
		}
	}
	for i, m := range []*image{first, second} {
		m.set("split.no", i)
		m.set("split.count", 2)
		m.set("split.tensors.count", len(whole.tensors))
	}
	return fstest.MapFS{"m-00001-of-00002.gguf": {Data: first.file()},
		"m-00002-of-00002.gguf": {Data: second.file()}}
}

func TestSetIsOneModel(t *testing.T) {
	want, err := open(t, smallest().file())
	if err != nil {
		t.Fatal(err)
	}
	files := splitSet()
	for name := range files {
		d, err := Open(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := tensorNames(d), tensorNames(want); !slices.Equal(a, b) {
			t.Errorf("%s: its tensors are %v, not %v", name, a, b)
		}
		if a, b := mustRead(t, d, configFile), mustRead(t, want, configFile); !bytes.Equal(a, b) {
			t.Errorf("%s: its config is %s, not %s", name, a, b)
		}
		mustRead(t, d, weightsFile)
	}
}

func tensorNames(d *Folder) []string {
	var names []string
	for _, e := range d.entries {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

func TestBrokenSetIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files fstest.MapFS)
		want   string
	}{
		"missing": {func(f fstest.MapFS) { delete(f, "m-00002-of-00002.gguf") }, "not exist"},
		"swapped": {func(f fstest.MapFS) {
			a, b := "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
			f[a], f[b] = f[b], f[a]
		}, "is file 2 of 2"},
		"twice": {func(f fstest.MapFS) { f["m-00002-of-00002.gguf"] = f["m-00001-of-00002.gguf"] },
			"m-00002-of-00002.gguf: is file 1 of 2"},
		"cut": {func(f fstest.MapFS) {
			file := f["m-00002-of-00002.gguf"]
			f["m-00002-of-00002.gguf"] = &fstest.MapFile{Data: file.Data[:len(file.Data)-64]}
		}, "m-00002-of-00002.gguf: the file is cut short"},
	} {
		t.Run(name, func(t *testing.T) {
			files := splitSet()
			c.change(files)
			if _, err := Open(files, "m-00001-of-00002.gguf"); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, which does not say %q", err, c.want)
			}
		})
	}
	files := splitSet()
	files["renamed.gguf"] = files["m-00001-of-00002.gguf"]
	if _, err := Open(files, "renamed.gguf"); err == nil ||
		!strings.Contains(err.Error(), "one of 2 files") {
		t.Errorf("a renamed file of a set is taken for a model: %v", err)
	}
}

func TestProjectorIsNoModel(t *testing.T) {
	m := &image{}
	m.set("general.architecture", "clip")
	m.add("v.patch_embd.weight", f32, nil, 4)
	_, err := Open(fstest.MapFS{"mmproj.gguf": {Data: m.file()}}, "mmproj.gguf")
	if err == nil || !strings.Contains(err.Error(), "lets a model see") {
		t.Errorf("the error is %v", err)
	}
}

var _ fs.FS = (*Folder)(nil)
