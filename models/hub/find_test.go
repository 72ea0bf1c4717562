package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// lay writes files into a folder; "-> target" as content makes a link.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = errors.Join(err, os.Symlink(target, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(content), 0o666))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const twoShards = `{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}`

func TestMissingFilesAreListed(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"one file", map[string]string{"config.json": "{}", "model.safetensors": "w"}, nil},
		{"any name", map[string]string{"config.json": "{}", "weights.safetensors": "w"}, nil},
		{"two shards", map[string]string{"config.json": "{}", indexName: twoShards, "model-00001-of-00002.safetensors": "w", "model-00002-of-00002.safetensors": "w"}, nil},
		{"two shards by ./NAME", map[string]string{"config.json": "{}", indexName: strings.ReplaceAll(twoShards, `"model-`, `"./model-`), "model-00001-of-00002.safetensors": "w", "model-00002-of-00002.safetensors": "w"}, nil},
		{"an index that Python wrote", map[string]string{"config.json": "{}", indexName: `{"metadata": {"x": NaN}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}`, "model-00001-of-00001.safetensors": "w"}, nil},
		{"an index left over beside a single file", map[string]string{"config.json": "{}", indexName: twoShards, "model.safetensors": "w"}, nil},
		{"nothing", nil, []string{"config.json", "model.safetensors"}},
		{"no weights", map[string]string{"config.json": "{}", "tokenizer.json": "{}"}, []string{"model.safetensors"}},
		{"pickled weights are none", map[string]string{"config.json": "{}", "pytorch_model.bin": "w"}, []string{"model.safetensors"}},
		{"no config", map[string]string{"model.safetensors": "w"}, []string{"config.json"}},
		{"a shard of the index", map[string]string{"config.json": "{}", indexName: twoShards, "model-00001-of-00002.safetensors": "w"}, []string{"model-00002-of-00002.safetensors"}},
		{"no index yet, but a shard's name tells", map[string]string{"config.json": "{}", "model-00002-of-00003.safetensors": "w"},
			[]string{"model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"}},
		{"a name that is almost a shard's", map[string]string{"config.json": "{}", "model-00003-of-00002.safetensors": "w"}, nil},
		{"a broken link", map[string]string{"config.json": "{}", "model.safetensors": "w", "tokenizer.json": "-> ../nowhere"}, []string{"tokenizer.json"}},
		{"broken links all over", map[string]string{"config.json": "-> x", "model.safetensors": "-> y"}, []string{"config.json", "model.safetensors"}},
		{"a GGUF file", map[string]string{"n-Q4_K_M.gguf": "w"}, nil},
		{"a GGUF file beside its maker's config", map[string]string{"config.json": "{}", "n-Q4_K_M.gguf": "w"}, nil},
		{"a GGUF file beside a broken link", map[string]string{"config.json": "{}", "n.gguf": "w", "model.safetensors": "-> x"}, []string{"model.safetensors"}},
		{"a GGUF file beside an index", map[string]string{"config.json": "{}", "n.gguf": "w", indexName: twoShards},
			[]string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}},
		{"a set of GGUF files", map[string]string{"config.json": "{}", "n-00002-of-00003.gguf": "w"}, []string{"n-00001-of-00003.gguf", "n-00003-of-00003.gguf"}},
		{"a whole GGUF file beside a set", map[string]string{"n-Q4_K_M-00001-of-00002.gguf": "w", "n-Q8_0.gguf": "w"}, nil},
		{"a folder in the place of a file", map[string]string{"config.json": "{}", "model.safetensors/x": "w"}, []string{"model.safetensors"}},
	}
	for _, test := range tests {
		dir := t.TempDir()
		lay(t, dir, test.files)
		got, err := missingFiles(dir, fileChoice{})
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: missing %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	for name, index := range map[string]string{
		"another folder": `{"weight_map": {"a": "../x/model.safetensors"}}`,
		"no object":      `[]`,
		"cut off":        twoShards[:40],
		"no files":       `{"weight_map": {}}`,
		"a pickle":       `{"weight_map": {"a": "model.bin"}}`,
	} {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"config.json": "{}", "model.safetensors": "w",
			indexName: index})
		_, err := missingFiles(dir, fileChoice{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != Damaged ||
			!strings.Contains(e.Message, indexName) {
			t.Errorf("an index with %s gives %v", name, err)
		}
	}
	if _, err := missingFiles(filepath.Join(t.TempDir(), "none"), fileChoice{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder gives %v", err)
	}
}

// TestHostileShardsAreBounded expects that the files on disk bound the work, however many shards a
// name or an index claims.
func TestHostileShardsAreBounded(t *testing.T) {
	many := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, `, "%d": "x-%d.safetensors"`, i, i)
		}
		return `{"weight_map": {` + s.String()[2:] + `}}`
	}
	if names, err := shards([]byte(many(MaxShards))); err != nil || len(names) != MaxShards {
		t.Errorf("%d shards, %v", len(names), err)
	}
	if _, err := shards([]byte(many(MaxShards + 1))); err == nil {
		t.Error("more shards than a model may have were accepted")
	}
	for _, names := range [][]string{{"model-00001-of-04097"}, {"model-00001-of-99999"},
		{"a-00001-of-03000", "b-00001-of-03000"}} {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"config.json": "{}"})
		for _, name := range names {
			lay(t, dir, map[string]string{name + ".safetensors": "w"})
		}
		_, err := missingFiles(dir, fileChoice{})
		wantCode(t, err, Damaged, "4096 files")
	}
	// Each shard names its whole set. The set must not be listed again for each shard.
	dir := t.TempDir()
	lay(t, dir, map[string]string{"config.json": "{}"})
	const n = 1000
	for i := range n {
		lay(t, dir, map[string]string{fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n+1): ""})
	}
	allocs := testing.AllocsPerRun(1, func() {
		if missing, err := missingFiles(dir, fileChoice{}); err != nil ||
			!slices.Equal(missing, []string{"model-01001-of-01001.safetensors"}) {
			t.Errorf("missing %q, %v", missing, err)
		}
	})
	if allocs > 50*n {
		t.Errorf("%.0f allocations for %d shards", allocs, n)
	}
}

// inCache writes a snapshot, with its blobs, as the layout has it.
func inCache(t *testing.T, cache, id, commit string, files map[string]string) {
	t.Helper()
	r := repo{cache: cache, id: id}
	for name, content := range files {
		etag := etagOf(name, []byte(content))
		lay(t, r.dir(), map[string]string{
			"blobs/" + etag: content,
			"snapshots/" + commit + "/" + name: "-> " +
				strings.Repeat("../", 2+strings.Count(name, "/")) + "blobs/" + etag,
		})
	}
}

func TestResolveFindsTheSnapshot(t *testing.T) {
	cache := t.TempDir()
	whole := map[string]string{"config.json": `{"model_type": "llama"}`,
		"model.safetensors": "weights", "sub/x.jinja": "x"}
	half := map[string]string{"config.json": `{}`, "tokenizer.json": "{}"}
	inCache(t, cache, "org/whole", commitA, whole)
	lay(t, cache, map[string]string{"models--org--whole/refs/main": commitA + "\n"})
	inCache(t, cache, "org/half", commitA, half)
	lay(t, cache, map[string]string{"models--org--half/refs/main": commitA})
	inCache(t, cache, "gpt2", commitA, whole) // no owner
	lay(t, cache, map[string]string{"models--gpt2/refs/main": commitA})

	// main is half downloaded, an earlier snapshot is whole.
	inCache(t, cache, "org/update", commitA, whole)
	inCache(t, cache, "org/update", commitB, half)
	lay(t, cache, map[string]string{"models--org--update/refs/main": commitB,
		"models--org--update/refs/v1": commitA})
	// Fetched by its commit, so that there is no ref.
	inCache(t, cache, "org/noref", commitB, whole)
	// Python's store beside the repositories: the blob is a link itself.
	inCache(t, cache, "org/shared", commitA,
		map[string]string{"config.json": `{"model_type": "qwen3"}`})
	lay(t, cache, map[string]string{
		"blobs/ab/abcd": "weights", "models--org--shared/blobs/eeee": "-> ../../blobs/ab/abcd",
		"models--org--shared/snapshots/" + commitA + "/model.safetensors": "-> ../../blobs/eeee",
		"models--org--shared/refs/main":                                   commitA,
	})
	// Only parts so far, and things that are not models.
	lay(t, cache, map[string]string{
		"models--org--parts/blobs/abc.incomplete": "x", "datasets--org--data/refs/main": commitA,
		"models--": "x", "version.txt": "1",
		"models--org--bad/refs/main": "../../../etc", "models--org--bad/snapshots/notes.txt": "x",
		"models--..--x/refs/main": commitA,
	})

	snapshot := func(id, commit string) string { return repo{cache, id}.snapshot(commit) }
	for name, want := range map[string]string{
		"org/whole":            snapshot("org/whole", commitA),
		"org/whole@main":       snapshot("org/whole", commitA),
		"org/whole@" + commitA: snapshot("org/whole", commitA),
		"gpt2":                 snapshot("gpt2", commitA),
		"org/update":           snapshot("org/update", commitA),
		"org/update@v1":        snapshot("org/update", commitA),
		"org/noref":            snapshot("org/noref", commitB),
		"org/noref@" + commitB: snapshot("org/noref", commitB),
		"org/shared":           snapshot("org/shared", commitA),
	} {
		if got, err := Resolve(cache, name); err != nil || got != want {
			t.Errorf("%s resolves to %s, %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]struct {
		code  Code
		words []string
	}{
		"org/half": {Incomplete, []string{"model.safetensors is missing", "org/half: ", "download it again"}},
		"org/update@" + commitB: {Incomplete,
			[]string{"model.safetensors is missing", "org/update@" + commitB + ": ", "download it again"}},
		"org/parts":            {Incomplete, []string{"half downloaded", "org/parts: ", "download it again"}},
		"org/none":             {NotFound, []string{"org/none: ", "download it first"}},
		"org/whole@v2":         {NotFound, []string{"org/whole@v2: ", "download it first"}},
		"org/whole@" + commitB: {NotFound, nil},
		"org/bad":              {NotFound, nil},
		"../x":                 {Invalid, nil},
	} {
		_, err := Resolve(cache, name)
		wantCode(t, err, want.code, want.words...)
	}
	_, err := Resolve(filepath.Join(cache, "none"), "org/whole")
	wantCode(t, err, NotFound)
	_, err = Resolve(filepath.Join(cache, "version.txt"), "org/whole")
	wantCode(t, err, Disk)
}

// TestOfflinePullSaysWhatIsMissing expects a message that survives odd file names and does not
// advise a pull.
func TestOfflinePullSaysWhatIsMissing(t *testing.T) {
	cache := t.TempDir()
	inCache(t, cache, "org/half", commitA, map[string]string{"config.json": "{}",
		"model.safetensors": "weights", "a: b.json": "-> nowhere"})
	lay(t, cache, map[string]string{"models--org--parts/blobs/abc.incomplete": "x"})
	for name, what := range map[string]string{
		"org/half":  "the model is only half downloaded, a: b.json is missing in the cache ",
		"org/parts": "the model is only half downloaded in the cache ",
		"org/none":  "the model is not in the cache ",
	} {
		_, err := Pull(t.Context(), name, Options{CacheDir: cache, Offline: true}, nil)
		want := name + ": " + what + cache +
			", and HF_HUB_OFFLINE forbids downloading it: unset HF_HUB_OFFLINE and pull again"
		if wantCode(t, err, Offline); err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// TestResolveTakesTheNewestWithoutARef resolves a model with several whole snapshots.
func TestResolveTakesTheNewestWithoutARef(t *testing.T) {
	cache := t.TempDir()
	whole := map[string]string{"config.json": `{}`, "model.safetensors": "weights"}
	r := repo{cache, "org/name"}
	for i, commit := range []string{commitB, commitA} {
		inCache(t, cache, "org/name", commit,
			map[string]string{"config.json": whole["config.json"] + strings.Repeat(" ", i),
				"model.safetensors": strings.Repeat("w", i)})
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(r.snapshot(commit), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if dir, err := Resolve(cache, "org/name"); err != nil || dir != r.snapshot(commitA) {
		t.Errorf("resolved to %s, %v", dir, err)
	}
}

func TestParseSplitsNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"org/name":                      {"org/name", "main"},
		"gpt2":                          {"gpt2", "main"},
		"mlx-community/Qwen3-0.6B-4bit": {"mlx-community/Qwen3-0.6B-4bit", "main"},
		"org/na.me_1@v1.0":              {"org/na.me_1", "v1.0"},
		"org/name@refs/pr/1":            {"org/name", "refs/pr/1"},
		"org/name@" + commitA:           {"org/name", commitA},
	} {
		id, revision, err := Parse(name)
		if err != nil || id != want[0] || revision != want[1] {
			t.Errorf("%q is %q at %q, %v", name, id, revision, err)
		}
	}
	for _, name := range []string{"", "/", "org/", "/name", "a/b/c", "..", "../x", "org/..",
		"org/.name", "org/name.", "-x/y", "org--x/name", "org/na me",
		"org/name@", "org/name@../x", "org/name@/x", "org/name@a//b", "org/name@a b", "org/name@.",
		"org/näme", "org/name\n", "https://huggingface.co/org/name",
		strings.Repeat("a", 97), "org/name@" + strings.Repeat("a", 257), `org\name`} {
		_, _, err := Parse(name)
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != Invalid {
			t.Errorf("%q gives %v", name, err)
		}
	}
}

func TestFromPageNamesTheModel(t *testing.T) {
	const endpoint = "http://mirror.test:8080/hub"
	for address, want := range map[string]string{
		"https://huggingface.co/org/name":                             "org/name",
		"https://huggingface.co/org/name/":                            "org/name",
		"http://www.huggingface.co/org/name?library=mlx#top":          "org/name",
		"huggingface.co/org/name":                                     "org/name",
		"https://hf.co/org/name/tree/main":                            "org/name",
		"https://huggingface.co/org/name/tree/v1.0":                   "org/name@v1.0",
		"https://huggingface.co/org/name/tree/refs%2Fpr%2F1":          "org/name@refs/pr/1",
		"https://huggingface.co/org/name/blob/" + commitA + "/a.json": "org/name@" + commitA,
		"https://huggingface.co/org/name/discussions/3":               "org/name",
		endpoint + "/org/name":                                        "org/name",
		"org/name":                                                    "org/name",
		"org/name@v1":                                                 "org/name@v1",
		"https://huggingface.co/datasets/org/name":                    "https://huggingface.co/datasets/org/name",
		"https://huggingface.co/org":                                  "https://huggingface.co/org",
		"https://example.org/org/name":                                "https://example.org/org/name",
		"":                                                            "",
	} {
		if got := FromPage(address, endpoint); got != want {
			t.Errorf("%q is the page of %q, want %q", address, got, want)
		}
	}
}

func TestParseDirSplitsSnapshots(t *testing.T) {
	for _, id := range []string{"org/name", "gpt2"} {
		dir := repo{"/a/b", id}.snapshot(commitA)
		for _, dir := range []string{dir, dir + "/"} {
			if cache, got, commit, err := ParseDir(dir); cache != "/a/b" || got != id ||
				commit != commitA || err != nil {
				t.Errorf("%s is %s of %s in %s, %v", dir, commit, got, cache, err)
			}
		}
	}
	for _, dir := range []string{"", "/", "/a/b", "/a/models--org--name/snapshots/main",
		"/a/models--org--name/snapshot/" + commitA,
		"/a/datasets--org--name/snapshots/" + commitA, "/a/models--/snapshots/" + commitA,
		"/a/models--..--x/snapshots/" + commitA,
		"/a/models--org--name--x/snapshots/" + commitA, "/a/models--org--name@v1/snapshots/" +
			commitA, commitA} {
		_, _, _, err := ParseDir(dir)
		wantCode(t, err, Invalid)
	}
}

// The name of a model at the hub is what `tandem pull` takes.
func TestNamesAtTheHub(t *testing.T) {
	snapshot := "/cache/models--org--tiny/snapshots/" + commitA
	for path, want := range map[string]string{
		snapshot:                             "org/tiny",
		snapshot + "/tiny-Q4_K_M.gguf":       "org/tiny:Q4_K_M",
		snapshot + "/q8_0/tiny-q8_0.gguf":    "org/tiny:Q8_0",
		snapshot + "/tiny.gguf":              "org/tiny",
		"/elsewhere/models/tiny-Q4_K_M.gguf": "",
		"/elsewhere/models/tiny":             "",
	} {
		if got := NameOf(path); got != want {
			t.Errorf("%s is %s at the hub, not %s", path, got, want)
		}
	}
}

func TestListFindsModelFoldersOnly(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"models--org--b", "models--org--a", "models--plain",
		"datasets--org--c", ".locks", "models--", "models--a--b--c", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(dir)
	if want := []string{"org/a", "org/b", "plain"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := List(filepath.Join(dir, "nowhere")); got != nil || err != nil {
		t.Errorf("no cache: %v, %v", got, err)
	}
}
