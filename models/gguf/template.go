package gguf

import (
	"embed"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed templates/*.jinja
var templateFiles embed.FS

// goTemplate matches what a template of Go's has, and no Jinja template.
var goTemplate = regexp.MustCompile(`\{\{-?\s*(?:\.[A-Z]|(?:if|with|range|else if)\s+[.$(a-z]|` +
	`(?:end|else)\s*-?\}\}|\$\w*\s*:?=|template\s+")`)

// isGoTemplate reports whether a chat template is written in Go's language, as Ollama's are. Such a
// template is never compiled as Jinja.
func isGoTemplate(text string) bool {
	return !strings.Contains(text, "{%") && goTemplate.MatchString(text)
}

// A templateForm is how a family writes a conversation, as a template of our own. It follows the form
// that the makers published, for texts alone. The form hermes has calls too. The template is made of
// the tokens.
type templateForm struct {
	name   string
	tokens []string
}

// templateForms lists the forms. The first counts whose tokens the tokenizer has. Files with the
// tokens of llama3_1 are of Llama 3.1 and later.
var templateForms = []templateForm{
	{"harmony", []string{"<|start|>", "<|channel|>", "<|message|>", "<|end|>"}},
	{"hermes", []string{"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"}},
	{"chatml", []string{"<|im_start|>", "<|im_end|>"}},
	{"llama3_1", []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"}},
	{"llama3", []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
	{"gemma4", []string{"<|turn>", "<turn|>"}},
	{"gemma", []string{"<start_of_turn>", "<end_of_turn>"}},
	{"granite", []string{"<|start_of_role|>", "<|end_of_role|>"}},
	{"phi", []string{"<|user|>", "<|assistant|>", "<|end|>"}},
	{"mistral7", []string{"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"}},
	{"mistral", []string{"[INST]", "[/INST]"}},
}

// ollamaBlob is how the files in Ollama's store are named. There a chat template may lie beside the
// model, in Go's language.
var ollamaBlob = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// template returns the chat template, empty if the model has none. For one in Go's language, and for
// a model of Ollama's without one, it is the family's own.
func (t *tokenizer) template() string {
	text := t.metadata.text("tokenizer.chat_template")
	if isGoTemplate(text) || text == "" && t.fromOllama {
		return t.familyTemplate()
	}
	return text
}

// familyTemplate returns the template of the form whose tokens the tokenizer has, empty for none.
func (t *tokenizer) familyTemplate() string {
	lacks := func(token string) bool { return !slices.Contains(t.tokens, token) }
	for _, f := range templateForms {
		if slices.ContainsFunc(f.tokens, lacks) {
			continue
		}
		text, _ := templateFiles.ReadFile(path.Join("templates", f.name+".jinja")) // embedded
		return strings.TrimSpace(string(text))
	}
	return ""
}
