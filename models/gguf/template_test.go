package gguf

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/engine/native"
)

// shownTemplate returns the chat template that a file of tokens and a template is shown with.
func shownTemplate(t *testing.T, chats bool, template string, tokens ...string) string {
	t.Helper()
	m := smallestWithout("tokenizer.")
	m.set("tokenizer.ggml.model", "gpt2")
	m.set("tokenizer.ggml.pre", "smollm")
	m.set("tokenizer.ggml.tokens", append([]string{"a", "b", "ab"}, tokens...))
	m.set("tokenizer.ggml.merges", []string{"a b"})
	if template != "" {
		m.set("tokenizer.chat_template", template)
	}
	d, err := open(t, m.file())
	if err != nil {
		t.Fatal(err)
	}
	d.Recommend(Recommended{Chats: chats})
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
		if got := shownTemplate(t, false, text, "<|im_start|>", "<|im_end|>"); got == "" ||
			strings.Contains(got, ".Prompt") || isGoTemplate(got) {
			t.Errorf("%q is shown as %q", text, got)
		}
		if got := shownTemplate(t, false, text); got != "" {
			t.Errorf("%q is shown as %q, though no template is known", text, got)
		}
	}
	for _, text := range []string{
		"{{ messages[0].content }}", "{{- bos_token }}{{ '.A' if x else y }}", "{{ range(3) }}",
		"{%- if tools %}{{ .Tools }}{% endif %}", "{{ x }} {{ end_of_turn }} {{ iffy }}",
	} {
		if got := shownTemplate(t, false, text, "<|im_start|>", "<|im_end|>"); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// In Ollama's store the template is beside the model. Elsewhere a model without one has no
// template.
func TestModelOfOllamasWithoutATemplate(t *testing.T) {
	tokens := []string{"<|im_start|>", "<|im_end|>"}
	if got := shownTemplate(t, false, "", tokens...); got != "" {
		t.Errorf("a model without a template has %q", got)
	}
	if got := shownTemplate(t, true, "", tokens...); !strings.Contains(got, "<|im_start|>") {
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
	for _, f := range familyTemplates {
		without[f.name] = true
	}
	for _, r := range recorded.Forms {
		delete(without, r.Form)
		template := namedTemplate(t, r.Form)
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

// TestQwen3WritesEarlierAnswersAsPublished compares earlier answers with those of the published
// template. Calls after a thought, with and without a text between, are among them.
func TestQwen3WritesEarlierAnswersAsPublished(t *testing.T) {
	source, err := os.ReadFile("../../build/fixtures/templates/qwen3.jinja")
	if err != nil {
		t.Fatal(err)
	}
	published, err := native.NewTemplate(string(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()
	form := namedTemplate(t, "qwen3")
	const call = `{"type":"function","function":{"name":"look","arguments":{"a":1}}}`
	for _, thought := range []string{"", `,"reasoning_content":"\nhm\n"`} {
		for _, text := range []string{"", "I look.", "\\nI look."} {
			for _, calls := range []string{"", call, call + "," + call} {
				answer := `{"role":"assistant","content":"` + text + `"` + thought
				if calls != "" {
					answer += `,"tool_calls":[` + calls + `]`
				}
				for _, after := range []string{"", `,{"role":"tool","content":"1"}`, `,{"role":"user","content":"y"}`} {
					vars := []byte(`{"messages":[{"role":"user","content":"x"},` + answer + `}` + after +
						`],"add_generation_prompt":true}`)
					want, err := published.Render(t.Context(), vars)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := form.Render(t.Context(), vars); err != nil || got != want {
						t.Errorf("%s renders\n%q, %v, want\n%q", vars, got, err, want)
					}
				}
			}
		}
	}
}

// unpublished are forms without a recorded template. TestOtherForms has their texts.
var unpublished = []string{"glm", "granite", "mistral", "mistral7"}

// namedTemplate returns the template of a tokenizer that has the tokens of a family.
func namedTemplate(t *testing.T, form string) *native.Template {
	t.Helper()
	i := slices.IndexFunc(familyTemplates, func(f template) bool { return f.name == form })
	if i < 0 {
		t.Fatalf("there is no template %s", form)
	}
	own := &tokenizer{tokens: familyTemplates[i].tokens,
		metadata: metadata{"tokenizer.chat_template": goTemplates[0]}}
	if list := familyTemplates[i].architectures; list != nil {
		own.metadata["general.architecture"] = list[0]
	}
	template, err := native.NewTemplate(own.template(false), nil)
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

// TestOtherForms renders the forms that no published template is recorded for. That of GLM is what
// the chat_template of zai-org/GLM-4.7-Flash renders, as github.com/ggml-org/llama.cpp has it,
// models/templates/GLM-4.7-Flash.jinja.
func TestOtherForms(t *testing.T) {
	const conversation = `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},` +
		`{"role":"assistant","content":"A"},{"role":"user","content":"V"}],` +
		`"add_generation_prompt":true,"bos_token":"<s>","eos_token":"</s>"}`
	const calls = `{"tools":[{"type":"function","function":{"name":"add"}}],` +
		`"messages":[{"role":"user","content":"U"},{"role":"assistant","reasoning_content":"Hm.\n",` +
		`"content":"I add.","tool_calls":[{"type":"function","function":{"name":"add",` +
		`"arguments":{"a":2,"b":[2,"zwei"]}}},{"type":"function","function":{"name":"now",` +
		`"arguments":{}}}]},{"role":"tool","content":"4"},{"role":"tool","content":"5"}],` +
		`"add_generation_prompt":true}`
	for _, c := range []struct{ form, values, want string }{
		{"granite", conversation, "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n" +
			"<|start_of_role|>user<|end_of_role|>U<|end_of_text|>\n<|start_of_role|>assistant" +
			"<|end_of_role|>A<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>V" +
			"<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"},
		{"mistral7", conversation,
			"<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]"},
		{"mistral", conversation, "<s>[INST]S\n\nU[/INST]A</s>[INST]V[/INST]"},
		{"glm", conversation,
			"[gMASK]<sop><|system|>S<|user|>U<|assistant|></think>A<|user|>V<|assistant|><think>"},
		{"glm", calls, "[gMASK]<sop><|system|>\n# Tools\n\nYou may call one or more functions to " +
			"assist with the user query.\n\nYou are provided with function signatures within " +
			"<tools></tools> XML tags:\n<tools>\n" +
			`{"type": "function", "function": {"name": "add"}}` + "\n</tools>\n\nFor each function " +
			"call, output the function name and arguments within the following XML format:\n" +
			"<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}" +
			"</arg_value><arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>..." +
			"</tool_call><|user|>U<|assistant|><think>Hm.</think>I add.<tool_call>add<arg_key>a" +
			"</arg_key><arg_value>2</arg_value><arg_key>b</arg_key><arg_value>" + `[2, "zwei"]` +
			"</arg_value></tool_call><tool_call>now</tool_call><|observation|><tool_response>4" +
			"</tool_response><tool_response>5</tool_response><|assistant|><think>"},
	} {
		got, err := namedTemplate(t, c.form).Render(t.Context(), []byte(c.values))
		if err != nil || got != c.want {
			t.Errorf("%s renders\n%q, %v, want\n%q", c.form, got, err, c.want)
		}
	}
}
