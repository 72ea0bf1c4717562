package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tandem/engine/enginetest"
	"tandem/storage/disk"
)

// A disk that stops answering while a pull writes cannot be left by the write, but by its caller.
func TestCancelledPullDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		o := h.options(t.TempDir())
		back := make(chan struct{})
		o.write = func(f *os.File, p []byte) (int, error) {
			<-back
			return f.Write(p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := false
		time.AfterFunc(time.Minute, cancel)
		start := time.Now()
		_, err := Pull(ctx, "org/name", o, func(Progress) {
			if left {
				t.Error("progress is reported after the pull")
			}
		})
		left = true
		if d := time.Since(start); !errors.Is(err, context.Canceled) || d > time.Minute+abandonAfter {
			t.Errorf("the pull ended after %v with %v", d, err)
		}
		close(back)
		synctest.Wait()
	})
}

// The disk of the cache may stop answering after the pull has begun.
func TestPullEndsWhereItsDiskFallsSilent(t *testing.T) {
	dir := enginetest.SilentFolder(t)
	h := newFakeHub(t, model())
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Symlink(t.TempDir(), cache); err != nil {
		t.Fatal(err)
	}
	o := h.options(cache)
	back := make(chan struct{})
	lose := sync.OnceFunc(func() {
		if err := errors.Join(os.Remove(cache), os.Symlink(dir, cache)); err != nil {
			t.Error(err)
		}
	})
	o.write = func(f *os.File, p []byte) (int, error) {
		lose()
		<-back
		return 0, errors.New("the disk is gone")
	}
	start := time.Now()
	_, err := Pull(t.Context(), "org/name", o, nil)
	wantCode(t, err, Disk, "does not answer")
	if d := time.Since(start); d > diskCheckEvery+disk.Patience+2*time.Second {
		t.Errorf("the pull ended after %v", d)
	}
	close(back)
}

func TestSilentCacheIsRefusedInTime(t *testing.T) {
	dir := enginetest.SilentFolder(t)
	h := newFakeHub(t, model())
	start := time.Now()
	for how, err := range map[string]error{
		"Pull":    second(Pull(t.Context(), "org/name", h.options(dir), nil)),
		"Resolve": second(Resolve(dir, "org/name")),
		"List":    second(List(dir)),
		"Freed":   second(Freed(repo{dir, "org/name"}.snapshot(commitA))),
		"Remove":  second(Remove(repo{dir, "org/name"}.snapshot(commitA))),
		"Discard": second(Discard(dir, "org/name", []string{strings.Repeat("a", 64)})),
	} {
		if _, ok := errors.AsType[*disk.SilentError](err); !ok {
			t.Errorf("%s gives %v", how, err)
		}
	}
	if d := time.Since(start); d > 3*disk.Patience {
		t.Errorf("all of it took %v", d)
	}
}

func second[T any](_ T, err error) error { return err }

// What has the name of a file of the cache is replaced where a download would replace the file.
// Elsewhere the error names it.
func TestPullPastNamedPipesInTheCache(t *testing.T) {
	files := model()
	etag := etagOf("config.json", files["config.json"])
	r := repo{id: "org/name"}
	for name, want := range map[string]string{
		r.ref("main"): "",
		r.blob(etag):  "",
		filepath.Join(r.snapshot(commitA), "config.json"):    "",
		filepath.Join(r.snapshot(commitA), indexName):        "",
		filepath.Join(r.snapshot(commitA), "tokenizer.json"): "",
		r.partial(etag):  "a named pipe",
		r.lockFile(etag): "a named pipe",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			h := newFakeHub(t, files)
			o := h.options(t.TempDir())
			path := filepath.Join(o.CacheDir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				syscall.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := Resolve(o.CacheDir, "org/name"); err == nil {
				t.Error("a named pipe is a model")
			}
			got, err := Pull(t.Context(), "org/name", o, nil)
			if want != "" {
				wantCode(t, err, Disk, want, path, "delete it")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			same(t, got.Dir, files, fetched)
		})
	}
	t.Run("a folder", func(t *testing.T) {
		h := newFakeHub(t, files)
		o := h.options(t.TempDir())
		path := filepath.Join(o.CacheDir, r.snapshot(commitA), "config.json")
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := Pull(t.Context(), "org/name", o, nil)
		wantCode(t, err, Disk, "config.json is a folder", "delete it")
	})
}
