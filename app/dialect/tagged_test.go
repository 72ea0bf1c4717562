package dialect

import "testing"

func TestTagged(t *testing.T) {
	d := Detect("<think></think><tool_call>", special())
	for _, c := range []struct{ name, prompt, text, want string }{
		{"text", "", "  Hello\n", "text \"  Hello\\n\"\n"},
		{"a call", "", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", "call f\narguments \"{\\\"a\\\": 1}\"\n"},
		{"a thought and calls", "", "<think>\nWell\n\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"arguments\": {\"b\": [\"}\", 2.5]}, \"name\": \"g\"}\n</tool_call>\n",
			"thought \"Well\"\ntext \"I look.\"\ncall f\narguments \"{}\"\ncall g\narguments \"{\\\"b\\\": [\\\"}\\\", 2.5]}\"\n"},
		{"an open thought", "x<think>\n", "\nWell</think>\n\nHi", "thought \"Well\"\ntext \"Hi\"\n"},
		{"no call", "", "use `<tool_call>` so: <tool_call>{x}", "text \"use `<tool_call>` so: <tool_call>{x}\"\n"},
		{"no arguments", "", `<tool_call>{"name": "f"}</tool_call>`, "call f\narguments \"{}\"\n"},
		{"a brace too few", "", `<tool_call>{"name": "f", "arguments": {"a": "b"}</tool_call>`, "call f\narguments \"{\\\"a\\\": \\\"b\\\"}\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Tools: []Tool{{Name: "f"}}, Calls: true, Prompt: c.prompt}
			if got := show(read(t, d, o, false, c.text)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}
