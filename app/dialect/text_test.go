package dialect

import (
	"testing"
)

// TestArgumentsMayBeTheTextOfATool: where a model writes a string in place of an object, it is the text of a
// tool that takes one. Of another tool it is not.
func TestArgumentsMayBeTheTextOfATool(t *testing.T) {
	tools := []Tool{
		{Name: "apply", Parameters: TextParameters("A patch.")},
		{Name: "query", Text: "start: /[a-z ]+/", Parameters: TextParameters("A query.")},
		{Name: "function", Parameters: []byte(`{"type":"object","properties":{"input":{"type":"string"},"mode":{}}}`)},
		{Name: "now"},
	}
	const patch = "call apply\narguments \"{\\\"input\\\":\\\"*** Begin\\\\n\\\\\\\"a\\\\\\\" {1}\\\"}\"\n"
	for _, c := range []struct{ template, text, want string }{
		{"<tool_call>", `<tool_call>{"name": "apply", "arguments": "*** Begin\n\"a\" {1}"}</tool_call>`, patch},
		{"<tool_call>", `<tool_call>{"arguments": "*** Begin\n\"a\" {1}", "id": 1, "name": "apply"}</tool_call>`, patch},
		{"<TOOLCALL>", `<TOOLCALL>[{"name": "now"}, {"name": "apply", "arguments": "*** Begin\n\"a\" {1}"}]</TOOLCALL>`,
			"call now\narguments \"{}\"\n" + patch},
		{"[TOOL_CALLS]", `[TOOL_CALLS][{"name": "apply", "arguments": "*** Begin\n\"a\" {1}"}]`, patch},
		{`{"name": "parameters": `, `{"name": "apply", "parameters": "*** Begin\n\"a\" {1}"}`, patch},
		{"<tool_call> <function=", `<tool_call>{"name": "apply", "arguments": "*** Begin\n\"a\" {1}"}</tool_call>`, patch},
		{"<tool_call>", `<tool_call>{"name": "query", "arguments": "select all"}</tool_call>`,
			"call query\narguments \"{\\\"input\\\":\\\"select all\\\"}\"\n"},
		{"<tool_call>", `<tool_call>{"name": "apply", "arguments": "{\"a\": 1}"}</tool_call>`,
			"call apply\narguments \"{\\\"input\\\":\\\"{\\\\\\\"a\\\\\\\": 1}\\\"}\"\n"},
		{"<tool_call>", `<tool_call>{"name": "apply", "arguments": "{\"input\": \"a\"}"}</tool_call>`,
			"call apply\narguments \"{\\\"input\\\": \\\"a\\\"}\"\n"},
		{"<tool_call>", `<tool_call>{"name": "apply", "arguments": ""}</tool_call>`, "call apply\narguments \"{\\\"input\\\":\\\"\\\"}\"\n"},
		{"<tool_call>", `<tool_call>{"name": "now", "arguments": ""}</tool_call>`, "call now\narguments \"{}\"\n"},
		{"<tool_call>", `<tool_call>{"name": "apply", "arguments": ["a"]}</tool_call>`,
			"text \"<tool_call>{\\\"name\\\": \\\"apply\\\", \\\"arguments\\\": [\\\"a\\\"]}</tool_call>\"\n"},
		{"<tool_call>", `<tool_call>{"name": "function", "arguments": "a"}</tool_call>`,
			"text \"<tool_call>{\\\"name\\\": \\\"function\\\", \\\"arguments\\\": \\\"a\\\"}</tool_call>\"\n"},
		{"<tool_call>", `<tool_call>{"arguments": "a", "name": "other"}</tool_call>`,
			"text \"<tool_call>{\\\"arguments\\\": \\\"a\\\", \\\"name\\\": \\\"other\\\"}</tool_call>\"\n"},
	} {
		if got := show(read(t, Detect(c.template, special()), Options{Tools: tools, Calls: true}, false, c.text)); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.text, got, c.want)
		}
	}
}
