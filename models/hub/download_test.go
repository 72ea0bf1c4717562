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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestPullContinuesAfterCancel cancels a pull in the middle of a file. The next one asks for the
// rest only.
func TestPullContinuesAfterCancel(t *testing.T) {
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
			// for the client to write what it got, and the other files to end
			time.Sleep(time.Second)
			cancel()
			<-r.Context().Done()
			return true
		}
		if _, err := Pull(ctx, "org/name", h.options(cache), nil); !errors.Is(err,
			context.Canceled) {
			t.Fatalf("cancelled pull gives %v", err)
		}
		part := filepath.Join(cache, "models--org--name", "blobs",
			etagOf(shard, files[shard])+".incomplete")
		if st, err := os.Stat(part); err != nil || st.Size() != n {
			t.Fatalf("kept %v, %v, want %d bytes", st, err, n)
		}
		_, err := Resolve(cache, "org/name")
		wantCode(t, err, Incomplete, "org/name: ", "half downloaded", "download it again")

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
		if got := h.seen("cdn.test"); len(got) != 1 ||
			!strings.Contains(got[0], fmt.Sprintf("bytes=%d-", n)) {
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

func TestPullSurvivesMisbehavingHubs(t *testing.T) {
	files := model()
	content := files[shard]
	// stored runs f on the requests for the content of the large shard, counting them from 1.
	stored := func(f func(n int, w http.ResponseWriter, r *http.Request) bool) func(*fakeHub) {
		return func(h *fakeHub) {
			var n atomic.Int64 // a request that was given up may still be on its way
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Host != "cdn.test" || !strings.HasSuffix(r.URL.Path, shard) {
					return false
				}
				return f(int(n.Add(1)), w, r)
			}
		}
	}
	part := func(data []byte) func(t *testing.T, cache string) {
		return func(t *testing.T, cache string) {
			name := filepath.Join(cache, "models--org--name", "blobs",
				etagOf(shard, content)+".incomplete")
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777),
				os.WriteFile(name, data, 0o666)); err != nil {
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
		{name: "more breaks in all than are allowed in a row",
			ranges: append([]string{""}, func() (all []string) {
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
			hub: stored(func(n int, w http.ResponseWriter,
				r *http.Request) bool {
				w.Write(content)
				return true
			})},
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
					w.Header().Set("Content-Range",
						fmt.Sprintf("bytes 0-%d/%d", len(content)-1001, len(content)))
					w.WriteHeader(http.StatusPartialContent)
					w.Write(content[:len(content)-1000])
				}
				return n == 2
			})},
		{name: "more is sent than announced", ranges: []string{""},
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
		{name: "nothing arrives any more", ranges: []string{"", "bytes=1000-"},
			atLeast: defaultStall,
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
		{name: "a slow but steady storage is no stall", ranges: []string{""},
			atLeast: 5 * time.Minute,
			hub: stored(func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Length", fmt.Sprint(len(content)))
				for piece := range slices.Chunk(content, 50_000) {
					time.Sleep(25 * time.Second)
					w.Write(piece)
					http.NewResponseController(w).Flush()
				}
				return true
			})},
		{name: "each host takes its time to answer", ranges: []string{""},
			atLeast: 40 * time.Second,
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
				if left := slices.DeleteFunc(tree(t, cache),
					func(f string) bool {
						return !strings.Contains(f, ".incomplete")
					}); len(left) != 0 {
					t.Errorf("the pull left %q", left)
				}
				if got := h.seen("cdn.test", "with token"); got != nil {
					t.Errorf("the token went to the storage: %q", got)
				}
			})
		})
	}
}

// TestLinksAreNotWrittenThrough puts links where a download is written. What they lead to stays as it
// is, and the download is whole.
func TestLinksAreNotWrittenThrough(t *testing.T) {
	files := model()
	hard, copied := "a hard link", "a hard link to the same part, as in a copy of the cache"
	for name, exists := range map[string]bool{"a file elsewhere": true, "nowhere": false, hard: true, copied: true} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, files)
			cache, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
			mine := "mine"
			if name == copied {
				mine = string(files[shard][:5000])
			}
			if exists {
				if err := os.WriteFile(other, []byte(mine), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := repo{cache: cache, id: "org/name"}
			link := os.Symlink
			if name == hard || name == copied {
				link = os.Link
			}
			etag := etagOf(shard, files[shard])
			for _, at := range []string{r.partial(etag), r.lockFile(etag)} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), link(other, at)); err != nil {
					t.Fatal(err)
				}
			}
			dir, err := Pull(t.Context(), "org/name", h.options(cache), nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, dir.Dir, files, fetched)
			text, err := os.ReadFile(other)
			if string(text) != mine && exists || err == nil && !exists {
				t.Errorf("what the links lead to has %.20q, %v", text, err)
			}
		})
	}
}
