package hub

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stopping sends the first 5,000 bytes of a shard, and then nothing.
func stopping(files map[string][]byte) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
			return false
		}
		w.Header().Set("Content-Length", "700000")
		w.Write(files[shard][:5000])
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
}

// TestDiscardKeepsWhatOthersBegan discards an interrupted pull. The files that this pull began are
// deleted. The files of another program and of a snapshot stay.
func TestDiscardKeepsWhatOthersBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		h.hook = stopping(files)
		cache := t.TempDir()
		r := repo{cache, "org/name"}
		other := "model-00002-of-00002.safetensors"
		// by another program
		lay(t, r.dir(), map[string]string{"blobs/" + etagOf(other, files[other]) +
			".incomplete": string(files[other][:10])})
		var began []string
		o := h.options(cache)
		o.Began = func(blob string) { began = append(began, blob) }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := Pull(ctx, "org/name", o, nil); err == nil {
			t.Fatal("the pull came to its end")
		}
		if slices.Contains(began, etagOf(other, files[other])) ||
			!slices.Contains(began, etagOf(shard, files[shard])) {
			t.Errorf("it began %v", began)
		}
		_, err := Discard(cache, "../x", began)
		wantCode(t, err, Invalid)
		unlock, err := r.tryLock(etagOf(shard, files[shard]))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Discard(cache, "org/name", []string{etagOf(shard, files[shard])})
		wantCode(t, err, Busy)
		unlock()

		// Blobs of a snapshot are not discarded, and neither are names that are not blobs.
		inCache(t, cache, "org/name", commitB,
			map[string]string{"config.json": string(files["config.json"])})
		lay(t, cache, map[string]string{"precious": "x"})
		began = append(began, "../../precious", "", "refs")
		var want int64
		for _, blob := range began[:len(began)-3] {
			if blob != etagOf("config.json", files["config.json"]) {
				want += payload(r.blob(blob)) + payload(r.partial(blob))
			}
		}
		freed, err := Discard(cache, "org/name", began)
		if err != nil || freed != want || want < 5000 {
			t.Errorf("freed %d, %v, want %d", freed, err, want)
		}
		left := tree(t, r.dir())
		for _, name := range left {
			if strings.HasPrefix(name, "blobs/") &&
				!strings.Contains(name, etagOf("config.json", files["config.json"])) &&
				!strings.Contains(name, etagOf(other, files[other])) {
				t.Errorf("%s is left", name)
			}
		}
		if b, err := os.ReadFile(r.blob(etagOf(other, files[other]))); err != nil ||
			len(b) != len(files[other]) {
			t.Errorf("the file that the other program began has %d bytes, %v", len(b), err)
		}
		if _, err := os.Stat(filepath.Join(cache, "precious")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(r.snapshot(commitB)); err != nil {
			t.Error(err)
		}
	})
}

func TestDiscardRemovesAnEmptyFolder(t *testing.T) {
	cache := t.TempDir()
	r := repo{cache, "org/name"}
	etag := strings.Repeat("a", 64)
	lay(t, r.dir(), map[string]string{"blobs/" + etag + ".incomplete": "abc"})
	if n, err := Discard(cache, "org/name", []string{etag}); err != nil || n != 3 {
		t.Errorf("freed %d, %v", n, err)
	}
	if _, err := os.Stat(r.dir()); err == nil {
		t.Error("the folder is still there")
	}
}

func TestFreedEqualsWhatRemoveFrees(t *testing.T) {
	cache := t.TempDir()
	r := repo{cache, "org/name"}
	files := map[string]string{"config.json": "{}", "model.safetensors": strings.Repeat("w", 1000)}
	inCache(t, cache, "org/name", commitA, files)
	inCache(t, cache, "org/name", commitB, map[string]string{"config.json": "{ }",
		"model.safetensors": files["model.safetensors"]})
	lay(t, r.dir(), map[string]string{"blobs/" + strings.Repeat("b", 64) + ".incomplete": "half",
		"snapshots/" + commitA + "/plain.json": "plain"})
	for _, commit := range []string{commitA, commitB} {
		said, err := Freed(r.snapshot(commit))
		if err != nil {
			t.Fatal(err)
		}
		if freed, err := Remove(r.snapshot(commit)); err != nil || freed != said || freed == 0 {
			t.Errorf("said %d, freed %d, %v", said, freed, err)
		}
	}
	_, err := Freed(r.snapshot(commitA))
	wantCode(t, err, NotFound)
	_, err = Freed(cache)
	wantCode(t, err, Invalid)
}

// TestStalledPullSaysSo expects the report after some seconds without a byte, before the request is
// given up.
func TestStalledPullSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		h.hook = stopping(files)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		begin := time.Now()
		var stalled time.Duration
		_, _ = Pull(ctx, "org/name", h.options(t.TempDir()), func(p Progress) {
			if stalled == 0 && strings.HasPrefix(p.Waiting, "stalled: nothing has arrived for 1") {
				stalled = time.Since(begin)
			}
		})
		if stalled < stalledAfter || stalled > stalledAfter+3*time.Second {
			t.Errorf("the pull says so after %v", stalled)
		}
	})
}
