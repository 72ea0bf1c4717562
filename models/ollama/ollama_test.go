package ollama

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A store for a test.
type store struct {
	t   *testing.T
	dir string
}

// write writes a file of the store, and returns its path.
func (s store) write(text string, parts ...string) string {
	s.t.Helper()
	path := filepath.Join(append([]string{s.dir}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// blob writes a blob, whose digest repeats two digits, and returns its path.
func (s store) blob(digits, text string) string {
	s.t.Helper()
	return s.write(text, blobsFolder, "sha256-"+strings.Repeat(digits, 32))
}

// manifest returns a manifest with a model and with parameters, each by two digits.
func manifest(model, params string) string {
	return fmt.Sprintf(`{"layers":[{"mediaType":%q,"digest":"sha256:%s"},`+
		`{"mediaType":%q,"digest":"sha256:%s"}]}`,
		modelLayer, strings.Repeat(model, 32), paramsLayer, strings.Repeat(params, 32))
}

// What a model's authors recommend is read from its parameters. Parameters that cannot be read, or
// that are none, recommend nothing.
func TestParametersOfAModel(t *testing.T) {
	long := strings.Repeat("x", maxStop+1)
	for _, c := range []struct{ params, sampling, stops string }{
		{`{"temperature":0.6,"top_k":20,"top_p":0.95,"min_p":0,"repeat_penalty":1.3,"num_ctx":4096,` +
			`"stop":["<|im_end|>","","User:","` + long + `"]}`,
			`{"min_p":0,"temperature":0.6,"top_k":20,"top_p":0.95}`, `["<|im_end|>" "User:"]`},
		{`{"temperature":-1,"top_p":"much","stop":"x"}`, `{"temperature":-1,"top_p":"much"}`, `[]`},
		{`{"stop":[` + strings.Repeat(`"a",`, maxStops) + `"b"]}`, `{}`,
			`[` + strings.Repeat(`"a" `, maxStops-1) + `"a"]`},
		{`[1]`, `null`, `[]`},
		{`{"temperature":0.6` + strings.Repeat(" ", maxFile) + `}`, `null`, `[]`},
		{`{"temperature":`, `null`, `[]`},
		{``, `null`, `[]`},
	} {
		s := store{t, t.TempDir()}
		blob := s.blob("0a", "model")
		s.blob("0b", c.params)
		s.write(manifest("0a", "0b"), manifestsFolder, usualHost, usualNamespace, "tiny", usualTag)
		m, ok := Of(blob)
		if !ok || m.ID() != "tiny" {
			t.Fatalf("the blob is %+v, %t", m, ok)
		}
		p := m.Parameters()
		sampling, _ := json.Marshal(p.Sampling)
		stops := fmt.Sprintf("%q", p.Stops)
		if string(sampling) != c.sampling || stops != c.stops {
			t.Errorf("%.200s recommends %s and %s, want %s and %s", c.params, sampling, stops,
				c.sampling, c.stops)
		}
	}
}

// A model without parameters, one whose parameters are gone, and a blob that no manifest names
// recommend nothing.
func TestModelsWithoutParameters(t *testing.T) {
	s := store{t, t.TempDir()}
	s.blob("0b", `{"temperature":0.6}`)
	bare, gone, none := s.blob("0a", "model"), s.blob("0c", "model"), s.blob("0d", "model")
	s.write(strings.Replace(manifest("0a", "0b"), paramsLayer, "text/plain", 1), manifestsFolder,
		usualHost, usualNamespace, "bare", "8b")
	s.write(manifest("0c", "ff"), manifestsFolder, "hf.co", "org", "gone", "8b")
	for path, id := range map[string]string{bare: "bare:8b", gone: "hf.co/org/gone:8b"} {
		m, ok := Of(path)
		if p := m.Parameters(); !ok || m.ID() != id || p.Sampling != nil || p.Stops != nil {
			t.Errorf("%s is %+v, %t, and recommends %+v", path, m, ok, p)
		}
	}
	for _, path := range []string{none, s.write("x", blobsFolder, "other.gguf"), "/a/b.gguf"} {
		if m, ok := Of(path); ok {
			t.Errorf("%s is %+v", path, m)
		}
	}
	s.write(manifest("0a", "0b"), manifestsFolder, usualHost, usualNamespace, "bare", usualTag)
	if m, _ := Of(bare); !slices.Equal(m.Names, []string{"bare", "bare:latest", "bare:8b"}) {
		t.Errorf("the names are %q", m.Names)
	}
	list, err := Models(s.dir)
	if err != nil || !slices.IsSortedFunc(list, func(a, b Model) int {
		return strings.Compare(a.Blob, b.Blob)
	}) || len(list) != 2 {
		t.Errorf("the store has %+v, %v", list, err)
	}
}
