package hub

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

const shard = "model-00001-of-00002.safetensors" // the larger file of model

func TestPullFetchesAWholeModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		cache := filepath.Join(t.TempDir(), "hub") // not there yet
		got, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		if err != nil {
			t.Fatal(err)
		}
		dir := got.Dir
		if !got.Added || got.Commit != commitA {
			t.Errorf("pulled %+v", got)
		}
		if want := filepath.Join(cache, "models--org--name", "snapshots", commitA); dir != want {
			t.Errorf("folder %s, want %s", dir, want)
		}
		same(t, dir, files, fetched)

		// The layout is exactly the Python libraries'.
		var want []string
		for _, name := range fetched {
			etag := etagOf(name, files[name])
			want = append(want, "blobs/"+etag,
				"snapshots/"+commitA+"/"+name+" -> "+strings.Repeat("../",
					2+strings.Count(name, "/"))+"blobs/"+etag)
		}
		want = append(want, "refs/main")
		slices.Sort(want)
		if got := tree(t, filepath.Join(cache, "models--org--name")); !slices.Equal(got, want) {
			t.Errorf("the cache holds\n%s\nwant\n%s",
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if ref, _ := os.ReadFile(filepath.Join(cache, "models--org--name", "refs",
			"main")); string(ref) != commitA {
			t.Errorf("refs/main is %q", ref)
		}
		if _, err := os.Stat(filepath.Join(cache, ".locks", "models--org--name",
			etagOf(shard, files[shard])+".lock")); err != nil {
			t.Error(err)
		}

		// The token goes to the hub alone.
		if n := len(h.seen("hub.test", "with token")); n == 0 || n != len(h.seen("hub.test")) {
			t.Errorf("%d of %d requests to the hub carry the token", n, len(h.seen("hub.test")))
		}
		if len(h.seen("cdn.test")) != 3 || len(h.seen("cdn.test", "with token")) != 0 {
			t.Errorf("the storage was asked %q", h.seen("cdn.test"))
		}

		// All is there: the second time one question is enough.
		h.set(func() { h.requests = nil })
		if again, err := Pull(t.Context(), "org/name", h.options(cache), nil); err != nil ||
			again.Dir != dir || again.Added {
			t.Errorf("again %+v, %v", again, err)
		}
		if len(h.seen()) != 1 {
			t.Errorf("the second pull asked %q", h.seen())
		}
		// A ref that was lost comes back, and one file that was lost is fetched alone.
		os.Remove(filepath.Join(cache, "models--org--name", "refs", "main"))
		os.Remove(filepath.Join(cache, "models--org--name", "blobs",
			etagOf("merges.txt", files["merges.txt"])))
		if _, err := Pull(t.Context(), "org/name", h.options(cache), nil); err != nil {
			t.Fatal(err)
		}
		if n := len(h.seen("GET", "/resolve/")); n != 1 {
			t.Errorf("%d files were fetched again, want 1", n)
		}
		if dir, err := Resolve(cache, "org/name"); err != nil || dir == "" {
			t.Errorf("resolved to %q, %v", dir, err)
		}
		same(t, dir, files, fetched)
	})
}

func TestPullOfANewRevisionFetchesWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		cache := t.TempDir()
		old, err := Pull(t.Context(), "org/name@v1", h.options(cache), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(cache, "models--org--name", "refs", "v1")); err != nil {
			t.Error(err)
		}
		next := model()
		next["config.json"] = []byte(`{"model_type": "qwen3"}`)
		h.set(func() { h.commit, h.files, h.requests = commitB, next, nil })
		dir, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		if err != nil || dir.Commit != commitB || !dir.Added {
			t.Fatalf("%+v, %v", dir, err)
		}
		same(t, dir.Dir, next, fetched)
		same(t, old.Dir, model(), fetched)
		if got := h.seen("GET", "/resolve/"); len(got) != 1 ||
			!strings.Contains(got[0], "config.json") {
			t.Errorf("fetched %q, want config.json alone: the rest is the same", got)
		}
		if got := h.seen("/revision/"); len(got) != 1 ||
			!strings.HasSuffix(got[0], "/revision/main with token") {
			t.Errorf("asked %q", got)
		}
	})
}

// TestPullUsesTheCacheIfTheHubIsDown expects a complete model from disk while the hub does not
// answer, and only then.
func TestPullUsesTheCacheIfTheHubIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		cache := t.TempDir()
		whole, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		if err != nil {
			t.Fatal(err)
		}
		gone := h.options(cache)
		gone.Endpoint = "http://gone.test"
		for _, name := range []string{"org/name", "org/name@main", "org/name@" + commitA} {
			got, err := Pull(t.Context(), name, gone, nil)
			if err != nil || got.Dir != whole.Dir || got.Commit != commitA || got.Added {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			wantCode(t, got.Unchecked, Offline, "gone.test")
		}
		h.set(func() {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
		})
		got, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		if err != nil || got.Dir != whole.Dir {
			t.Errorf("while the hub is down: %+v, %v", got, err)
		}
		wantCode(t, got.Unchecked, Unavailable, "503")

		// A revision that is not on disk is not replaced by another. The message says how to get
		// one.
		_, err = Pull(t.Context(), "org/name@v1", gone, nil)
		wantCode(t, err, Offline, "check the internet connection",
			"HF_HUB_OFFLINE=1 Tandem takes the revision", commitA)
		offline := gone
		offline.Offline = true
		if got, err := Pull(t.Context(), "org/name", offline, nil); err != nil ||
			got.Dir != whole.Dir {
			t.Errorf("what the message says does not work: %+v, %v", got, err)
		}
		// A refusal counts as an answer.
		h.set(func() {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("X-Error-Code", "RepoNotFound")
				w.WriteHeader(http.StatusNotFound)
				return true
			}
		})
		_, err = Pull(t.Context(), "org/name", h.options(cache), nil)
		wantCode(t, err, NotFound)
		// Half a model is not used.
		if err := os.Remove(filepath.Join(whole.Dir, shard)); err != nil {
			t.Fatal(err)
		}
		_, err = Pull(t.Context(), "org/name", gone, nil)
		wantCode(t, err, Offline, "check the internet connection")
		if strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
			t.Errorf("half a model is offered: %v", err)
		}
	})
}

// TestPullWithoutIndexLeavesCopies expects that weights in folders, and the maker's own copy, are
// not fetched.
func TestPullWithoutIndexLeavesCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string][]byte{
			"config.json": []byte("{}"), "model.safetensors": weights(100),
			"consolidated.safetensors":   weights(101),
			"original/model.safetensors": weights(102), "onnx/config.json": []byte("{}"),
		}
		h := newFakeHub(t, files)
		dir, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir.Dir, files, []string{"config.json", "model.safetensors", "onnx/config.json"})
	})
	synctest.Test(t, func(t *testing.T) {
		files := map[string][]byte{"config.json": []byte("{}"),
			"consolidated.safetensors": weights(101)}
		h := newFakeHub(t, files)
		dir, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir.Dir, files, []string{"config.json", "consolidated.safetensors"})
	})
}

func TestParallelPullsFetchEachFileOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		h.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host == "cdn.test" {
				time.Sleep(3 * time.Second)
			}
			return false
		}
		cache := t.TempDir()
		var pulls sync.WaitGroup
		for i := range 4 {
			pulls.Go(func() {
				waited := false
				dir, err := Pull(t.Context(), "org/name", h.options(cache), func(p Progress) {
					waited = waited || strings.Contains(p.Waiting, "another program")
				})
				if err != nil {
					t.Errorf("pull %d: %v", i, err)
					return
				}
				same(t, dir.Dir, files, fetched)
			})
		}
		pulls.Wait()
		if got := h.seen("GET", "cdn.test"); len(got) != 3 {
			t.Errorf("the storage was asked %q, want each of three files once", got)
		}
	})
}

// TestPullWaitsForAnotherProgram holds the lock that Python would hold.
func TestPullWaitsForAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		cache := t.TempDir()
		etag := etagOf(shard, files[shard])
		r := repo{cache: cache, id: "org/name"}
		for _, dir := range []string{filepath.Dir(r.lockFile(etag)), filepath.Dir(r.blob(etag))} {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		other, err := os.Create(filepath.Join(cache, ".locks", "models--org--name", etag+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.partial(etag), files[shard][:5000], 0o666); err != nil {
			t.Fatal(err)
		}
		// Cancelling works while waiting.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := Pull(ctx, "org/name", h.options(cache), nil); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Fatalf("a pull that waits for a lock ended with %v", err)
		}
		time.AfterFunc(10*time.Second, func() {
			if err := os.Rename(r.partial(etag), r.blob(etag)); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(r.blob(etag), files[shard], 0o666); err != nil {
				t.Error(err)
			}
			other.Close()
		})
		waited := false
		dir, err := Pull(t.Context(), "org/name", h.options(cache), func(p Progress) {
			waited = waited || p.Waiting == "another program downloads "+shard
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir.Dir, files, fetched)
		if !waited || len(h.seen("cdn.test", shard)) != 0 {
			t.Errorf("waiting shown: %t; fetched %q although another program did",
				waited, h.seen("cdn.test", shard))
		}
	})
}

// Every file that a load may read is fetched, whatever folder it is in.
func TestPullFetchesAllTemplates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		names := []string{"additional_chat_templates/tool_use.jinja",
			"additional_chat_templates/rag.jinja", "chat_template.json", "chat_template.jinja",
			"generation_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
			"modules.json", "1_Pooling/config.json", "tokenizer_config.json", "vocab.txt"}
		for _, name := range names {
			files[name] = []byte("the text of " + name)
		}
		h := newFakeHub(t, files)
		got, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(got.Dir, name))
			if string(text) != string(files[name]) {
				t.Errorf("%s holds %q, %v", name, text, err)
			}
		}
	})
}
