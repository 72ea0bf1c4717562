package gguf

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tandem/engine/native"
)

// shownTemplate returns the chat template that a file of tokens and a template is shown with.
func shownTemplate(t *testing.T, file, template string, tokens ...string) string {
	t.Helper()
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", "gpt2")
	m.set("tokenizer.ggml.pre", "smollm")
	m.set("tokenizer.ggml.tokens", append([]string{"a", "b", "ab"}, tokens...))
	m.set("tokenizer.ggml.merges", []string{"a b"})
	if template != "" {
		m.set("tokenizer.chat_template", template)
	}
	d, err := Open(fstest.MapFS{file: {Data: m.file()}}, file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		ChatTemplate string `json:"chat_template"`
	}
	if err := json.Unmarshal(mustRead(t, d, tokenizerConfigFile), &config); err != nil {
		t.Fatal(err)
	}
	return config.ChatTemplate
}

// Templates of Ollama's library, in Go's language.
var goTemplates = []string{
	"{{ .Prompt }}",
	"{{- if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}",
	"{{- range $i, $_ := .Messages }}{{ $last := eq (len (slice $.Messages $i)) 1 }}x{{- end }}",
	"{{- if or .System .Tools }}<|start_header_id|>system{{- end }}",
	"[INST] {{ if .System }}{{ .System }} {{ end }}{{ .Prompt }} [/INST]",
}

func TestGoTemplatesAreNoJinja(t *testing.T) {
	for _, text := range goTemplates {
		if !isGoTemplate(text) {
			t.Errorf("%q is taken for Jinja", text)
		}
		if got := shownTemplate(t, "m.gguf", text, "<|im_start|>", "<|im_end|>"); got == "" ||
			strings.Contains(got, ".Prompt") || isGoTemplate(got) {
			t.Errorf("%q is shown as %q", text, got)
		}
		if got := shownTemplate(t, "m.gguf", text); got != "" {
			t.Errorf("%q is shown as %q, though no form is known", text, got)
		}
	}
	for _, text := range []string{
		"{{ messages[0].content }}", "{{- bos_token }}{{ '.A' if x else y }}", "{{ range(3) }}",
		"{%- if tools %}{{ .Tools }}{% endif %}", "{{ x }} {{ end_of_turn }} {{ iffy }}",
	} {
		if got := shownTemplate(t, "m.gguf", text, "<|im_start|>", "<|im_end|>"); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// In Ollama's store the template lies beside the model. Elsewhere a model without one has none.
func TestModelOfOllamasWithoutATemplate(t *testing.T) {
	tokens := []string{"<|im_start|>", "<|im_end|>"}
	if got := shownTemplate(t, "base.gguf", "", tokens...); got != "" {
		t.Errorf("a model without a template has %q", got)
	}
	blob := "sha256-" + strings.Repeat("0f", 32)
	if got := shownTemplate(t, blob, "", tokens...); !strings.Contains(got, "<|im_start|>") {
		t.Errorf("a model of Ollama's has %q", got)
	}
}

// TestFormsArePublished compares forms with what published templates render
// (build/fixtures/forms.py).
func TestFormsArePublished(t *testing.T) {
	var recorded struct {
		Now   time.Time `json:"now"`
		Forms []struct {
			Form  string `json:"form"`
			Model string `json:"model"`
			Chats []struct {
				Chat   string          `json:"chat"`
				Values json.RawMessage `json:"values"`
				Text   string          `json:"text"`
			} `json:"chats"`
		} `json:"forms"`
	}
	text, err := os.ReadFile("testdata/forms.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	without := map[string]bool{}
	for _, f := range templateForms {
		without[f.name] = true
	}
	for _, r := range recorded.Forms {
		delete(without, r.Form)
		template := formTemplate(t, r.Form)
		template.Now = func() time.Time { return recorded.Now }
		for _, chat := range r.Chats {
			got, err := template.Render(t.Context(), chat.Values)
			if err != nil || got != chat.Text {
				t.Errorf("%s of %s renders\n%q, %v, want\n%q", chat.Chat, r.Model, got, err, chat.Text)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(without)); !slices.Equal(got, unpublished) {
		t.Errorf("no published template is recorded for %v, want %v", got, unpublished)
	}
}

// unpublished are forms without a recorded template. TestOtherForms has their texts.
var unpublished = []string{"granite", "mistral", "mistral7"}

// formTemplate returns the template that a file is shown with, whose tokenizer has the tokens of a
// form.
func formTemplate(t *testing.T, form string) *native.Template {
	t.Helper()
	i := slices.IndexFunc(templateForms, func(f templateForm) bool { return f.name == form })
	if i < 0 {
		t.Fatalf("there is no form %s", form)
	}
	text := shownTemplate(t, "m.gguf", goTemplates[0], templateForms[i].tokens...)
	template, err := native.NewTemplate(text, nil)
	if err != nil {
		t.Fatal(form, err)
	}
	t.Cleanup(func() {
		if err := template.Close(); err != nil {
			t.Error(err)
		}
	})
	return template
}

// TestOtherForms renders the forms that no published template is recorded for.
func TestOtherForms(t *testing.T) {
	const conversation = `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},` +
		`{"role":"assistant","content":"A"},{"role":"user","content":"V"}],` +
		`"add_generation_prompt":true,"bos_token":"<s>","eos_token":"</s>"}`
	want := map[string]string{
		"granite": "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user" +
			"<|end_of_role|>U<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>A" +
			"<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>V<|end_of_text|>\n" +
			"<|start_of_role|>assistant<|end_of_role|>",
		"mistral7": "<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]",
		"mistral":  "<s>[INST]S\n\nU[/INST]A</s>[INST]V[/INST]",
	}
	for _, form := range unpublished {
		template := formTemplate(t, form)
		if got, err := template.Render(t.Context(), []byte(conversation)); err != nil ||
			got != want[form] {
			t.Errorf("%s renders\n%q, %v, want\n%q", form, got, err, want[form])
		}
	}
}
