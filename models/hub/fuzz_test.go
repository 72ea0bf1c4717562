package hub

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// inside reports whether a name stays in the folder that it is joined to.
func inside(name string) bool {
	const dir = "/a/b"
	joined := filepath.Join(dir, name)
	return strings.HasPrefix(joined, dir+"/") && !strings.ContainsAny(name, "\x00\\")
}

func FuzzParseInfo(f *testing.F) {
	f.Add([]byte(`{"sha": "` + commitA +
		`", "siblings": [{"rfilename": "config.json"}, {"rfilename": "a/b.json"}]}`))
	f.Add([]byte(`{"sha": "` + commitA + `", "siblings": [{"rfilename": "../config.json"}]}`))
	f.Add([]byte(`{"sha": 5, "siblings": {}}`))
	f.Add([]byte(`{"sha": "` + commitA +
		`", "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}, {"rfilename": "consolidated.safetensors"}]}`))
	f.Add([]byte(`{"sha": "` + commitA +
		`", "siblings": [{"rfilename": "config.json", "size": -1}]}`))
	f.Add([]byte(`{"sha": "` + commitA +
		`", "siblings": [{"rfilename": "config.json", "size": 4611686018427387904}, {"rfilename": "model.safetensors", "size": 4611686018427387904}]}`))
	f.Add([]byte(`{"sha": "` + commitA + // a.json is a file and a folder
		`", "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}, {"rfilename": "a.json"}, {"rfilename": "a.json/b.json"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := parseInfo("org/name", data)
		if err != nil {
			return
		}
		if !isCommit(in.commit) || !json.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		for name, size := range in.sizes {
			if size < 0 || size > maxFileBytes {
				t.Errorf("accepted %d bytes of %q", size, name)
			}
		}
		for _, name := range in.files {
			if !inside(name) {
				t.Errorf("accepted %q", name)
			}
		}
		files, err := in.choose("org/name", nil)
		if err != nil {
			return
		}
		for _, name := range files {
			if !wanted(name) || !slices.Contains(in.files, name) {
				t.Errorf("chose %q", name)
			}
		}
	})
}

func FuzzShards(f *testing.F) {
	f.Add([]byte(twoShards))
	f.Add([]byte(`{"weight_map": {"a": "../x.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": "sub/x.safetensors", "a": ".safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := shards(data)
		if err == nil && len(names) == 0 {
			t.Error("an index of nothing was accepted")
		}
		for _, name := range names {
			if !inside(name) || strings.Contains(name, "/") || !wanted(name) {
				t.Errorf("accepted %q", name)
			}
			set, ok := ParseShard(name)
			if !ok {
				continue
			}
			for _, other := range set.Missing(func(string) bool { return false }) {
				if again, ok := ParseShard(other); !ok || !wanted(other) || again.Count != set.Count {
					t.Fatalf("%q of %q", other, name)
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("org/name@main")
	f.Add("../x@../y")
	f.Add("a--b/c@refs/pr/1")
	f.Fuzz(func(t *testing.T, name string) {
		id, revision, err := Parse(name)
		if err != nil {
			return
		}
		r := repo{cache: "/a/b", id: id}
		for _, path := range []string{r.dir(), r.snapshot(commitA), r.blob("x")} {
			if !strings.HasPrefix(path, "/a/b/models--") {
				t.Errorf("%q leads to %s", name, path)
			}
		}
		if ref := r.ref(revision); !strings.HasPrefix(ref, r.dir()+"/refs/") {
			t.Errorf("%q leads to %s", name, ref)
		}
		// The folder's name belongs only to this model.
		if back := strings.Replace(strings.TrimPrefix(r.folder(), "models--"), "--", "/",
			1); back != id {
			t.Errorf("%q is found again as %q", id, back)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 5-9/10")
	f.Add("bytes */10")
	f.Add("bytes 1-/*")
	f.Add("bytes 9223372036854775807-9223372036854775807/9223372036854775807")
	f.Fuzz(func(t *testing.T, s string) {
		start, _, err := contentRange(s)
		if err == nil && start < 0 {
			t.Errorf("%q starts at %d", s, start)
		}
	})
}

// FuzzReply lets a hub say anything about a file of weights, and send anything for it. A pull ends,
// stays inside its folder, writes no more than was announced, and leaves no file that is not what
// was announced.
func FuzzReply(f *testing.F) {
	content := string(weights(1000))
	etag := etagOf("model.safetensors", []byte(content))
	f.Add(200, "1000", etag, "", "", content)
	f.Add(206, "1000", etag, "", "bytes 0-999/1000", content)
	f.Add(206, "1000", etag, "", "bytes 9223372036854775807-0/-1", "")
	f.Add(200, "4611686018427387904", etag, "", "", "")
	f.Add(200, "-1", etag, "", "", "")
	f.Add(302, "1000", etag, "file:///etc/passwd", "", "")
	f.Add(302, "1000", etag, "http://cdn.test/../../x", "", "")
	f.Add(200, "0", "../../../../evil", "", "", "x")
	f.Add(200, "1000", etag, "", "", content+"and more")
	f.Add(416, "1000", etag, "", "bytes */0", "")
	f.Add(416, "1000", etag, "", "bytes */1000", "")
	f.Add(206, "1000", etag, "", "bytes 0-499/1000", content[:500])
	f.Add(206, "10", etag, "", "bytes 5-9223372036854775807/10", "xxxxx")
	f.Add(302, "1000", etag, "http:///x", "", "")
	f.Add(302, "1000", etag, "http://cdn.test/blob/model.safetensors", "", "")
	f.Add(302, "1000", etag, "http://cdn.test/blob/model.safetensors", "|", "")
	f.Add(200, "0", etagOf("model.safetensors", nil), "", "", "")
	f.Add(200, "2", strings.Repeat("b", 40), "", "", "{}") // the hash of a git blob
	f.Fuzz(func(t *testing.T, status int, size, etag, location, span, body string) {
		if status < 200 || status > 599 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			h := newFakeHub(t, map[string][]byte{"config.json": []byte("{}"),
				"model.safetensors": nil})
			h.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "model.safetensors") {
					return r.Host != "hub.test" // nothing else is anywhere
				}
				for name, value := range map[string]string{"X-Linked-Size": size,
					"X-Linked-Etag": `"` + etag + `"`, "Location": location, "Content-Range": span} {
					if value != "" {
						w.Header().Set(name, value)
					}
				}
				w.WriteHeader(status)
				w.Write([]byte(body))
				return true
			}
			outer := t.TempDir()
			o := h.options(filepath.Join(outer, "a/b/c"))
			o.Logger = nil
			written := 0
			o.write = func(f *os.File, p []byte) (int, error) {
				written += len(p)
				return f.Write(p)
			}
			o.Check = func(files fs.FS, _ *GGUF) error {
				weights, err := files.Open("model.safetensors")
				if err == nil {
					_, _ = weights.(io.ReaderAt).ReadAt(make([]byte, 600), 200)
				}
				return nil
			}
			got, err := Pull(t.Context(), "org/name", o, nil)
			if err == nil {
				text, err := os.ReadFile(filepath.Join(got.Dir, "model.safetensors"))
				if sum := etagOf("model.safetensors", text); err != nil || sum != etag &&
					etagOf("x", text) != etag {
					t.Errorf("%q stands for what was announced as %q, %v", text, etag, err)
				}
			}
			if n, err := strconv.Atoi(size); err == nil && n >= 0 && written/(3*fileAttempts) > n+2 {
				t.Errorf("%d bytes were written of %d", written, n)
			}
			for _, name := range tree(t, outer) {
				name = strings.Replace(name, "/.locks/", "/", 1)
				if !strings.HasPrefix(name, "a/b/c/models--org--name/") {
					t.Errorf("%s lies outside the model's folder", name)
				}
			}
		})
	})
}
