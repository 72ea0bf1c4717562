package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

func TestPull(t *testing.T) {
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

		// The layout is that of the Python libraries, to the letter.
		var want []string
		for _, name := range fetched {
			etag := etagOf(name, files[name])
			want = append(want, "blobs/"+etag, "snapshots/"+commitA+"/"+name+" -> "+strings.Repeat("../", 2+strings.Count(name, "/"))+"blobs/"+etag)
		}
		want = append(want, "refs/main")
		slices.Sort(want)
		if got := tree(t, filepath.Join(cache, "models--org--name")); !slices.Equal(got, want) {
			t.Errorf("the cache holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if ref, _ := os.ReadFile(filepath.Join(cache, "models--org--name", "refs", "main")); string(ref) != commitA {
			t.Errorf("refs/main is %q", ref)
		}
		if _, err := os.Stat(filepath.Join(cache, ".locks", "models--org--name", etagOf(shard, files[shard])+".lock")); err != nil {
			t.Error(err)
		}

		// The token goes to the hub and to nobody else.
		if n := len(h.seen("hub.test", "with token")); n == 0 || n != len(h.seen("hub.test")) {
			t.Errorf("%d of %d requests to the hub carry the token", n, len(h.seen("hub.test")))
		}
		if len(h.seen("cdn.test")) != 3 || len(h.seen("cdn.test", "with token")) != 0 {
			t.Errorf("the storage was asked %q", h.seen("cdn.test"))
		}

		// All is there: the second time one question is enough.
		h.set(func() { h.requests = nil })
		if again, err := Pull(t.Context(), "org/name", h.options(cache), nil); err != nil || again.Dir != dir || again.Added {
			t.Errorf("again %+v, %v", again, err)
		}
		if len(h.seen()) != 1 {
			t.Errorf("the second pull asked %q", h.seen())
		}
		// A ref that was lost comes back, and one file that was lost is fetched alone.
		os.Remove(filepath.Join(cache, "models--org--name", "refs", "main"))
		os.Remove(filepath.Join(cache, "models--org--name", "blobs", etagOf("merges.txt", files["merges.txt"])))
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

func TestPullNewRevision(t *testing.T) {
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
		if got := h.seen("GET", "/resolve/"); len(got) != 1 || !strings.Contains(got[0], "config.json") {
			t.Errorf("fetched %q, want config.json alone: the rest is the same", got)
		}
		if got := h.seen("/revision/"); len(got) != 1 || !strings.HasSuffix(got[0], "/revision/main with token") {
			t.Errorf("asked %q", got)
		}
	})
}

// TestPullWithoutIndex sees that weights in folders, and the maker's own copy, stay at the hub without an index to say so.
func TestPullWithoutIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string][]byte{
			"config.json": []byte("{}"), "model.safetensors": weights(100), "consolidated.safetensors": weights(101),
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
		files := map[string][]byte{"config.json": []byte("{}"), "consolidated.safetensors": weights(101)}
		h := newFakeHub(t, files)
		dir, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir.Dir, files, []string{"config.json", "consolidated.safetensors"})
	})
}

// TestPullContinues cancels a pull in the middle of a file; the next one asks for the rest only.
func TestPullContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		cache := t.TempDir()
		const n = 123_456
		ctx, cancel := context.WithCancel(t.Context())
		h.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
				return false
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(files[shard])))
			w.Write(files[shard][:n])
			http.NewResponseController(w).Flush()
			time.Sleep(time.Second) // for the client to write what it got, and the other files to end
			cancel()
			<-r.Context().Done()
			return true
		}
		if _, err := Pull(ctx, "org/name", h.options(cache), nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled pull gives %v", err)
		}
		part := filepath.Join(cache, "models--org--name", "blobs", etagOf(shard, files[shard])+".incomplete")
		if st, err := os.Stat(part); err != nil || st.Size() != n {
			t.Fatalf("kept %v, %v, want %d bytes", st, err, n)
		}
		_, err := Resolve(cache, "org/name")
		wantCode(t, err, Incomplete, "half downloaded", "tandem pull org/name")

		h.set(func() { h.hook, h.requests = nil, nil })
		var first *Progress
		dir, err := Pull(t.Context(), "org/name", h.options(cache), func(p Progress) {
			if first == nil && p.Total > 0 {
				first = &p
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir.Dir, files, fetched)
		if got := h.seen("cdn.test"); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("bytes=%d-", n)) {
			t.Errorf("the storage was asked %q, want the rest of one file", got)
		}
		if first == nil || first.Done < n {
			t.Errorf("progress begins with %+v, want what was there", first)
		}
		if _, err := os.Stat(part); err == nil {
			t.Error("the part is still there")
		}
	})
}

// TestPullHard is a pull against a hub that misbehaves: it ends well all the same.
func TestPullHard(t *testing.T) {
	files := model()
	content := files[shard]
	// stored runs f on the requests for the content of the large shard, counting them from 1.
	stored := func(f func(n int, w http.ResponseWriter, r *http.Request) bool) func(*fakeHub) {
		return func(h *fakeHub) {
			n := 0
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
					return false
				}
				n++
				return f(n, w, r)
			}
		}
	}
	part := func(data []byte) func(t *testing.T, cache string) {
		return func(t *testing.T, cache string) {
			name := filepath.Join(cache, "models--org--name", "blobs", etagOf(shard, content)+".incomplete")
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, data, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name    string
		hub     func(h *fakeHub)
		before  func(t *testing.T, cache string)
		ranges  []string      // of the requests for the shard
		atLeast time.Duration // that the pull must have waited
	}{
		{name: "the connection breaks again and again", ranges: []string{"", "bytes=100000-", "bytes=200000-", "bytes=300000-"},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n < 4 {
					cut(w, r, content, 100_000)
				}
				return false
			})},
		{name: "more breaks in all than would be borne in a row", ranges: append([]string{""}, func() (all []string) {
			for i := 1; i <= 13; i++ {
				all = append(all, fmt.Sprintf("bytes=%d-", i*50_000))
			}
			return all
		}()...),
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n < 14 {
					cut(w, r, content, 50_000)
				}
				return false
			})},
		{name: "the range is ignored", before: part(content[:1000]), ranges: []string{"bytes=1000-"},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool { w.Write(content); return true })},
		{name: "the range is refused", before: part(content[:1000]), ranges: []string{"bytes=1000-", ""},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				}
				return n == 1
			})},
		{name: "another range is sent", ranges: []string{"", "bytes=1000-", ""},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				switch n {
				case 1:
					cut(w, r, content, 1000)
				case 2: // as many bytes as are missing, from the wrong place
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(content)-1001, len(content)))
					w.WriteHeader(http.StatusPartialContent)
					w.Write(content[:len(content)-1000])
				}
				return n == 2
			})},
		{name: "more is sent than announced", ranges: []string{"", ""},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					w.Write(append(slices.Clone(content), "and more"...))
				}
				return n == 1
			})},
		{name: "the part on disk is wrong", before: part(bytes.Repeat([]byte("x"), 1000)), ranges: []string{"bytes=1000-", ""}, hub: func(*fakeHub) {}},
		{name: "the part on disk is too long", before: part(make([]byte, len(content)+1)), ranges: []string{""}, hub: func(*fakeHub) {}},
		{name: "the part on disk is whole", before: part(content), ranges: nil, hub: func(*fakeHub) {}},
		{name: "the signed address has run out", ranges: []string{"", ""},
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					http.Error(w, "expired", http.StatusForbidden)
				}
				return n == 1
			})},
		{name: "nothing arrives any more", ranges: []string{"", "bytes=1000-"}, atLeast: defaultStall,
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					w.Write(content[:1000])
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
				return n == 1
			})},
		{name: "no answer comes", ranges: []string{"", ""}, atLeast: defaultStall,
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					<-r.Context().Done()
				}
				return n == 1
			})},
		{name: "a slow but steady storage is no stall", ranges: []string{""}, atLeast: 5 * time.Minute,
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Length", fmt.Sprint(len(content)))
				for piece := range slices.Chunk(content, 50_000) {
					time.Sleep(25 * time.Second)
					w.Write(piece)
					http.NewResponseController(w).Flush()
				}
				return true
			})},
		{name: "each host takes its time to answer", ranges: []string{""}, atLeast: 40 * time.Second,
			hub: func(h *fakeHub) {
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, shard) {
						time.Sleep(20 * time.Second)
					}
					return false
				}
			}},
		{name: "too many requests", ranges: []string{""}, atLeast: 90 * time.Second,
			hub: func(h *fakeHub) {
				n := 0
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, "/revision/") {
						return false
					}
					n++
					if n == 1 {
						w.Header().Set("Retry-After", "90")
						http.Error(w, "slow down", http.StatusTooManyRequests)
					}
					return n == 1
				}
			}},
		{name: "the hub is down for a moment", ranges: []string{""}, atLeast: time.Second,
			hub: func(h *fakeHub) {
				n := 0
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodHead || !strings.HasSuffix(r.URL.Path, shard) {
						return false
					}
					n++
					if n < 3 {
						http.Error(w, "", http.StatusBadGateway)
					}
					return n < 3
				}
			}},
		{name: "the hub has moved the model", ranges: []string{""},
			hub: func(h *fakeHub) {
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Host != "hub.test" || r.URL.Query().Has("moved") {
						return false
					}
					w.Header().Set("Location", r.URL.EscapedPath()+"?moved")
					w.WriteHeader(http.StatusTemporaryRedirect)
					return true
				}
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub(t, files)
				test.hub(h)
				cache := t.TempDir()
				if test.before != nil {
					test.before(t, cache)
				}
				start := time.Now()
				dir, err := Pull(t.Context(), "org/name", h.options(cache), nil)
				if err != nil {
					t.Fatal(err)
				}
				same(t, dir.Dir, files, fetched)
				var ranges []string
				for _, line := range h.seen("GET cdn.test", shard) {
					_, after, _ := strings.Cut(line, shard)
					ranges = append(ranges, strings.TrimSpace(after))
				}
				if !slices.Equal(ranges, test.ranges) {
					t.Errorf("the shard was asked for with ranges %q, want %q", ranges, test.ranges)
				}
				if d := time.Since(start); d < test.atLeast {
					t.Errorf("the pull took %s, want at least %s", d, test.atLeast)
				}
				if left := slices.DeleteFunc(tree(t, cache), func(f string) bool { return !strings.Contains(f, ".incomplete") }); len(left) != 0 {
					t.Errorf("left behind %q", left)
				}
				if got := h.seen("cdn.test", "with token"); got != nil {
					t.Errorf("the token went to the storage: %q", got)
				}
			})
		})
	}
}

// TestPullTogether pulls one model several times at once: each file is fetched once.
func TestPullTogether(t *testing.T) {
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

// TestPullLocked waits for another program, which holds the lock that Python would hold.
func TestPullLocked(t *testing.T) {
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
		if _, err := Pull(ctx, "org/name", h.options(cache), nil); !errors.Is(err, context.DeadlineExceeded) {
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
			t.Errorf("waiting shown: %t; fetched %q although another program did", waited, h.seen("cdn.test", shard))
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		h.hook = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
				return false
			}
			w.Header().Set("Content-Length", "700000")
			for piece := range slices.Chunk(files[shard], 1000) {
				time.Sleep(20 * time.Millisecond) // 50,000 bytes a second
				w.Write(piece)
				http.NewResponseController(w).Flush()
			}
			return true
		}
		var all []Progress
		var times []time.Time
		if _, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), func(p Progress) {
			all, times = append(all, p), append(times, time.Now())
		}); err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, name := range fetched {
			total += int64(len(files[name]))
		}
		last := all[len(all)-1]
		if last.Done != total || last.Total != total {
			t.Errorf("the last report is %+v, want %d bytes", last, total)
		}
		for i := 1; i < len(all)-1; i++ { // the last comes at the end, whenever that is
			if d := times[i].Sub(times[i-1]); d < 100*time.Millisecond {
				t.Fatalf("reports %s apart", d)
			}
			if all[i].Done < all[i-1].Done {
				t.Errorf("progress went back from %d to %d", all[i-1].Done, all[i].Done)
			}
		}
		// After a window only the steady file moves.
		i := slices.IndexFunc(times, func(at time.Time) bool { return at.Sub(times[0]) >= 12*time.Second })
		if mid := all[i]; mid.Rate < 45_000 || mid.Rate > 55_000 {
			t.Errorf("after 12 s the rate is %.0f, want 50000", mid.Rate)
		}
	})
}
