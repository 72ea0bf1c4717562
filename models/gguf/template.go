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

// goTemplate matches what a Go template has, and a Jinja template has not.
var goTemplate = regexp.MustCompile(`\{\{-?\s*(?:\.[A-Z]|(?:if|with|range|else if)\s+[.$(a-z]|` +
	`(?:end|else)\s*-?\}\}|\$\w*\s*:?=|template\s+")`)

// isGoTemplate reports whether a chat template is written in Go's language, as Ollama's are. Such a
// template is never compiled as Jinja.
func isGoTemplate(text string) bool {
	return !strings.Contains(text, "{%") && goTemplate.MatchString(text)
}

// A template is how a family writes a conversation, as a template of our own. It follows the form
// that the makers published, for texts alone. Forms of a family whose tokens name calls have calls
// too. The template is made of the tokens.
type template struct {
	name          string
	tokens        []string
	architectures []string // nil for any
}

// hermesTokens are the tokens of Qwen's models from 2.5 on. They differ in how they write calls.
var hermesTokens = []string{"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"}

// familyTemplates lists the forms. The first one whose tokens the tokenizer has is taken. Files with
// the tokens of llama3_1 are of Llama 3.1 and later.
var familyTemplates = []template{
	{name: "harmony", tokens: []string{"<|start|>", "<|channel|>", "<|message|>", "<|end|>"}},
	{name: "qwen3_5", tokens: hermesTokens, architectures: []string{"qwen35", "qwen35moe"}},
	{name: "nemotron_3", tokens: []string{"<|im_start|>", "<|im_end|>"},
		architectures: []string{"nemotron_h_moe"}},
	{name: "qwen3", tokens: append([]string{"<think>", "</think>"}, hermesTokens...)},
	{name: "hermes", tokens: hermesTokens},
	{name: "chatml", tokens: []string{"<|im_start|>", "<|im_end|>"}},
	{name: "llama3_1",
		tokens: []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"}},
	{name: "llama3", tokens: []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
	{name: "gemma4", tokens: []string{"<|turn>", "<turn|>"}},
	{name: "gemma", tokens: []string{"<start_of_turn>", "<end_of_turn>"}},
	{name: "glm", tokens: []string{"[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>"}},
	{name: "granite", tokens: []string{"<|start_of_role|>", "<|end_of_role|>"}},
	{name: "phi", tokens: []string{"<|user|>", "<|assistant|>", "<|end|>"}},
	{name: "mistral7", tokens: []string{"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"}},
	{name: "mistral", tokens: []string{"[INST]", "[/INST]"}},
}

// template returns the chat template, or "". For one in Go's language it is the family's own, and
// also for a file without one if [Recommended] says so.
func (t *tokenizer) template(chats bool) string {
	text := t.metadata.string("tokenizer.chat_template")
	if isGoTemplate(text) || text == "" && chats {
		return t.familyTemplate()
	}
	return text
}

// familyTemplate returns the template of the form whose tokens the tokenizer has, or "".
func (t *tokenizer) familyTemplate() string {
	lacks := func(token string) bool { return !slices.Contains(t.tokens, token) }
	architecture := t.metadata.string("general.architecture")
	for _, f := range familyTemplates {
		if slices.ContainsFunc(f.tokens, lacks) ||
			f.architectures != nil && !slices.Contains(f.architectures, architecture) {
			continue
		}
		text, _ := templateFiles.ReadFile(path.Join("templates", f.name+".jinja")) // embedded
		return strings.TrimSpace(string(text))
	}
	return ""
}
