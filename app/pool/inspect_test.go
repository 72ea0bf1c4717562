package pool

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/storage"
)

// A countingFS counts the files that are opened, and of weights the reads of the header.
type countingFS struct {
	fs.FS
	mu    sync.Mutex
	reads map[string]int // by file name
}

func (c *countingFS) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads[name]++
}

// Open implements fs.FS.
func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || name == "." {
		return f, err
	}
	if strings.HasSuffix(name, ".safetensors") {
		return countedWeights{f, func() { c.count(name) }}, nil
	}
	c.count(name)
	return f, nil
}

// countedWeights counts the reads at the beginning.
type countedWeights struct {
	fs.File
	count func()
}

// ReadAt implements io.ReaderAt.
func (f countedWeights) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		f.count()
	}
	return f.File.(io.ReaderAt).ReadAt(p, off)
}

// counted returns the path of a folder whose files are empty, and lets the pool know those of another
// folder by that path. So whatever is read past the pool's cache is found out.
func (r *running) counted(t *testing.T, files string) (path string, reads *countingFS) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "counted-"+filepath.Base(files))
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.WriteFile(filepath.Join(path, e.Name()), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reads = &countingFS{FS: os.DirFS(files), reads: map[string]int{}}
	if _, err := r.pool.opened.OpenBy(path, func() (*models.Files, error) {
		return models.OpenFS(reads, path), nil
	}); err != nil {
		t.Fatal(err)
	}
	return path, reads
}

// From its registration to its first answer with a drafter, each file of a model and of the drafter is
// read once: config.json, the headers of the weights, the tokenizer.
func TestFilesAreReadOnceFromRegistrationToAnswer(t *testing.T) {
	headed := enginetest.TinyModel(t, "qwen3_5")
	enginetest.AddTinyHead(t, headed)
	for _, c := range []struct{ name, model, drafter string }{
		{"a block network", enginetest.TinyModel(t, "qwen3"), enginetest.TinyDFlash2(t, 259, []int{0, 2}, nil)},
		{"a smaller model", enginetest.TinyModel(t, "qwen3"), enginetest.TinyModel(t, "llama")},
		{"its own head", headed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, setup{NoCheckpoints: true})
			path, reads := r.counted(t, c.model)
			all := []*countingFS{reads}
			info, err := r.pool.Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.library.register(t.Context(), storage.Model{ID: "counted", Path: path,
				Source: storage.SourceFolder}, info); err != nil {
				t.Fatal(err)
			}
			drafter := path
			if c.drafter != "" {
				var of *countingFS
				drafter, of = r.counted(t, c.drafter)
				all = append(all, of)
			}
			if _, err := r.pool.Abilities(t.Context(), "counted"); err != nil {
				t.Fatal(err)
			}
			d, err := r.pool.Drafter(t.Context(),
				control.DrafterRequest{Model: "counted", Drafter: drafter})
			if err != nil || d.Source != drafter {
				t.Fatalf("%+v, %v", d, err)
			}
			if _, err := r.pool.ModelSettings(t.Context(), "counted"); err != nil {
				t.Fatal(err)
			}
			got := r.say(t, "counted", fmt.Sprintf(fixedDepth, "auto"))
			if got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
				t.Errorf("%+v", got.Timings)
			}
			for _, of := range all {
				for _, name := range slices.Sorted(maps.Keys(of.reads)) {
					if n := of.reads[name]; n != 1 {
						t.Errorf("%s is read %d times", name, n)
					}
				}
				for _, name := range []string{"config.json", "model.safetensors"} {
					if of.reads[name] == 0 {
						t.Errorf("%s is not counted", name)
					}
				}
			}
		})
	}
}
