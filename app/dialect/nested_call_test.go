package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A writer writes calls as a family does, whose values end by a tag.
type writer struct {
	fixture, before     string // before the answer's calls
	open, close         string // around a call
	function, name, end string // around a tool's name, and after the parameters
	key, keyed, valued  string // around a parameter's name, and after its value
}

var writers = []writer{
	{"qwen3_coder", "", "<tool_call>\n", "\n</tool_call>\n", "<function=", ">\n", "</function>",
		"<parameter=", ">\n", "\n</parameter>\n"},
	{"qwen3_5", "hm\n</think>\n\n", "<tool_call>\n", "\n</tool_call>\n", "<function=", ">\n", "</function>",
		"<parameter=", ">\n", "\n</parameter>\n"},
	{"qwen3_coder", "", "<tool_call>", "</tool_call>", "<function=", ">", "</function>", "<parameter=", ">", "</parameter>"},
	{"qwen2_5", "", "<tool_call>\n", "\n</tool_call>\n", "<function=", ">\n", "</function>",
		"<parameter=", ">\n", "\n</parameter>\n"},
	{"functionary3_1", "", "", "", "<function=", ">", "</function>", "<parameter=", ">", "</parameter>"},
	{"glm4_5", "", "<tool_call>", "</tool_call>\n", "", "\n", "", "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"},
	{"glm4_7", "hm</think>", "<tool_call>", "</tool_call>", "", "", "", "<arg_key>", "</arg_key><arg_value>", "</arg_value>"},
	{"minicpm5", "", "", "\n", `<function name="`, `">`, "</function>", `<param name="`, `">`, "</param>"},
	{"muse_glimmer", " to=get_weather<|message|>", "<atem:function_calls>\n", "\n</atem:function_calls>", `<atem:invoke name="`, "\">\n",
		"</atem:invoke>", `<atem:parameter name="`, `">`, "</atem:parameter>\n"},
}

// call writes a call. members are the names and the values of its parameters.
func (w writer) call(name string, members ...string) string {
	return w.open + w.bare(name, members...) + w.close
}

// bare writes a call without the tags around it.
func (w writer) bare(name string, members ...string) string {
	text := w.function + name + w.name
	for ; len(members) > 0; members = members[2:] {
		text += w.key + members[0] + w.keyed + members[1] + w.valued
	}
	return text + w.end
}

// TestCallWithinAValueBelongsToIt: a whole call in a value is a part of it, wherever the answer is split or cut.
func TestCallWithinAValueBelongsToIt(t *testing.T) {
	fixtures := readFixtures(t)
	for _, w := range writers {
		i := slices.IndexFunc(fixtures, func(f fixture) bool { return f.file == "testdata/"+w.fixture+".txt" })
		ls := w.call("run", "command", "ls -l")
		for name, value := range map[string]string{
			"a call and text":      "So:\n" + ls + "That is it.",
			"two calls":            "a " + w.call("get_weather", "city", "b", "days", "2") + "b " + ls + "c",
			"calls in a row":       "a\n" + ls + ls + ls + ".",
			"its own tool":         w.call("get_weather", "days", "2", "note", "b", "city", "c") + "!",
			"without parameters":   "a " + w.call("now") + w.call("now") + "!",
			"nested twice":         "1 " + w.call("write", "path", "a", "content", "2 "+ls+"3", "mode", "4") + "5",
			"nested three times":   "1 " + w.call("a", "b", "2 "+w.call("c", "d", "3 "+ls+"4")+"5") + "6",
			"JSON in it":           w.call("a", "b", `{"c": ["d", "`+"\n"+`"]}`) + ".",
			"a tag in it":          "x " + w.call("a", "b", "c"+strings.TrimSpace(w.valued)+" d") + "y",
			"in a block of code":   "# Calls\n\n```xml\n" + ls + "\n```\nand\n```\n" + ls + "```",
			"indented":             "def f():\n    return '''" + strings.ReplaceAll(ls, "\n", "\n    ") + "'''",
			"after a mention":      "An opener, " + strings.TrimSpace(w.open+w.function) + ", begins it: " + ls + ".",
			"a mention":            "Write " + w.open + w.function + "NAME" + w.name + " and " + w.key + "KEY" + w.keyed + " before a value",
			"a mention of a call":  "It begins with " + w.open + w.function + "a" + w.name + w.key + "b" + w.keyed + " so",
			"a mention and a call": "It begins with " + w.open + w.function + "a" + w.name + w.key + "b" + w.keyed + " so:\n" + ls + "!",
			"a parameter":          "It is " + w.key + "KEY" + w.keyed + "VALUE" + w.valued + "each.",
			"JSON in its tags":     ".\n" + strings.Repeat("<tool_call>\n{\"name\": \"run\", \"arguments\": {\"a\": \"b\"}}\n</tool_call>\n", 2) + "!",
		} {
			if w.open == "" || !strings.HasPrefix(w.open, "<tool_call>") {
				value = strings.NewReplacer("<tool_call>", w.open, "</tool_call>", w.close).Replace(value)
			}
			t.Run(w.fixture+", "+name, func(t *testing.T) { w.check(t, fixtures[i], value) })
		}
	}
}

// check checks a value, alone and between other parameters, before and after other calls.
func (w writer) check(t *testing.T, f fixture, value string) {
	quoted := string(appendString(nil, value))
	one, last := `{"city":`+quoted+`}`, `{"city":"z"}`
	call, z := w.call("get_weather", "city", value), w.call("get_weather", "city", "z")
	for i, c := range []struct {
		text string
		want []string
	}{
		{call + z, []string{one, last}},
		{call, []string{one}},
		{z + call, []string{last, one}},
		{call + w.call("now") + z + call, []string{one, "{}", last, one}},
		{w.call("get_weather", "days", "2", "city", value, "note", "x"),
			[]string{`{"days":2,"city":` + quoted + `,"note":"x"}`}},
	} {
		d, text := f.dialect(), w.before+c.text
		parts := joined(d, f.options(), false, strings.Split(text, "")...)
		if i == 0 {
			parts = read(t, d, f.options(), false, text)
		}
		var got []string
		for _, part := range parts {
			switch part.Kind {
			case Arguments:
				got = append(got, part.Text)
			case Text:
				t.Errorf("%q has the text %q", text, part.Text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Fatalf("%q: got\n%s", text, show(parts))
		}
		for n := range len(text) {
			if i > 0 {
				break
			}
			for _, part := range joined(d, f.options(), true, text[:n]) {
				if part.Kind == Arguments && json.Valid([]byte(part.Text)) && !slices.Contains(c.want, part.Text) {
					t.Fatalf("cut: %q has the arguments %s", text[:n], part.Text)
				}
			}
		}
	}
}
