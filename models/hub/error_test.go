package hub

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestPullErrorsHaveCodes expects that each failure has its code and says what to do. It leaves no
// model, and no file outside the model's folder.
func TestPullErrorsHaveCodes(t *testing.T) {
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
		{"gated, without a token", answer("/resolve/", 401, "X-Error-Code", "GatedRepo"),
			func(o *Options) { o.Token = "" }, Gated,
			[]string{"http://hub.test/org/name", "accept its terms", "HF_TOKEN"}},
		{"gated, with a token that has no access",
			answer("/resolve/", 403, "X-Error-Code", "GatedRepo"), nil, Gated,
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
		{"no network", func(h *fakeHub) {}, func(o *Options) { o.Endpoint = "http://gone.test" }, Offline, []string{"the hub at gone.test cannot be reached", "check the internet connection", "Settings"}},
		{"a proxy that is gone", func(h *fakeHub) {}, func(o *Options) {
			o.Client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http",
				Host: "proxy.test:1"}), DialContext: func(context.Context, string,
				string) (net.Conn, error) {
				return nil, syscall.ECONNREFUSED
			}}}
		}, Offline, []string{"the proxy on the way to the hub at hub.test cannot be reached",
			"check the proxy in Settings"}},
		{"nothing arrives", func(h *fakeHub) {
			h.hook = func(w http.ResponseWriter,
				r *http.Request) bool {
				<-r.Context().Done()
				return true
			}
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
					w.Header().Set("Content-Range",
						fmt.Sprintf("bytes 1000-999/%d", len(h.files[shard])))
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
		{"GGUF", func(h *fakeHub) { h.files = map[string][]byte{"mmproj-model.gguf": nil, "config.json": nil} }, nil, Unsupported, []string{"GGUF"}},
		{"pickles", func(h *fakeHub) { h.files = map[string][]byte{"pytorch_model.bin": nil, "config.json": nil} }, nil, Unsupported, []string{"pickled"}},
		{"no config", with("config.json", nil), nil, Unsupported, []string{"config.json"}},
		{"an index with a shard that is not there", with("model-00002-of-00002.safetensors", nil), nil, Unsupported, []string{"model-00002-of-00002.safetensors"}},
		{"an index that points outside", with(indexName, []byte(`{"weight_map": {"a": "../../../evil.safetensors"}}`)), nil, Unsupported, []string{"evil"}},
		{"an index that is none", with(indexName, []byte(`{"weight_map": 5}`)), nil, Unsupported, []string{"has no weight_map"}},
		{"no room", func(h *fakeHub) {}, func(o *Options) {
			o.FreeSpace = func(string) (int64, error) { return diskReserve + 900_000, nil }
		}, DiskFull, []string{"1.0 MB are still to come", "free 0.1 MB"}},
		{"the free space cannot be told", func(h *fakeHub) {}, func(o *Options) {
			o.FreeSpace = func(string) (int64, error) { return 0, os.ErrPermission }
		}, Disk, nil},
		{"no cache folder", func(h *fakeHub) {}, func(o *Options) { o.CacheDir = "" }, BadOption, nil},
		{"a cache folder that is a file", func(h *fakeHub) {}, func(o *Options) { o.CacheDir = os.Args[0] }, Disk, []string{"permissions"}},
		{"an endpoint that is none", func(h *fakeHub) {}, func(o *Options) { o.Endpoint = "huggingface.co" }, BadOption, []string{"https://huggingface.co"}},
		{"offline", func(h *fakeHub) {}, func(o *Options) { o.Offline = true }, Offline, []string{"not in the cache", "unset HF_HUB_OFFLINE"}},
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
				if dir != (Snapshot{}) {
					t.Errorf("a folder came with the error: %+v", dir)
				}
				// There is no model after a failed pull, and nothing is outside the model's folder.
				if _, err := Resolve(cache, "org/name"); err == nil {
					t.Error("the model resolves after a failed pull")
				}
				for _, f := range tree(t, cache) {
					if !strings.HasPrefix(f, "models--org--name/blobs/") {
						t.Errorf("%s was left", f)
					}
					if test.code == HashMismatch &&
						strings.Contains(f, etagOf(shard, h.files[shard])) &&
						test.name == "a wrong hash" {
						t.Errorf("%s was kept", f)
					}
				}
			})
		})
	}
}

// TestPullKeepsWhatFitsOnAFullDisk fills the disk while a file is written. The next pull continues
// with what fitted.
func TestPullKeepsWhatFitsOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fits = 100_000
		files := model()
		h := newFakeHub(t, files)
		cache := t.TempDir()
		opts := h.options(cache)
		opts.write = func(f *os.File, p []byte) (int, error) {
			st, err := f.Stat()
			if err != nil || int64(len(p)) <= fits-st.Size() ||
				!strings.Contains(f.Name(), etagOf(shard, files[shard])) {
				return f.Write(p)
			}
			n, _ := f.Write(p[:fits-st.Size()])
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}
		_, err := Pull(t.Context(), "org/name", opts, nil)
		wantCode(t, err, DiskFull, "free some space", "kept")
		h.set(func() { h.requests = nil })
		if _, err := Pull(t.Context(), "org/name", h.options(cache), nil); err != nil {
			t.Fatal(err)
		}
		if got := h.seen("cdn.test", shard); len(got) != 1 ||
			!strings.Contains(got[0], fmt.Sprintf("bytes=%d-", fits)) {
			t.Errorf("the storage was asked %q, want the rest of what fitted", got)
		}
	})
}

func TestPullRefusesHostileNames(t *testing.T) {
	for _, name := range []string{
		"../evil.json", "../../../../evil.json", "a/../../evil.json", "/etc/evil.json", "a//b.json",
		"./a.json", "a/./b.json", "..", ".", "",
		`..\evil.json`, `C:\evil.json`, "C:evil.json", "a\x00.json", "a\n.json", "a/",
		strings.Repeat("a", maxFileLength) + ".json",
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
}

func TestPullRefusesAFileAndAFolderOfOneName(t *testing.T) {
	for _, names := range [][]string{
		{"a.json", "a.json/b.json"}, {"a.json", "a.json/b/c.json"}, {"a/b.txt", "a/b.txt/c.txt"},
		{"config.json/x.json"}, {"A.json", "a.json/b.json"},
	} {
		synctest.Test(t, func(t *testing.T) {
			files := model()
			for _, name := range names {
				files[name] = []byte("{}")
			}
			h := newFakeHub(t, files)
			cache := t.TempDir()
			_, err := Pull(t.Context(), "org/name", h.options(cache), nil)
			wantCode(t, err, Unsupported, "a folder of the same name", names[len(names)-1])
			if got := h.seen("/blob/"); got != nil {
				t.Errorf("weights were fetched: %q", got)
			}
		})
	}
	// What is not fetched may have any name.
	synctest.Test(t, func(t *testing.T) {
		files := model()
		files["a.json"], files["a.json/b.py"] = []byte("{}"), []byte("{}")
		h := newFakeHub(t, files)
		if _, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil); err != nil {
			t.Error(err)
		}
	})
}

// A redirect that cannot lead to a file is an error immediately, and not retried.
func TestRedirectsThatCannotBeFollowedAreRefusedAtOnce(t *testing.T) {
	for _, location := range []string{"file:///etc/passwd", "file://hub.test/etc/passwd",
		"ftp://hub.test/x", "data:text/plain,x", "gopher://hub.test/", "javascript:alert(1)",
		"http:///x", "https://", "http://:80/x"} {
		for _, path := range []string{"/revision/", "/resolve/", "/blob/"} {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub(t, model())
				h.hook = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, path) {
						return false
					}
					w.Header().Set("Location", location)
					w.WriteHeader(http.StatusFound)
					return true
				}
				start := time.Now()
				_, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
				wantCode(t, err, BadReply, "redirects to", "no address on the web")
				if d := time.Since(start); d > time.Second {
					t.Errorf("%s at %s was refused after %v", location, path, d)
				}
			})
		}
	}
}

func TestRedirectFromHTTPSToHTTPIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub(t, model())
		o := h.options(t.TempDir())
		o.Endpoint = "https://hub.test"
		o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Scheme != "https" {
				t.Errorf("%s was asked", r.URL)
			}
			return &http.Response{StatusCode: 302, Body: http.NoBody, Request: r,
				Header: http.Header{"Location": {"http://hub.test/x"}}}, nil
		})}
		start := time.Now()
		_, err := Pull(t.Context(), "org/name", o, nil)
		wantCode(t, err, BadReply, "from https to http", "hub.test")
		if d := time.Since(start); d > time.Second {
			t.Errorf("it was refused after %v", d)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Sizes that no file has are refused when they arrive, so that no sum of them overflows.
func TestSizesThatNoFileHasAreRefused(t *testing.T) {
	for _, size := range []string{"4611686018427387904", "9223372036854775807", "4398046511105"} {
		synctest.Test(t, func(t *testing.T) {
			h := newFakeHub(t, model())
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodHead || !strings.Contains(r.URL.Path, ".safetensors") ||
					strings.Contains(r.URL.Path, indexName) {
					return false
				}
				w.Header().Set("X-Repo-Commit", commitA)
				w.Header().Set("X-Linked-Etag", `"`+strings.Repeat("a", 64)+`"`)
				w.Header().Set("X-Linked-Size", size)
				return true
			}
			_, err := Pull(t.Context(), "org/name", h.options(t.TempDir()), nil)
			wantCode(t, err, BadReply, size, "which no file has")
			if got := h.seen("/blob/"); got != nil {
				t.Errorf("weights were fetched: %q", got)
			}
		})
	}
	for _, size := range []int64{-1, -1 << 63, 1 << 62, 1<<42 + 1} {
		synctest.Test(t, func(t *testing.T) {
			h := newFakeHub(t, model())
			h.siblings = func(names []string) any {
				return []map[string]any{{"rfilename": "config.json", "size": 5},
					{"rfilename": "model-00001-of-00002.safetensors", "size": size},
					{"rfilename": "model-00002-of-00002.safetensors", "size": size}}
			}
			o := h.options(t.TempDir())
			_, ofSize := Size(t.Context(), "org/name", o)
			_, ofPull := Pull(t.Context(), "org/name", o, nil)
			wantCode(t, ofSize, BadReply, "which no file has")
			wantCode(t, ofPull, BadReply, "which no file has")
		})
	}
}

// The disk may fill while a pull writes: by others, or by a hub that sends more than it said.
func TestReserveOfTheDiskIsKeptWhilePulling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		files[shard] = weights(3 * lookEvery)
		h := newFakeHub(t, files)
		o := h.options(t.TempDir())
		var looks, written atomic.Int64
		o.FreeSpace = func(string) (int64, error) {
			if looks.Add(1) > 2 {
				return diskReserve - 1, nil
			}
			return diskReserve + 4*lookEvery, nil
		}
		o.write = func(f *os.File, p []byte) (int, error) {
			written.Add(int64(len(p)))
			return f.Write(p)
		}
		_, err := Pull(t.Context(), "org/name", o, nil)
		wantCode(t, err, DiskFull, "stay for the system", "kept")
		if n := written.Load(); n > 2*lookEvery+2<<20 {
			t.Errorf("%d bytes were written past the reserve", n)
		}
	})
}
