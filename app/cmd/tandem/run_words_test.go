package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
)

// The first word after run is the model if it names one. Alone it is the prompt, unless it is exactly an
// id.
func TestWordsAreModelAndPrompt(t *testing.T) {
	k := known{here: []string{"pocket", "org/Here-4bit"}, catalogue: []control.Suggested{{ID: "org/More-8B"}, {ID: "org/Here-4bit"}}}
	names := func(word string) bool { return k.has(strings.TrimSuffix(word, ":latest")) || word == "./folder" }
	for _, c := range []struct {
		words, model string
		prompt       []string
	}{
		{"", "", nil},
		{"pocket", "pocket", nil},
		{"org/More-8B", "org/More-8B", nil},
		{"Pocket", "", []string{"Pocket"}},
		{"pocket:latest", "", []string{"pocket:latest"}},
		{"./folder", "", []string{"./folder"}},
		{"more", "", []string{"more"}},
		{"-", "", []string{"-"}},
		{"pocket hi", "pocket", []string{"hi"}},
		{"pocket -", "pocket", []string{"-"}},
		{"pocket pocket", "pocket", []string{"pocket"}},
		{"pocket:latest hi", "pocket:latest", []string{"hi"}},
		{"./folder hi", "./folder", []string{"hi"}},
		{"org/More-8B hi", "org/More-8B", []string{"hi"}},
		{"more hi", "", []string{"more", "hi"}},
		{"pocket one two", "pocket", []string{"one", "two"}},
	} {
		w := splitWords(strings.Fields(c.words), k.has, names)
		if w.model != c.model || !slices.Equal(w.prompt, c.prompt) {
			t.Errorf("run %s: model %q, prompt %q, want %q and %q", c.words, w.model, w.prompt, c.model, c.prompt)
		}
	}
	for id, want := range map[string]bool{"org/More-8B": true, "org/Here-4bit": false, "pocket": false, "x": false} {
		if got := k.suggested(id) != nil; got != want {
			t.Errorf("%s is of the catalogue and not here: %t, want %t", id, got, want)
		}
	}
}

// A word that looks like the name of a model is told from one that does not.
func TestPromptLikeAName(t *testing.T) {
	k := known{here: []string{"pocket", "mlx-community/Qwen3-0.6B-4bit"},
		catalogue: []control.Suggested{{ID: "mlx-community/gpt-oss-20b-MXFP4-Q4"}, {ID: "mlx-community/Llama-3.2-3B-4bit"},
			{ID: "mlx-community/Qwen3.5-9B-4bit"}, {ID: "mlx-community/Qwen3-Coder-Next-4bit"}, {ID: "mlx-community/Qwen3-8B-4bit"}}}
	for prompt, want := range map[string]string{
		"qwen3": k.here[1], "Qwen3:0.6b": k.here[1], "qwen3-0.6b": k.here[1], "mlx-community/qwen3": k.here[1],
		"llama3.2": k.catalogue[1].ID, "gptoss": k.catalogue[0].ID, "gpt-oss:20b": k.catalogue[0].ID, "pocke": "pocket",
		"qwen3-coder": k.catalogue[3].ID, "qwen3.5": k.catalogue[2].ID, "qwen3.5:9b": k.catalogue[2].ID, "qwen3:8b": k.catalogue[4].ID,
		"qwen3:latest": k.here[1], "qwen3-8b": k.catalogue[4].ID, "llama3": k.catalogue[1].ID, "Gemma3:4b-it": "",
		"hello": "", "qwen3 is what?": "", "po": "", "": "", "?": "", "4bit": "", "日本": "",
	} {
		if got := k.near(prompt); got != want {
			t.Errorf("%q is near to %q, want %q", prompt, got, want)
		}
	}
}

// A prompt that may name a model at the hub is answered, with a line that downloads the model.
func TestPromptLikeAnIDOfTheHub(t *testing.T) {
	c := newConsole(t, newHome(t))
	for prompt, tells := range map[string]bool{"org/Other-1B": true, "1/2+3/4": false, "either/or?": false, "/bin": false} {
		c.must(t, "run", "--max-tokens", "1", prompt)
		if want := "to download a model of that name, write tandem pull " + prompt; strings.Contains(c.stderr, want) != tells {
			t.Errorf("run %s: %q, want a hint: %t", prompt, c.stderr, tells)
		}
	}
}

// Ollama's names of models before a prompt are told from a prompt without quotes.
func TestNameOfAModelThatIsNotHere(t *testing.T) {
	c := newConsole(t, newHome(t))
	for word, want := range map[string]string{"llama3.2": "write tandem run mlx-community/Llama-3.2", "org/Other-1B": "write tandem pull org/Other-1B",
		"Why": "put it in quotes: 'Why is it so?'"} {
		if code := c.tandem(t.Context(), "run", word, "is it so?"); code != 2 || !strings.Contains(c.stderr, want) {
			t.Errorf("run %s: exit %d, %q, want %q", word, code, c.stderr, want)
		}
	}
}

// The models in the examples of run are of the catalogue, so that run offers them.
func TestExamplesOfRunNameModelsOfTheCatalogue(t *testing.T) {
	c := newConsole(t, newHome(t))
	for line := range strings.Lines(run(newMain()).Example) {
		if words := strings.Fields(line); strings.Contains(words[len(words)-1], "/") {
			if code := c.tandem(t.Context(), words[1:]...); code != 2 || !strings.Contains(c.stderr, "tandem pull") {
				t.Errorf("%s: exit %d, %q", line, code, c.stderr)
			}
		}
	}
}

// A model of the catalogue that is not here is downloaded if the person says so, and never in a pipe.
func TestModelOfTheCatalogueIsOffered(t *testing.T) {
	const id = "mlx-community/Qwen3-1.7B-4bit"
	c := newConsole(t, newHome(t))
	hub := httptest.NewServer(http.NotFoundHandler())
	defer hub.Close()
	c.env["HF_ENDPOINT"] = hub.URL
	for _, args := range [][]string{{"run", id}, {"run", id, "hi"}} {
		code := c.tandem(t.Context(), args...)
		if want := "tandem run: " + id + " is not on this machine; `tandem pull " + id + "` downloads it\n"; code != 2 || c.stderr != want {
			t.Errorf("tandem %q in a pipe: exit %d, %q, want %q", args, code, c.stderr, want)
		}
	}
	c.terminal, c.typed = true, true
	for answer, want := range map[string]string{"n\n": "nothing was downloaded", "y\n": "there is no such model at"} {
		c.stdin = answer
		code := c.tandem(t.Context(), "run", id, "hi")
		if question := "tandem: " + id + " is not on this machine; download it, of unknown size? [y/N] "; code != 1 ||
			!strings.HasPrefix(c.stderr, question) || !strings.Contains(c.stderr, want) {
			t.Errorf("%q: exit %d, %q", answer, code, c.stderr)
		}
	}
}

// A temperature whose answers are noise is used, with a warning.
func TestTemperatureAboveTwoWarns(t *testing.T) {
	c := newConsole(t, newHome(t))
	for _, x := range []struct {
		temperature string
		warns       bool
	}{{"2", false}, {"2.1", true}, {"9", true}} {
		c.tandem(t.Context(), "run", "-", "--temperature", x.temperature) // the prompt is empty, so nothing runs
		if warns := strings.Contains(c.stderr, "mostly noise"); warns != x.warns {
			t.Errorf("--temperature %s: %q, want a warning: %t", x.temperature, c.stderr, x.warns)
		}
	}
}

// Only a pipe and a file with text are told of if a prompt is on the command line.
func TestStandardInputThatHasText(t *testing.T) {
	empty, text := t.TempDir()+"/empty", t.TempDir()+"/text"
	if os.WriteFile(empty, nil, 0o600) != nil || os.WriteFile(text, []byte("a"), 0o600) != nil {
		t.Fatal("no files")
	}
	for name, want := range map[string]bool{empty: false, text: true, os.DevNull: false} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := hasText(f); got != want {
			t.Errorf("%s: %t", name, got)
		}
		f.Close()
	}
	r, w, err := os.Pipe()
	if err != nil || !hasText(r) {
		t.Errorf("a pipe has no text: %v", err)
	}
	r.Close()
	w.Close()
}
