package gguf

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

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

// Each family's own template renders what its makers' renders.
func TestFamilyTemplates(t *testing.T) {
	const conversation = `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},` +
		`{"role":"assistant","content":"A"},{"role":"user","content":"V"}],` +
		`"add_generation_prompt":true,"bos_token":"<s>","eos_token":"</s>"}`
	want := map[string]string{
		"harmony": "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n" +
			"Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, " +
			"final. Channel must be included for every message.<|end|><|start|>developer<|message|>" +
			"# Instructions\n\nS<|end|><|start|>user<|message|>U<|end|><|start|>assistant<|channel|>" +
			"final<|message|>A<|end|><|start|>user<|message|>V<|end|><|start|>assistant",
		"hermes": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>" +
			"assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
		"chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>" +
			"assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
		"llama3": "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user" +
			"<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>" +
			"<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant" +
			"<|end_header_id|>\n\n",
		"gemma4": "<s><|turn>system\nS<turn|>\n<|turn>user\nU<turn|>\n<|turn>model\nA<turn|>\n" +
			"<|turn>user\nV<turn|>\n<|turn>model\n",
		"gemma": "<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n" +
			"<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n",
		"granite": "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user" +
			"<|end_of_role|>U<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>A" +
			"<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>V<|end_of_text|>\n" +
			"<|start_of_role|>assistant<|end_of_role|>",
		"phi": "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n" +
			"<|assistant|>\n",
		"mistral7": "<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]",
		"mistral":  "<s>[INST]S\n\nU[/INST]A</s>[INST]V[/INST]",
	}
	for _, f := range templateForms {
		text := shownTemplate(t, "m.gguf", goTemplates[0], f.tokens...)
		template, err := native.NewTemplate(text, nil)
		if err != nil {
			t.Fatal(f.name, err)
		}
		got, err := template.Render(t.Context(), []byte(conversation))
		if err != nil || got != want[f.name] {
			t.Errorf("%s renders\n%q, %v, want\n%q", f.name, got, err, want[f.name])
		}
		if f.name == "hermes" {
			calls := strings.TrimSuffix(conversation, "}") + `,"tools":[{"type":"function",` +
				`"function":{"name":"f"}}]}`
			if got, err := template.Render(t.Context(), []byte(calls)); err != nil ||
				!strings.Contains(got, "S\n\n# Tools") || !strings.Contains(got, `"name": "f"`) {
				t.Errorf("with tools it renders %q, %v", got, err)
			}
		}
		if err := template.Close(); err != nil {
			t.Error(err)
		}
	}
}
