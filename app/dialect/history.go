package dialect

import (
	"bytes"
	"regexp"
	"slices"
)

// A History is the form in which a chat template expects earlier messages.
type History struct {
	// Thought is the member of a message that holds its thought.
	Thought string
	// Functions is a variable for the functions of the tools, in addition to the variable for the
	// tools, or "".
	Functions string

	// NullContent: the content of a message with only calls is null, not an empty string.
	NullContent bool
	// TextArguments: the arguments of a call are a string with JSON, not an object.
	TextArguments bool
	// AnyArguments: a string whose JSON is broken will do as well, and the template prints it.
	AnyArguments bool
	// SeparateText: text beside calls is a separate message, before the message with the calls.
	SeparateText bool
	// Written is the form of calls that are a part of the text, because the template has no other place
	// for them.
	Written WrittenCalls
	// ToolsInSystem: the system message lists the tools, and says how one is called. A template in
	// the form of ChatML without tools has no other place for them.
	ToolsInSystem bool
	// Responses: the results of calls are the member tool_responses of the message that calls.
	Responses bool
	// WithoutNull: the template fails on the type null in the parameters of a tool.
	WithoutNull bool
}

// Histories returns the forms to be tried with a template, the usual one first.
func (d *Dialect) Histories() []History {
	usual := History{Thought: d.thoughtMember, Functions: d.functions, SeparateText: d.separateText,
		ToolsInSystem: d.toolsInSystem, Responses: d.responses}
	list := []History{usual, usual, usual, usual}
	list[1].NullContent = true
	list[2].TextArguments = true
	list[3].NullContent, list[3].TextArguments = true, true
	if t, ok := d.calls.(tagged); ok {
		written := usual
		written.AnyArguments = true
		written.Written = WrittenCalls{Open: t.call.open, Close: t.call.close, Line: t.line, List: t.list}
		if t.unclosed {
			written.Written.Close = ""
		}
		list = append(list, written)
	}
	return list
}

// WrittenCalls is the form of calls in a text: JSON objects between tags. The zero value means
// that calls are not written into texts.
type WrittenCalls struct {
	Open, Close string // tags; Close may be empty
	Line        string // between a tag and the JSON
	List        bool   // the calls are one list
}

// Append appends calls to a text. Each call is a JSON object, as [CallObject] returns it.
func (w WrittenCalls) Append(text []byte, calls ...[]byte) []byte {
	if w.List && len(calls) > 0 {
		calls = [][]byte{slices.Concat([]byte("["), bytes.Join(calls, []byte(", ")), []byte("]"))}
	}
	for _, call := range calls {
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = append(append(text, w.Open...), w.Line...)
		text = append(append(append(text, call...), w.Line...), w.Close...)
	}
	return text
}

// CallObject returns the JSON of a call. arguments is a JSON object.
func CallObject(name string, arguments []byte) []byte {
	out := appendString([]byte(`{"name": `), name)
	return append(append(append(out, `, "arguments": `...), arguments...), '}')
}

// smolTools is the variable from which SmolLM3's template takes functions for calls in the form of
// the dialect tool_call. It has another for functions that Python code calls, which the API cannot
// represent.
//
// Sources: chat_template and README.md of HuggingFaceTB/SmolLM3-3B on the hub.
const smolTools = "xml_tools"

// thoughtField matches template code that reads the thought of a message.
var thoughtField = regexp.MustCompile(`[.'"](reasoning_content|reasoning|thinking)\b`)

// findThoughtMember returns the name of the message member from which the template reads the
// thought of an earlier answer. If the template reads several, the one that is most common among
// templates wins; if it reads none, the name is reasoning_content.
func findThoughtMember(template string) string {
	found := map[string]bool{}
	for _, m := range thoughtField.FindAllStringSubmatch(template, -1) {
		found[m[1]] = true
	}
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		if found[name] {
			return name
		}
	}
	return "reasoning_content"
}
