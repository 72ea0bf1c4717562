package dialect

import (
	"slices"
	"strings"
)

// Detect returns the dialect of a model, found from the source of its chat template and from its
// vocabulary. If the model has several templates, template has them all. The result is never nil: a
// template without a known mark has the dialect plain.
func Detect(template string, vocabulary Vocabulary) *Dialect {
	d := &Dialect{name: "plain", vocabulary: vocabulary}
	has := func(texts ...string) bool {
		lacks := func(text string) bool { return !strings.Contains(template, text) }
		return !slices.ContainsFunc(texts, lacks)
	}
	token := func(text string) bool {
		_, _, ok := vocabulary(text)
		return ok
	}
	switch {
	case has("<|channel|>", "<|message|>"):
		d.name, d.calls, d.messages = "harmony", harmony{}, harmonySyntax
	case has(atemCalls, messageBody):
		d.name, d.calls, d.messages = "atem", atem{}, atemMessages
	case has("<|tool_call>", `<|"|>`):
		d.name, d.calls = "gemma4", gemma4
	case has("<start_function_call>", "<escape>"):
		d.name, d.calls = "functiongemma", functionGemma
	case has("<｜tool▁call▁begin｜>"):
		d.name, d.calls = "deepseek", deepSeek{fenced: has("```json")}
	case has("[TOOL_CALLS]"):
		d.name, d.calls = "mistral", mistral{named: token("[ARGS]"), id: has("[CALL_ID]")}
	case has("<tool_call>", "<function="):
		d.name, d.calls = "xml", xml{toolCall, xmlSyntax, "\n"}
	case has("<tool_call>", "<arg_key>"):
		d.name, d.calls = "glm", glm{joined: has(glmKey.close + glmValue.open)}
	case has(aprielCalls.open + "["):
		d.name, d.calls = "tool_call", tagged{call: aprielCalls, list: true}
	case has(nemotron.open):
		d.name, d.calls = "tool_call", tagged{call: nemotron, list: true}
	case has("<tool_call>"):
		d.name, d.calls = "tool_call", tagged{call: toolCall, line: "\n"}
	case has(miniFunction, miniParameter):
		d.name, d.calls = "xml", xml{tags{}, miniSyntax, ""}
	case has(xmlFunction):
		d.name, d.calls = "xml", xml{tags{}, functionarySyntax, ""}
	case has(phiCall.open), has("<|tool|>", "<|/tool|>"):
		closed := has(phiCall.close) || has("<|tool|>")
		d.name = "phi"
		d.calls = tagged{call: phiCall, list: !closed || !has(phiCall.open+"{"), unclosed: !closed}
	case has(lfmTools) && (has(lfmCall.open) || token(lfmCall.open)):
		d.name, d.calls = "lfm", lfm{}
	case has("func_name1("):
		d.name, d.calls, d.bare = "pythonic", llama{pythonic: true}, llamaBare
	case has("```tool_code"):
		d.name, d.calls, d.bare = "tool_code", llama{pythonic: true, fenced: true}, llamaBare
	case has(`"parameters": `, `{"name": `):
		d.name, d.calls, d.bare = "json", llama{}, llamaBare
	case has("<|im_start|>") && !has("tools"):
		d.name, d.calls, d.toolsInSystem = "tool_call", tagged{call: toolCall, line: "\n"}, true
	}
	switch {
	case d.messages != nil:
	case has("<|channel>thought"):
		d.thought = tags{"<|channel>thought", "<channel|>"}
	case has("[THINK]"), token("[THINK]") && d.name == "mistral":
		d.thought = tags{"[THINK]", "[/THINK]"}
	case has("</think>"), has("<think>"):
		d.thought = think
	case has("</thinking>"):
		d.thought = tags{"<thinking>", "</thinking>"}
	}
	d.thoughtMember = findThoughtMember(template)
	if has(smolTools) {
		d.functions = smolTools
	}
	// Gemma 4's templates print a text beside calls after their results, and end the turn there.
	// The first of them reads no results from separate messages.
	d.separateText = has("tool_responses")
	d.responses = d.separateText && !has("tool_call_id")
	return d
}
