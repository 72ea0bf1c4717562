package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is in LM Studio's folder is listed, and added by its id.
func TestFoundModelsAreListedAndAddedByID(t *testing.T) {
	c := newConsole(t, newHome(t))
	file, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	must(t, err)
	dir := filepath.Join(c.env["HOME"], ".lmstudio/models/maker/tiny-GGUF")
	must(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "tiny-Q8_0.gguf")
	must(t, os.WriteFile(path, file, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "tiny-Q4_0.gguf"), nil, 0o600))

	const id = "maker/tiny-GGUF:Q8_0"
	row := func(place string) *regexp.Regexp {
		return regexp.MustCompile(`(?m)^` + id + ` +llama +Q8_0, mixed 8-bit +[0-9.]+ kB +2048 +` + place +
			` +` + regexp.QuoteMeta(path) + `$`)
	}
	empty := newConsole(t, newHome(t))
	empty.must(t, "models", "found")
	if !strings.Contains(empty.stderr, "no models in the folders") {
		t.Errorf("of empty folders it says %q", empty.stderr)
	}
	if out := c.must(t, "models", "found"); !row("lmstudio").MatchString(out) {
		t.Errorf("found:\n%s", out)
	}
	if !strings.Contains(c.stderr, "maker/tiny-GGUF:Q4_0 at "+filepath.Join(dir, "tiny-Q4_0.gguf")+
		" cannot be loaded: is no GGUF file, though it is named as one; name another file, or download it again\n") {
		t.Errorf("of an empty file it says %q", c.stderr)
	}
	if out := c.must(t, "models", "found", "--json"); !strings.Contains(out, `{"id":"`+id+`",`) {
		t.Errorf("found:\n%s", out)
	}
	if out := c.must(t, "models", "add", id); out != id+"\n" {
		t.Errorf("added %q", out)
	}
	if out := c.must(t, "models", "found"); !row("lmstudio, registered").MatchString(out) {
		t.Errorf("found:\n%s", out)
	}
	// without the form of a family, whose tokens it lacks, a broken template leaves no chat
	broken := strings.NewReplacer("{% endfor %}", "{% endwhat%}", "<|im_end|>", "<|im_fin|>")
	path = filepath.Join(dir, "broken.gguf")
	must(t, os.WriteFile(path, []byte(broken.Replace(string(file))), 0o600))
	if c.must(t, "models", "add", path); !strings.Contains(c.stderr,
		"tandem: broken cannot chat: it has a chat template that cannot be read: line 1: ") ||
		!strings.Contains(c.stderr, "or use `tandem run --raw`\n") {
		t.Errorf("of a broken template it says %q", c.stderr)
	}
	if code := c.tandem(t.Context(), "models", "add", "maker/other"); code != 1 ||
		!strings.Contains(c.stderr, "there is no such folder or file") {
		t.Errorf("exit %d, %s", code, c.stderr)
	}
}

// An id that several models are found under is refused with their paths. A folder of LM Studio's has
// its publisher in the id.
func TestFoundModelsOfOneNameAreToldApart(t *testing.T) {
	c := newConsole(t, newHome(t))
	file, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	must(t, err)
	studio := filepath.Join(c.env["HOME"], ".lmstudio/models")
	var paths []string
	for _, folder := range []string{"one/own", "two/own"} {
		path := filepath.Join(studio, folder, "tiny.gguf")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, file, 0o600))
		paths = append(paths, path)
		dir := filepath.Join(studio, folder+"-mlx")
		must(t, os.CopyFS(dir, os.DirFS("../../../models/pocket")))
	}
	if code := c.tandem(t.Context(), "models", "add", "tiny"); code != 1 || !strings.Contains(c.stderr,
		"2 models were found as tiny, so add one by its path: "+strings.Join(paths, ", ")) {
		t.Errorf("exit %d, %s", code, c.stderr)
	}
	for _, id := range []string{"two/own-mlx", "one/own-mlx"} {
		if out := c.must(t, "models", "add", id); out != id+"\n" {
			t.Errorf("added %s as %q", id, out)
		}
		if out := c.must(t, "models", "list"); !strings.Contains(out, id+" ") {
			t.Errorf("%s is not listed:\n%s", id, out)
		}
	}
}

// A registered model has its folder and its file for names too, as run takes them. A folder with several
// is refused with their ids.
func TestRegisteredModelsAreNamedByTheirPlace(t *testing.T) {
	c := newConsole(t, newHome(t))
	file, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	must(t, err)
	folder := t.TempDir()
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(folder, name+".gguf")
		must(t, os.WriteFile(path, file, 0o600))
		c.must(t, "models", "add", path)
	}
	for _, args := range [][]string{{"remove"}, {"unload"}, {"drafter"}, {"drafter", "none"}} {
		words := append([]string{"models", args[0], folder}, args[1:]...)
		if code := c.tandem(t.Context(), words...); code != 1 || !strings.Contains(c.stderr,
			"2 installed models are at "+folder+"; name one by its id: one, two") {
			t.Errorf("%s: exit %d, %s", args, code, c.stderr)
		}
	}
	t.Chdir(folder)
	c.must(t, "models", "drafter", "./two.gguf", "none")
	must(t, os.Remove("two.gguf")) // a model whose file is gone can be removed by it
	c.must(t, "models", "remove", "--yes", "two.gguf")
	c.must(t, "models", "unload", folder)
	c.must(t, "models", "remove", "--yes", ".")
	if out := c.must(t, "models", "list"); strings.Contains(out, "one") || strings.Contains(out, "two") {
		t.Errorf("not removed:\n%s", out)
	}
	if code := c.tandem(t.Context(), "models", "remove", "--yes", folder); code != 1 ||
		!strings.Contains(c.stderr, "is not installed") {
		t.Errorf("exit %d, %s", code, c.stderr)
	}
}

// Each name that Ollama has for a model leads to it, and all of them make one model here.
func TestModelsOfOllamasAreAddedByEachName(t *testing.T) {
	c := newConsole(t, newHome(t))
	file, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	must(t, err)
	store := filepath.Join(c.env["HOME"], ".ollama/models")
	write := func(name string, data []byte) {
		path := filepath.Join(store, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, data, 0o600))
	}
	digest := strings.Repeat("0a", 32)
	write("blobs/sha256-"+digest, file)
	for _, name := range []string{"registry.ollama.ai/library/tiny/latest",
		"registry.ollama.ai/library/tiny/135m", "hf.co/some/repo/Q4_1"} {
		write("manifests/"+name, []byte(`{"layers":[{"mediaType":"application/vnd.ollama.image.model",`+
			`"digest":"sha256:`+digest+`"}]}`))
	}
	for _, name := range []string{"tiny:135m", "tiny:latest", "hf.co/some/repo:Q4_1", "tiny"} {
		if out := c.must(t, "models", "add", name); out != "tiny\n" {
			t.Errorf("added %s as %q", name, out)
		}
		want := "tandem: the id of " + filepath.Join(store, "blobs/sha256-"+digest) + " is tiny\n"
		if strings.Contains(c.stderr, want) != (name != "tiny") {
			t.Errorf("of %s it says %q", name, c.stderr)
		}
	}
	for _, name := range []string{"tiny", "tiny:135m", "tiny:latest", "hf.co/some/repo:Q4_1"} {
		if out := c.must(t, "models", "drafter", name); !strings.Contains(out, "model    tiny\n") {
			t.Errorf("%s has the drafter of %s", name, out)
		}
	}
	// A name with more than the file is another model, which one file cannot give.
	for name, more := range map[string]string{
		"mario":   `{"mediaType":"application/vnd.ollama.image.system","digest":"sha256:` + digest + `"}`,
		"adapted": `{"mediaType":"application/vnd.ollama.image.adapter","digest":"sha256:` + digest + `"}`,
	} {
		write("manifests/registry.ollama.ai/library/"+name+"/latest", []byte(
			`{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+digest+`"},`+
				more+`]}`))
	}
	for name, want := range map[string]string{"mario": "mario cannot be loaded: it is the file of tiny " +
		"with another system prompt, and one file is one model here; add tiny\n",
		"adapted:latest": "adapted:latest cannot be loaded: it has an adapter, which Tandem does not read; "} {
		if code := c.tandem(t.Context(), "models", "add", name); code != 1 ||
			!strings.Contains(c.stderr, want) {
			t.Errorf("adding %s: exit %d, %s", name, code, c.stderr)
		}
		if code := c.tandem(t.Context(), "run", "--raw", "--model", name, "a"); code != 1 ||
			!strings.Contains(c.stderr, "is not installed") {
			t.Errorf("running %s: exit %d, %s", name, code, c.stderr)
		}
	}
	if out := c.must(t, "models", "list"); strings.Count(out, "tiny") != 1 ||
		!regexp.MustCompile(`(?m)^tiny .* ollama +-$`).MatchString(out) {
		t.Errorf("the list is\n%s", out)
	}
	for _, name := range []string{"tiny:135m", "tiny:latest", "hf.co/some/repo:Q4_1"} {
		c.must(t, "run", "--raw", "--max-tokens", "1", "--model", name, "a")
	}
}

// A GGUF file of the working folder drafts by its name alone, whether a slash stands in it or not.
func TestGGUFFileOfTheWorkingFolderDrafts(t *testing.T) {
	file, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"big.gguf", "draft.gguf"} {
		must(t, os.WriteFile(name, file, 0o600))
	}
	c := newConsole(t, newHome(t))
	c.must(t, "models", "add", "big.gguf")
	folder, err := os.Getwd()
	must(t, err)
	if out := c.must(t, "models", "drafter", "big", "draft.gguf"); !strings.Contains(out,
		filepath.Join(folder, "draft.gguf")) {
		t.Errorf("models drafter prints %s", out)
	}
	if c.tandem(t.Context(), "models", "drafter", "big", "none.gguf"); !strings.Contains(c.stderr,
		filepath.Join(folder, "none.gguf")) || strings.Contains(c.stderr, "tandem pull none") {
		t.Errorf("a file that is not there: %s", c.stderr)
	}
}
