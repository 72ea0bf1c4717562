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
}

// One file is one model. It has the names with the same layers beside it, and the parameters of the
// name that it was not made from. Each other name says which model to take.
func TestNamesOfOneFile(t *testing.T) {
	s := store{t, t.TempDir()}
	blob := s.blob("0a", "model")
	layers := func(more ...string) string {
		list := []string{`{"mediaType":"` + modelLayer + `","digest":"sha256:` +
			strings.Repeat("0a", 32) + `"}`}
		return `{"layers":[` + strings.Join(append(list, more...), ",") + `]}`
	}
	layer := func(kind, digits string) string {
		return `{"mediaType":"application/vnd.ollama.image.` + kind + `","digest":"sha256:` +
			strings.Repeat(digits, 32) + `"}`
	}
	params, template := layer("params", "0b"), layer("template", "0c")
	s.blob("0b", `{"temperature":0.6}`)
	s.blob("1b", `{"temperature":1.5}`)
	plain := layers(params, template, layer("license", "0d"))
	for name, text := range map[string]string{
		"base/latest": plain,
		"base/8b":     layers(template, params), // in another order, and without the license
		"a/latest": strings.Replace(layers(layer("params", "1b"), template, layer("system", "0e")),
			`"digest"`, `"from":"base:latest","digest"`, 1),
		"b/latest": layers(params, layer("template", "1c"), layer("messages", "0f")),
		"c/latest": layers(params, template, layer("adapter", "0f")),
		"d/latest": layers(params, template, layer("adapter", "f")), // no digest
	} {
		s.write(text, append([]string{manifestsFolder, usualHost, usualNamespace},
			strings.Split(name, "/")...)...)
	}
	const one = ", and one file is one model here; add base"
	const adapter = "it has an adapter, which Tandem does not read; take a model that has it merged"
	why := map[string]string{
		"a": "it is the file of base with other parameters and another system prompt" + one,
		"b": "it is the file of base with another template and other messages" + one,
		"c": adapter, "d": adapter, "base": "",
	}
	s.write(strings.ReplaceAll(plain, "0a", "2a"), manifestsFolder, usualHost, usualNamespace, "b",
		"other")
	why["b:other"] = ""
	list, err := Models(s.dir)
	if err != nil || len(list) != len(why) {
		t.Errorf("the store has %+v, %v", list, err)
	}
	for _, m := range list {
		want := []string{m.ID(), m.ID() + ":latest"}
		switch m.ID() {
		case "base":
			want = append(want, "base:8b")
		case "b:other":
			want = want[:1]
		}
		if m.Why != why[m.ID()] || !slices.Equal(m.Names, want) {
			t.Errorf("%s has the names %q: %s", m.ID(), m.Names, m.Why)
		}
	}
	for name, want := range map[string]string{
		"base": "base", "base:latest": "base", "base:8b": "base", "library/base:8b": "base",
		"registry.ollama.ai/library/base": "base", "b:other": "b:other",
		"a": "", "c": "", "none": "", "": "", "/": "", "base:": "", "x/y/library/base": "",
		"library/../library/base": "", "..": "", "hf.co/library/base": "", "base/8b": "",
	} {
		if m, ok := Named(s.dir, name); ok != (want != "") || ok && m.ID() != want {
			t.Errorf("%q names %s, %t", name, m.ID(), ok)
		}
	}
	m, ok := Of(blob)
	if p := m.Parameters(); !ok || m.ID() != "base" ||
		fmt.Sprintf("%s", p.Sampling["temperature"]) != "0.6" {
		t.Errorf("the file is of %s, %t, and recommends %v", m.ID(), ok, p)
	}
}
