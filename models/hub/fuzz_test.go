package hub

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := parseInfo("org/name", data)
		if err != nil {
			return
		}
		if !isCommit(in.commit) || !json.Valid(data) {
			t.Fatalf("accepted %q", data)
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
			if set, ok := shardSetOf(name); ok &&
				(!wanted(set.name(set.n)) || len(set.name(set.n)) != len(name)) {
				t.Errorf("%q of %q", set.name(set.n), name)
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
		// The folder's name stands for this model and no other.
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
	f.Fuzz(func(t *testing.T, s string) {
		start, _, err := contentRange(s)
		if err == nil && start < 0 {
			t.Errorf("%q starts at %d", s, start)
		}
	})
}
