package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
		dir, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		if err != nil {
			t.Fatal(err)
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
		if again, err := Pull(t.Context(), "org/name", h.options(cache), nil); err != nil || again != dir {
			t.Errorf("again %s, %v", again, err)
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
		if err != nil || dir == old {
			t.Fatalf("%s, %v", dir, err)
		}
		same(t, dir, next, fetched)
		same(t, old, model(), fetched)
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
		same(t, dir, files, []string{"config.json", "model.safetensors", "onnx/config.json"})
	})
	synctest.Test(t, func(t *testing.T) {
		files := map[string][]byte{"config.json": []byte("{}"), "consolidated.safetensors": weights(101)}
		h := newFakeHub(t, files)
		dir, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, dir, files, []string{"config.json", "consolidated.safetensors"})
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
		same(t, dir, files, fetched)
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
					w.Header().Set("Location", strings.ReplaceAll(r.URL.EscapedPath(), "%20", "%20")+"?moved")
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
				same(t, dir, files, fetched)
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

func TestPullErrors(t *testing.T) {
	answer := func(path string, status int, header ...string) func(*fakeHub) {
		return func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, path) {
					return false
				}
				for i := 0; i < len(header); i += 2 {
					w.Header().Set(header[i], header[i+1])
				}
				w.WriteHeader(status)
				return true
			}
		}
	}
	with := func(name string, content []byte) func(*fakeHub) {
		return func(h *fakeHub) {
			if content == nil {
				delete(h.files, name)
			} else {
				h.files[name] = content
			}
		}
	}
	tests := []struct {
		name  string
		hub   func(h *fakeHub)
		opts  func(o *Options)
		code  Code
		words []string
	}{
		{"gated, without a token", answer("/resolve/", 401, "X-Error-Code", "GatedRepo"), func(o *Options) { o.Token = "" }, Gated,
			[]string{"http://hub.test/org/name", "accept its terms", "HF_TOKEN"}},
		{"gated, with a token that has no access", answer("/resolve/", 403, "X-Error-Code", "GatedRepo"), nil, Gated,
			[]string{"http://hub.test/org/name", "the token may not", "HF_TOKEN"}},
		{"a bad token", answer("/revision/", 401), nil, Gated, []string{"set another token"}},
		{"no such model", answer("/revision/", 404, "X-Error-Code", "RepoNotFound"), nil, NotFound, []string{"check the spelling"}},
		{"no such model, said as 401", answer("/revision/", 401, "X-Error-Code", "RepoNotFound"), nil, NotFound, []string{"check the spelling", "private"}},
		{"no such revision", answer("/revision/", 404, "X-Error-Code", "RevisionNotFound"), nil, NotFound, []string{"no such revision"}},
		{"a listed file is not there", answer("/tokenizer.json", 404, "X-Error-Code", "EntryNotFound"), nil, NotFound, []string{"tokenizer.json"}},
		{"the hub is down", answer("", 503), nil, Unavailable, []string{"503", "pull again"}},
		{"the storage is down", answer("/blob/", 500), nil, Unavailable, []string{"500"}},
		{"the storage refuses", answer("/blob/", 403), nil, Unavailable, []string{"storage"}},
		{"requests are limited for long", answer("", 429, "Retry-After", "3600"), nil, RateLimited, []string{"1h0m0s", "HF_TOKEN"}},
		{"requests are limited without end", answer("", 429), nil, RateLimited, nil},
		{"not a hub", answer("", 418), nil, BadReply, []string{"418"}},
		{"a circle", answer("", 302, "Location", "/api/models/org/name/revision/main"), nil, BadReply, []string{"circles"}},
		{"a redirect to nowhere", answer("", 302, "Location", "http://nowhere.test/"), nil, Offline, []string{"cannot be reached"}},
		{"no network", func(h *fakeHub) {}, func(o *Options) { o.Endpoint = "http://gone.test" }, Offline, []string{"http://gone.test", "check the connection"}},
		{"nothing arrives", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
		}, nil, Unavailable, []string{"nothing arrived from hub.test for 30s"}},
		{"always cut at one place", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/blob/"+shard) {
					var start int
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start)
					cut(w, r, h.files[shard], max(0, 1000-start))
				}
				return false
			}
		}, nil, Truncated, []string{"1000 of the 700000 bytes", "kept"}},
		{"always a short answer", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/blob/"+shard) {
					return false
				}
				if r.Header.Get("Range") != "" {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 1000-999/%d", len(h.files[shard])))
					w.WriteHeader(http.StatusPartialContent)
					return true
				}
				w.Write(h.files[shard][:1000])
				return true
			}
		}, nil, Truncated, []string{"1000 of the 700000 bytes", "kept"}},
		{"a wrong hash", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/blob/"+shard) {
					w.Write(weights(len(h.files[shard]) - 1))
					w.Write([]byte{0})
				}
				return strings.Contains(r.URL.Path, "/blob/"+shard)
			}
		}, nil, HashMismatch, []string{shard, "removed", "pull again"}},
		{"a wrong hash of a small file", func(h *fakeHub) {
			h.announce = func(name, etag string) string {
				if name == "merges.txt" {
					return strings.Repeat("0", 40)
				}
				return etag
			}
		}, nil, HashMismatch, []string{"merges.txt", "removed"}},
		{"no hash", func(h *fakeHub) { h.announce = func(string, string) string { return "12-34" } }, nil, BadReply, []string{"no hash"}},
		{"a hash that is a path", func(h *fakeHub) { h.announce = func(string, string) string { return "../../../../evil" } }, nil, BadReply, []string{"no hash"}},
		{"a file that keeps changing", func(h *fakeHub) {
			n := 0
			h.announce = func(name, etag string) string {
				if name == "merges.txt" {
					n++
					return fmt.Sprintf("%040x", n)
				}
				return etag
			}
		}, nil, BadReply, []string{"merges.txt changes"}},
		{"another commit", answer("/resolve/", 200, "X-Repo-Commit", commitB, "ETag", strings.Repeat("0", 40)), nil, BadReply, []string{commitB}},
		{"no JSON", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				io.WriteString(w, "<html>Sign in to the hotel's network")
				return true
			}
		}, nil, BadReply, []string{"hub endpoint"}},
		{"no commit", func(h *fakeHub) { h.commit = "main" }, nil, BadReply, []string{"no commit"}},
		{"GGUF", func(h *fakeHub) { h.files = map[string][]byte{"model.gguf": nil, "config.json": nil} }, nil, Unsupported, []string{"GGUF"}},
		{"pickles", func(h *fakeHub) { h.files = map[string][]byte{"pytorch_model.bin": nil, "config.json": nil} }, nil, Unsupported, []string{"pickled"}},
		{"no config", with("config.json", nil), nil, Unsupported, []string{"config.json"}},
		{"an index with a shard that is not there", with("model-00002-of-00002.safetensors", nil), nil, Unsupported, []string{"model-00002-of-00002.safetensors"}},
		{"an index that points outside", with(indexName, []byte(`{"weight_map": {"a": "../../../evil.safetensors"}}`)), nil, Unsupported, []string{"evil"}},
		{"an index that is none", with(indexName, []byte(`{"weight_map": 5}`)), nil, Unsupported, []string{"not valid JSON"}},
		{"no room", func(h *fakeHub) {}, func(o *Options) {
			o.FreeSpace = func(string) (int64, error) { return diskReserve + 900_000, nil }
		}, DiskFull, []string{"1.0 MB are still to come", "free 0.1 MB"}},
		{"the free space cannot be told", func(h *fakeHub) {}, func(o *Options) {
			o.FreeSpace = func(string) (int64, error) { return 0, os.ErrPermission }
		}, Disk, nil},
		{"no cache folder", func(h *fakeHub) {}, func(o *Options) { o.CacheDir = "" }, Invalid, nil},
		{"a cache folder that is a file", func(h *fakeHub) {}, func(o *Options) { o.CacheDir = os.Args[0] }, Disk, []string{"permissions"}},
		{"an endpoint that is none", func(h *fakeHub) {}, func(o *Options) { o.Endpoint = "huggingface.co" }, Invalid, []string{"https://huggingface.co"}},
		{"offline", func(h *fakeHub) {}, func(o *Options) { o.Offline = true }, Offline, []string{"switched off"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub(t, model())
				test.hub(h)
				cache := t.TempDir()
				opts := h.options(cache)
				if test.opts != nil {
					test.opts(&opts)
				}
				dir, err := Pull(t.Context(), "org/name", opts, nil)
				wantCode(t, err, test.code, test.words...)
				if dir != "" {
					t.Errorf("a folder came with the error: %s", dir)
				}
				// No model is there, whatever was fetched, and nothing lies outside the model's folder.
				if _, err := Resolve(cache, "org/name"); err == nil {
					t.Error("the model resolves after a failed pull")
				}
				for _, f := range tree(t, cache) {
					if !strings.HasPrefix(f, "models--org--name/blobs/") {
						t.Errorf("%s was left", f)
					}
					if test.code == HashMismatch && strings.Contains(f, etagOf(shard, h.files[shard])) && test.name == "a wrong hash" {
						t.Errorf("%s was kept", f)
					}
				}
			})
		})
	}
}

// TestPullFullDisk fills the disk while a file is written: /dev/full is a device that is always full.
func TestPullFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		cache := t.TempDir()
		part := filepath.Join(cache, "models--org--name", "blobs", etagOf(shard, files[shard])+".incomplete")
		if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o777), os.Symlink("/dev/full", part)); err != nil {
			t.Fatal(err)
		}
		_, err := Pull(t.Context(), "org/name", h.options(cache), nil)
		wantCode(t, err, DiskFull, "free some space", "kept")
	})
}

func TestPullHostileNames(t *testing.T) {
	for _, name := range []string{
		"../evil.json", "../../../../evil.json", "a/../../evil.json", "/etc/evil.json", "a//b.json", "./a.json", "a/./b.json", "..", ".", "",
		`..\evil.json`, `C:\evil.json`, "C:evil.json", "a\x00.json", "a\n.json", "a/", strings.Repeat("a", maxFileLength) + ".json",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFakeHub(t, model())
			h.siblings = func(names []string) any { return append(siblingList(names), name) }
			outer := t.TempDir()
			_, err := Pull(t.Context(), "org/name", h.options(filepath.Join(outer, "a/b/c")), nil)
			wantCode(t, err, Unsafe, "nothing was downloaded")
			if files := tree(t, outer); files != nil || len(h.seen("/resolve/")) != 0 {
				t.Errorf("%q: on disk %q, fetched %q", name, files, h.seen("/resolve/"))
			}
		})
	}
	// One file in the place of another's folder cannot be.
	synctest.Test(t, func(t *testing.T) {
		files := model()
		files["a.json"], files["a.json/b.json"] = []byte("{}"), []byte("{}")
		h := newFakeHub(t, files)
		_, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
		wantCode(t, err, Disk)
	})
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
				same(t, dir, files, fetched)
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
		same(t, dir, files, fetched)
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
		if last.Done != total || last.Total != total || len(last.Files) != len(fetched) {
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
		// After a window only the steady file moves: 400,000 bytes are left at 12 s, which take 2 s.
		i := slices.IndexFunc(times, func(at time.Time) bool { return at.Sub(times[0]) >= 12*time.Second })
		if mid := all[i]; mid.Rate < 45_000 || mid.Rate > 55_000 || mid.ETA < time.Second || mid.ETA > 3*time.Second || mid.ETAMS != mid.ETA.Milliseconds() {
			t.Errorf("after 12 s the rate is %.0f and the time left %s, want 50000 and 2 s", mid.Rate, mid.ETA)
		}
	})
}
