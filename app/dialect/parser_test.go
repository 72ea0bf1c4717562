package dialect

import (
	"slices"
	"strings"
	"testing"
)

// A parserCase is a text that the dialect of a fixture reads.
type parserCase struct {
	name, fixture, text string
	cut                 bool
	want                string // lines of show
}

// TestParserReadsWhatModelsWrite: the texts are answers as models write them, many of them broken
// or cut.
func TestParserReadsWhatModelsWrite(t *testing.T) {
	fixtures := map[string]fixture{}
	for _, f := range readFixtures(t) {
		fixtures[strings.TrimSuffix(strings.TrimPrefix(f.file, "testdata/"), ".txt")] = f
	}
	for _, c := range slices.Concat(parserCases, slipCases) {
		t.Run(c.fixture+", "+c.name, func(t *testing.T) {
			f, ok := fixtures[c.fixture]
			if !ok {
				t.Fatal("there is no such fixture")
			}
			got := show(read(t, f.dialect(), f.options(), c.cut, c.text))
			if want := strings.TrimLeft(c.want, "\n"); got != want {
				t.Errorf("%q: got\n%swant\n%s", c.text, got, want)
			}
		})
	}
}

// A call may have another name of its tool, also twice.
func TestCallByAnotherNameOfATool(t *testing.T) {
	for _, f := range readFixtures(t) {
		if f.file != "testdata/qwen3_coder.txt" {
			continue
		}
		o := f.options()
		o.Tools = []Tool{{Name: "home__ls", Also: []string{"ls"}}}
		for _, name := range []string{"ls", "home__ls"} {
			tag := "<function=" + name + ">\n"
			for _, tags := range []string{tag, tag + tag} {
				text := "<tool_call>\n" + tags + "</function>\n</tool_call>"
				if got := show(read(t, f.dialect(), o, false, text)); got != "call home__ls\narguments \"{}\"\n" {
					t.Errorf("%q: got\n%s", text, got)
				}
			}
		}
		return
	}
	t.Error("there is no such fixture")
}

var parserCases = []parserCase{
	// Text, white space and thoughts.
	{"text", "qwen3", "  Hello\n", false, `text "  Hello\n"` + "\n"},
	{"nothing", "qwen3", "", false, ""},
	{"only white space", "qwen3", " \n", false, `text " \n"` + "\n"},
	{"a thought within", "qwen3", "A <think> tag</think>", false, `text "A <think> tag</think>"` + "\n"},
	{"an unopened thought", "qwen3", "\n</think>\n\nHi", false, `text "Hi"` + "\n"},
	{"an unended thought", "qwen3", "<think>\nWell\n", true, `thought "Well\n"` + "\n"},
	{"a thought's own lines", "qwen3", "<think>\n\na\n\nb</think>\n</think>", false, `
thought "a\n\nb"
text "</think>"
`},
	{"an empty thought", "qwen3", "<think>\n\n</think>\n\nHi", false, `text "Hi"` + "\n"},
	{"thoughts between calls", "qwen3",
		"<think>a</think><tool_call>{\"name\":\"now\"}</tool_call>\n<think>b</think>\n\nc", false, `
thought "a"
call now
arguments "{}"
thought "b"
text "c"
`},
	{"a thought that goes on", "qwen3_5", "a <think> b</think>\n\nc", false, `
thought "a <think> b"
text "c"
`},
	{"text between and after calls", "qwen3",
		"a\n\n<tool_call>{\"name\":\"now\"}</tool_call>\nb\n<tool_call>{\"name\":\"now\"}</tool_call>\n",
		false, `
text "a"
call now
arguments "{}"
text "\nb"
call now
arguments "{}"
`},
	{"text only after a call", "qwen3", "<tool_call>{\"name\":\"now\"}</tool_call>\n\nb\n", false, `
call now
arguments "{}"
text "b\n"
`},
	{"much white space", "qwen2_5", strings.Repeat(" ", 300) +
		"<tool_call>{\"name\":\"now\"}</tool_call>", false,
		`text "` + strings.Repeat(" ", 44) + "\"\ncall now\narguments \"{}\"\n"},

	// JSON between tags.
	{"any order and more members", "qwen2_5",
		`<tool_call>{"arguments": {"a": ["}", 2.50]}, "id": 7, "name": "x"}</tool_call>`, false, `
call x
arguments "{\"a\": [\"}\", 2.50]}"
`},
	{"arguments in a string", "qwen2_5",
		`<tool_call>{"name": "x", "arguments": "{\"a\": 1}"}</tool_call>`, false, `
call x
arguments "{\"a\": 1}"
`},
	{"arguments that are null", "qwen2_5", `<tool_call>{"name": "x", "arguments": null}</tool_call>`, false, "call x\narguments \"{}\"\n"},
	{"a list for arguments", "qwen2_5", `<tool_call>{"name": "x", "arguments": [1]}</tool_call>`, false, `text "<tool_call>{\"name\": \"x\", \"arguments\": [1]}</tool_call>"` + "\n"},
	{"a line's end in a string", "qwen2_5",
		"<tool_call>{\"name\": \"x\", \"arguments\": {\"a\": \"b\n\tc\x01\"}}</tool_call>", false, `
call x
arguments "{\"a\": \"b\\n\\tc\\u0001\"}"
`},
	{"no closing tag", "qwen2_5", `<tool_call>{"name": "x", "arguments": {}}`, false, "call x\narguments \"{}\"\n"},
	{"much white space before a closing tag", "qwen2_5", `<tool_call>{"name": "x"}` +
		strings.Repeat(" ", 300) + "</tool_call>", false,
		"call x\narguments \"{}\"\ntext \"" + strings.Repeat(" ", 44) + "</tool_call>\"\n"},
	{"half a closing tag", "qwen2_5", "<tool_call>{\"name\": \"x\", \"arguments\": {}}\n</tool_", true, "call x\narguments \"{}\"\n"},
	{"one brace too few", "qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": "b"}</tool_call>`, false, "call x\narguments \"{\\\"a\\\": \\\"b\\\"}\"\n"},
	{"one brace too few at the end", "qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": "b"}`, false, "call x\narguments \"{\\\"a\\\": \\\"b\\\"}\"\n"},
	{"two braces too few", "qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": "b"</tool_call>`,
		false, `text "<tool_call>{\"name\": \"x\", \"arguments\": {\"a\": \"b\"</tool_call>"` + "\n"},
	{"cut in the arguments", "qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": "b`, true, "call x\narguments \"{\\\"a\\\": \\\"b\"\n"},
	{"cut in the name", "qwen2_5", `a <tool_call>{"name": "x`, true, `text "a"` + "\n"},
	{"no JSON in the arguments", "qwen2_5",
		`<tool_call>{"name": "x", "arguments": {"a": oops}}</tool_call>`, false, `
text "<tool_call>{\"name\": \"x\", \"arguments\": {\"a\": oops}}</tool_call>"
`},
	{"a tag in a block", "qwen2_5", "```xml\n<tool_call>\n  ...\n</tool_call>\n``` and `<tool_call>`", false, `text "` + "```xml\\n<tool_call>\\n  ...\\n</tool_call>\\n``` and `<tool_call>`" + "\"\n"},
	{"a tag before a call", "qwen2_5", `<tool_call> <tool_call>{"name": "now"}</tool_call>`, false, "call now\narguments \"{}\"\n"},
	{"a call after a broken name", "qwen2_5", `<tool_call>{"name": <tool_call>{"name": "now"}</tool_call>`, false, "text \"<tool_call>{\\\"name\\\":\"\ncall now\narguments \"{}\"\n"},
	{"no name", "qwen2_5", `<tool_call>{"arguments": {}}</tool_call>`, false, `text "<tool_call>{\"arguments\": {}}</tool_call>"` + "\n"},
	{"two names", "qwen2_5", `<tool_call>{"name": "x", "name": "y"}</tool_call>`, false, `text "<tool_call>{\"name\": \"x\", \"name\": \"y\"}</tool_call>"` + "\n"},

	{"members after the arguments", "qwen2_5", `<tool_call>{"name": "x", "arguments": {}, "id": 7, oops}</tool_call>`, false, "call x\narguments \"{}\"\ntext \", \\\"id\\\": 7, oops}</tool_call>\"\n"},
	{"members without an end", "qwen2_5", `<tool_call>{"name": "x", "arguments": {}, "id": 7`, true, "call x\narguments \"{}\"\n"},
	{"half a tag that was meant", "qwen2_5", `<tool_call>{"name": "x", "arguments": {}} <`, false, "call x\narguments \"{}\"\ntext \"<\"\n"},

	// XML.
	{"strings and others", "qwen3_coder",
		"<tool_call>\n<function=get_weather>\n<parameter=city>\n2\n</parameter>\n<parameter=days>\nmany\n</parameter>\n<parameter=note>\nnull\n</parameter>\n<parameter=at>\n{\"x\": 1}\n</parameter>\n<parameter=new>\n[1]\n</parameter>\n</function>\n</tool_call>",
		false, `
call get_weather
arguments "{\"city\":\"2\",\"days\":\"many\",\"note\":null,\"at\":{\"x\": 1},\"new\":[1]}"
`},
	{"lines of a value", "qwen3_coder",
		"<tool_call><function=get_weather><parameter=city>\n\n a\n\n</parameter><parameter=note>nullify</parameter></function></tool_call>",
		false, `
call get_weather
arguments "{\"city\":\"\\n a\\n\",\"note\":\"nullify\"}"
`},
	{"tags in a value", "qwen3_coder",
		"<tool_call>\n<function=get_weather>\n<parameter=city>\na</parameter>b\n</parameter>\n\n c</tool_call>\n</parameter>\n</function>\n</tool_call>",
		false, `
call get_weather
arguments "{\"city\":\"a</parameter>b\\n</parameter>\\n\\n c</tool_call>\"}"
`},
	{"no closing tags", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\na\n</parameter>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"cut after a value", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\na\n</parameter>", true, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"\"\n"},
	{"cut in a value", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\na\n</par", true, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\\n</par\"\n"},
	{"cut in a number", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=days>\n1", true, "call get_weather\narguments \"{\\\"days\\\":\"\n"},
	{"no function's end", "qwen3_coder", "<tool_call>\n<function=now>\n</tool_call>", false, "call now\narguments \"{}\"\n"},
	{"no function", "qwen3_coder", "<tool_call>\n<fun>", false, `text "<tool_call>\n<fun>"` + "\n"},
	{"text in a function", "qwen3_coder", "<tool_call>\n<function=now>\nhm</function>", false, `text "<tool_call>\n<function=now>\nhm</function>"` + "\n"},

	// No opener.
	{"no opener", "qwen3_coder", "I'll look.\n\n<function=get_weather>\n<parameter=city>\nls\n</parameter>\n</function>\n</tool_call>", false, "text \"I'll look.\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"ls\\\"}\"\n"},
	{"no opener and no closing tag", "qwen3_coder", "<function=now>\n</function>\nHm", false, "call now\narguments \"{}\"\ntext \"Hm\"\n"},
	{"two in a block", "qwen3_coder", "<tool_call>\n<function=now>\n</function>\n<function=get_weather>\n<parameter=days>\n1\n</parameter>\n</function><function=now></function>\n</tool_call>!", false, "call now\narguments \"{}\"\ncall get_weather\narguments \"{\\\"days\\\":1}\"\ncall now\narguments \"{}\"\ntext \"!\"\n"},
	{"two in a block", "gemma4", "<|tool_call>call:now{}call:get_weather{days:1}<tool_call|>!", false, "call now\narguments \"{}\"\ncall get_weather\narguments \"{\\\"days\\\":1}\"\ntext \"!\"\n"},
	{"no opener", "gemma4", "So:\ncall:get_weather{city:<|\"|>a<|\"|>}<tool_call|>", false, "text \"So:\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"no opener, another name", "qwen3_coder", "a\n<function=ls>\n</function>\n</tool_call>", false, `text "a\n<function=ls>\n</function>\n</tool_call>"` + "\n"},
	{"no opener, no end", "qwen3_coder", "a\n<function=now>\nis the tag", false, `text "a\n<function=now>\nis the tag"` + "\n"},
	{"no opener, no function's end", "qwen3_coder", "<function=get_weather>\n<parameter=city>\na\n</parameter>\n", false, `text "<function=get_weather>\n<parameter=city>\na\n</parameter>\n"` + "\n"},
	{"no opener, within a line", "qwen3_coder", "Write <function=now>\n</function>.", false, `text "Write <function=now>\n</function>."` + "\n"},
	{"no opener, in quotes", "qwen3_coder", "Write\n`<function=now></function>`\n> <function=now></function>", false, "text \"Write\\n`<function=now></function>`\\n> <function=now></function>\"\n"},
	{"no opener, in a block of code", "qwen3_coder", "So:\n```xml\n<function=now>\n</function>\n```\n~~~\n<function=now></function>\n~~~\n<function=now></function>", false, "text \"So:\\n```xml\\n<function=now>\\n</function>\\n```\\n~~~\\n<function=now></function>\\n~~~\"\ncall now\narguments \"{}\"\n"},
	{"no opener, cut", "qwen3_coder", "a\n<function=get_weather>\n<parameter=city>\nb", true, `text "a\n<function=get_weather>\n<parameter=city>\nb"` + "\n"},
	{"no opener, cut in its name", "gemma4", "a\ncall:no", true, `text "a\ncall:no"` + "\n"},
	{"no opener, words", "gemma4", "call:now\ncall:later{}\ncall: now{}\ncalling", false, `text "call:now\ncall:later{}\ncall: now{}\ncalling"` + "\n"},

	// Calls within thoughts.
	{"a call in a thought", "qwen3_5", "I need it.\n<tool_call>\n<function=now>\n</function>\n</tool_call>\n", false, "thought \"I need it.\"\ncall now\narguments \"{}\"\n"},
	{"two calls in a thought", "qwen3_5", "I need it.\n<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n<parameter=days>\n1\n</parameter>\n</function>\n</tool_call>", false, "thought \"I need it.\"\ncall now\narguments \"{}\"\ncall get_weather\narguments \"{\\\"days\\\":1}\"\n"},
	{"a call in a thought, and text", "qwen3_5", "<tool_call>\n<function=now>\n</function>\n</tool_call>\nso", false, "call now\narguments \"{}\"\ntext \"so\"\n"},
	{"a call in a thought without opener", "qwen3_5", "hm\n<function=now>\n</function>\n</tool_call>", false, "thought \"hm\"\ncall now\narguments \"{}\"\n"},
	{"a call in a thought of JSON", "qwen3", "<think>\nhm <tool_call>{\"name\": \"now\"}</tool_call>", false, "thought \"hm \"\ncall now\narguments \"{}\"\n"},
	{"a call in a thought that ends", "qwen3_5", "I write\n<tool_call>\n<function=now>\n</function>\n</tool_call>\nthen.\n</think>\n\nso", false, `
thought "I write\n<tool_call>\n<function=now>\n</function>\n</tool_call>\nthen."
text "so"
`},
	{"a call in a thought, cut", "qwen3_5", "I need it.\n<tool_call>\n<function=now>\n</function>\n</tool_call>", true, `thought "I need it.\n<tool_call>\n<function=now>\n</function>\n</tool_call>"` + "\n"},
	{"a call in a thought without end", "qwen3_5", "I need it.\n<tool_call>\n<function=get_weather>\n<parameter=city>\na", false, `thought "I need it.\n<tool_call>\n<function=get_weather>\n<parameter=city>\na"` + "\n"},
	{"another call in a thought", "qwen3_5", "I need it.\n<tool_call>\n<function=ls>\n</function>\n</tool_call>", false, `thought "I need it.\n<tool_call>\n<function=ls>\n</function>\n</tool_call>"` + "\n"},
	{"a tag in a thought", "qwen3_5", "The <tool_call> tag, <think> and <tool_call>\n<fun", false, `thought "The <tool_call> tag, <think> and <tool_call>\n<fun"` + "\n"},

	// Missing and doubled tags.
	{"no opening value tag", "glm4_7", "hm</think><tool_call>get_weather<arg_key>city</arg_key>ls -l</arg_value></tool_call>", false, "thought \"hm\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"ls -l\\\"}\"\n"},
	{"no opening value tag, lines", "glm4_5", "<tool_call>get_weather\n<arg_key>city</arg_key>\nls\n</arg_value>\n<arg_key>days</arg_key>2</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\\n\\\",\\\"days\\\":2}\"\n"},
	{"a key's end twice", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key></arg_key><arg_value>a</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"a key's tag twice", "glm4_5", "<tool_call>get_weather<arg_key><arg_key>city</arg_key><arg_value>a</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"no key's end", "glm4_5", "<tool_call>get_weather<arg_key>city<arg_value>a</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"a value's tags twice", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key><arg_value><arg_value>a</arg_value></arg_value></tool_call></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"no value's end", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>a</tool_call>\n<tool_call>now</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\ncall now\narguments \"{}\"\n"},
	{"no opening value tag, another name", "glm4_5", "<tool_call>ls<arg_key>city</arg_key>a</arg_value></tool_call>", false, `text "<tool_call>ls<arg_key>city</arg_key>a</arg_value></tool_call>"` + "\n"},
	{"a tag in a key", "glm4_5", "<tool_call>now<arg_key>a<b</arg_key><arg_value>a</arg_value></tool_call>", false, `text "<tool_call>now<arg_key>a<b</arg_key><arg_value>a</arg_value></tool_call>"` + "\n"},
	{"no value at all", "glm4_5", "<tool_call>now<arg_key>a</arg_key></tool_call>", false, `text "<tool_call>now<arg_key>a</arg_key></tool_call>"` + "\n"},
	{"no parameter's end", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nls\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\"}\"\n"},
	{"no parameter's end in two calls", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=days>\n1\n</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n<parameter=city>\nb\n</tool_call>\n", false, "call get_weather\narguments \"{\\\"days\\\":1}\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"b\\\"}\"\n"},
	{"a parameter's end twice", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nls\n</parameter>\n</parameter>\n</function>\n</tool_call>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\"}\"\n"},
	{"no parameter's end, another name", "qwen3_coder", "<tool_call>\n<function=ls>\n<parameter=city>\nls\n</function>\n</tool_call>", false, `text "<tool_call>\n<function=ls>\n<parameter=city>\nls\n</function>\n</tool_call>"` + "\n"},
	{"tags of a call in a value", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\n</function>\n</tool_call>\nis the end</parameter></parameter>.\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"</function>\\\\n</tool_call>\\\\nis the end</parameter></parameter>.\\\"}\"\n"},
	{"names in quotes", "qwen3_coder", "<tool_call>\n<function=\"get_weather\">\n<parameter='city'>\nls\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\"}\"\n"},
	{"another name in quotes", "qwen3_coder", "<tool_call>\n<function=\"ls\">\n</function>\n</tool_call>", false, `text "<tool_call>\n<function=\"ls\">\n</function>\n</tool_call>"` + "\n"},
	{"no parameter's end before another", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nls\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"no parameter's end twice", "qwen3_5", "hm\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=days>\n2\n<parameter=note>\nnull\n<parameter='city'>\na\nb\n</function>\n</tool_call>", false, "thought \"hm\"\ncall get_weather\narguments \"{\\\"days\\\":2,\\\"note\\\":null,\\\"city\\\":\\\"a\\\\nb\\\"}\"\n"},
	{"no parameter's end, in a line", "qwen3_coder", "<tool_call><function=get_weather><parameter=city>ls<parameter=days>2</parameter></function></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"another parameter within a line of a value", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nSet <parameter=days> first\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"Set <parameter=days> first\\\"}\"\n"},
	{"no such parameter", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\na\n<parameter=mode>\n1\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\\n<parameter=mode>\\\\n1\\\"}\"\n"},
	{"a parameter that has been read", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=days>\n2\n</parameter>\n<parameter=city>\na\n<parameter=days>\n<parameter=city>\n</parameter>\n</function>\n</tool_call>", false, "call get_weather\narguments \"{\\\"days\\\":2,\\\"city\\\":\\\"a\\\\n<parameter=days>\\\\n<parameter=city>\\\"}\"\n"},
	{"no parameter's end before another, cut", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nls\n<parameter=days>\n2", true, "text \"<tool_call>\\n<function=get_weather>\\n<parameter=city>\\nls\\n<parameter=days>\\n2\"\n"},
	{"no value's end before another", "glm4_5", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>ls\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"no value's end before another", "glm4_7", "hm</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>ls<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>", false, "thought \"hm\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"no key's opening tag", "glm4_5", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>ls</arg_value>\ndays</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"no key's opening tag in a line", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>ls</arg_value>days</arg_key>2</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"a key's tag in a value", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>a <arg_key>days</arg_key> b</arg_value>days b<arg_key>x</arg_key><arg_value>c</arg_value></tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a <arg_key>days</arg_key> b</arg_value>days b<arg_key>x</arg_key><arg_value>c\\\"}\"\n"},
	{"no tags around a value", "glm4_5", "<tool_call>get_weather<arg_key>city</arg_key>a<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>", false, "text \"<tool_call>get_weather<arg_key>city</arg_key>a<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>\"\n"},
	{"no parameter's end before another", "minicpm5", "<function name=\"get_weather\"><param name=\"city\">ls\n<param name=days>2</param></function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"another parameter in data", "minicpm5", "<function name=\"get_weather\"><param name=\"city\"><![CDATA[<param name=\"days\">]]></param></function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"<param name=\\\\\\\"days\\\\\\\">\\\"}\"\n"},
	{"no parameter's end before another", "muse_glimmer", " to=now<|message|><atem:function_calls><atem:invoke name=\"get_weather\"><atem:parameter name=\"city\">ls<atem:parameter name=\"days\">2</atem:parameter></atem:invoke></atem:function_calls>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"ls\\\",\\\"days\\\":2}\"\n"},
	{"no parameter's end", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:invoke name="get_weather"><atem:parameter name="city">a</atem:invoke></atem:function_calls>`, false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},

	// Nearly JSON.
	{"an escape that JSON lacks", "qwen2_5", `<tool_call>{"name": "now", "arguments": {"a": "echo \$HOME \"b\" \/ \u00e9\n"}}</tool_call>`, false, "call now\narguments \"{\\\"a\\\": \\\"echo \\\\\\\\$HOME \\\\\\\"b\\\\\\\" \\\\/ \\\\u00e9\\\\n\\\"}\"\n"},
	{"escapes that JSON lacks", "qwen2_5", `<tool_call>{"arguments": {"C:\q": ["\'", "C:\users", "\u12", "\d\\"]}, "name": "now"}</tool_call>`, false, "call now\narguments \"{\\\"C:\\\\\\\\q\\\": [\\\"\\\\\\\\'\\\", \\\"C:\\\\\\\\users\\\", \\\"\\\\\\\\u12\\\", \\\"\\\\\\\\d\\\\\\\\\\\"]}\"\n"},
	{"a backslash before a line's end", "qwen2_5", "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"b \\\n c\"}}</tool_call>", false, "call now\narguments \"{\\\"a\\\": \\\"b \\\\\\\\\\\\n c\\\"}\"\n"},
	{"last commas", "qwen2_5", `<tool_call>{"name": "now", "arguments": {"a": [1, 2 , ], "b": {"c": ",", }, },}</tool_call>`, false, "call now\narguments \"{\\\"a\\\": [1, 2  ], \\\"b\\\": {\\\"c\\\": \\\",\\\" } }\"\n"},
	{"a last comma after a name", "qwen2_5", `<tool_call>{"name": "now",}</tool_call>`, false, "call now\narguments \"{}\"\n"},
	{"Python's quotes", "qwen2_5", `<tool_call>{'name': 'now', 'arguments': {'a': 'it\'s "\x1b"', "b": [True, None, False]}}</tool_call>!`, false, "call now\narguments \"{\\\"a\\\": \\\"it's \\\\\\\"\\\\u001b\\\\\\\"\\\", \\\"b\\\": [true, null, false]}\"\ntext \"!\"\n"},
	{"nearly JSON in a string", "qwen2_5", `<tool_call>{"name": "now", "arguments": "{'a': \"\\$b\",}"}</tool_call>`, false, "call now\narguments \"{\\\"a\\\": \\\"\\\\\\\\$b\\\"}\"\n"},
	{"an escape that JSON lacks", "mistral_v13", `[TOOL_CALLS]now[ARGS]{"a": "\$b"}`, false, "call now\narguments \"{\\\"a\\\": \\\"\\\\\\\\$b\\\"}\"\n"},
	{"a last comma", "mistral_v3", `[TOOL_CALLS][{"name": "now", "arguments": {"a": 1,}}, {"name": "now", "arguments": {}}]`, false, "call now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{}\"\n"},
	{"a last comma", "harmony", `<|channel|>commentary to=functions.now<|message|>{"a": 1,}<|call|>`, false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Python's quotes", "llama3_1", `{'name': 'now', 'parameters': {'a': 1}}`, false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Python's quotes", "deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{'a': None}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", false, "call now\narguments \"{\\\"a\\\": null}\"\n"},
	{"Python's quotes, cut", "qwen2_5", `<tool_call>{'name': 'now', 'arguments': {'a': 'b`, true, `text "<tool_call>{'name': 'now', 'arguments': {'a': 'b"` + "\n"},
	{"an escape that JSON lacks, another name", "qwen2_5", `<tool_call>{"name": "x", "arguments": {"a": "\$"}}</tool_call>`, false, "text \"<tool_call>{\\\"name\\\": \\\"x\\\", \\\"arguments\\\": {\\\"a\\\": \\\"\\\\$\\\"}}</tool_call>\"\n"},
	{"Python's quotes, another name", "qwen2_5", `<tool_call>{'name': 'x', "arguments": {}}</tool_call>`, false, "text \"<tool_call>{'name': 'x', \\\"arguments\\\": {}}</tool_call>\"\n"},
	{"a last comma, another name", "harmony", `<|channel|>commentary to=functions.x<|message|>{"a": 1,}<|call|>`, false, "text \"<|channel|>commentary to=functions.x<|message|>{\\\"a\\\": 1,}\"\n"},
	{"two commas", "qwen2_5", `<tool_call>{"name": "now", "arguments": {"a": 1,,}}</tool_call>`, false, "text \"<tool_call>{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a\\\": 1,,}}</tool_call>\"\n"},
	{"only a comma", "qwen2_5", `<tool_call>{"name": "now", "arguments": {,}}</tool_call>`, false, "text \"<tool_call>{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {,}}</tool_call>\"\n"},
	{"quotes that differ", "qwen2_5", `<tool_call>{"name": "now", "arguments": {"a': 1}}</tool_call>`, false, "text \"<tool_call>{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a': 1}}</tool_call>\"\n"},
	{"a variable", "qwen2_5", `<tool_call>{'name': 'now', 'arguments': {'a': Nothing}}</tool_call>`, false, `text "<tool_call>{'name': 'now', 'arguments': {'a': Nothing}}</tool_call>"` + "\n"},
	{"a dict", "llama3_1", `{'a': 1} is a dict`, false, `text "{'a': 1} is a dict"` + "\n"},
	{"a dict with a name", "llama3_1", `{'name': 'Bob', 'parameters': {}}`, false, `text "{'name': 'Bob', 'parameters': {}}"` + "\n"},

	// Lists between tags, and other forms.
	{"an object", "nemotron_nano", `so</think><TOOLCALL>{"name": "now", "arguments": {}}</TOOLCALL>`, false, "thought \"so\"\ncall now\narguments \"{}\"\n"},
	{"two lists in a block", "nemotron_nano", `so</think><TOOLCALL>[{"name": "now", "arguments": {}}] [{"name": "now", "arguments": {"a": 1}}]</TOOLCALL>!`, false, "thought \"so\"\ncall now\narguments \"{}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ntext \"!\"\n"},
	{"no opener", "nemotron_nano", "so</think>Well.\n[{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"get_weather\", \"arguments\": {}}]</TOOLCALL>", false, "thought \"so\"\ntext \"Well.\"\ncall now\narguments \"{}\"\ncall get_weather\narguments \"{}\"\n"},
	{"no opener, another name", "nemotron_nano", `so</think>[{"name": "ls", "arguments": {}}]`, false, "thought \"so\"\ntext \"[{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {}}]\"\n"},
	{"an empty list", "nemotron_nano", `so</think><TOOLCALL>[]</TOOLCALL>`, false, "thought \"so\"\ntext \"<TOOLCALL>[]</TOOLCALL>\"\n"},
	{"an opener twice", "apriel1_5", `<tool_calls><tool_calls>[{"name": "now", "arguments": {}, "id": "a"}]</tool_calls></tool_calls>`, false, "call now\narguments \"{}\"\n"},
	{"a thought in the template's tags", "apriel1_5", "<thinking>It rains?</thinking>\n<tool_calls>[{\"name\": \"now\", \"arguments\": {}}]</tool_calls>", false, "thought \"It rains?\"\ncall now\narguments \"{}\"\n"},
	{"a thought in the template's tags", "apriel1_5", "<thinking>\nHm\n</thinking>\n\nSo.", false, "thought \"Hm\"\ntext \"So.\"\n"},
	{"a thought without an opening mark", "apriel1_5", "Here are my reasoning steps:\nHm <thinking>\n[BEGIN FINAL RESPONSE]\nSo.\n[END FINAL RESPONSE]", false, "text \"Here are my reasoning steps:\\nHm <thinking>\\n[BEGIN FINAL RESPONSE]\\nSo.\\n[END FINAL RESPONSE]\"\n"},
	{"a call after a thought without an opening mark", "apriel1_5", "Hm.\n[BEGIN FINAL RESPONSE]\n<tool_calls>[{\"name\": \"now\", \"arguments\": {}}]</tool_calls>", false, "text \"Hm.\\n[BEGIN FINAL RESPONSE]\"\ncall now\narguments \"{}\"\n"},
	{"a link", "apriel1_5", "[a](b)\n[1] c", false, "text \"[a](b)\\n[1] c\"\n"},
	{"a comma after the last call", "nemotron_nano", "so</think><TOOLCALL>[{\"name\": \"now\", \"arguments\": {}},]</TOOLCALL>!", false, "thought \"so\"\ncall now\narguments \"{}\"\ntext \"!\"\n"},
	{"a comma after the last call", "mistral_v3", "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"now\", \"arguments\": {}} ,\n] so", false, "call now\narguments \"{}\"\ncall now\narguments \"{}\"\ntext \"so\"\n"},
	{"a comma after the last call", "phi4_mini", "<|tool_call|>[{\"name\": \"now\", \"arguments\": {}},]<|/tool_call|>", false, "call now\narguments \"{}\"\n"},
	{"a comma after the last call", "llama3_2_pythonic", "[now(a=1), now(), ]", false, "call now\narguments \"{\\\"a\\\":1}\"\ncall now\narguments \"{}\"\n"},
	{"a comma after the last call", "lfm2", "<|tool_call_start|>[now(a=1),]<|tool_call_end|>", false, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"two commas", "llama3_2_pythonic", "[now(),,]", false, "call now\narguments \"{}\"\ntext \",,]\"\n"},
	{"only a comma", "mistral_v3", "[TOOL_CALLS] [,]", false, "text \"[TOOL_CALLS] [,]\"\n"},
	{"the last brace twice", "qwen2_5", "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}}\n</tool_call>\nso", false, "call now\narguments \"{}\"\ntext \"so\"\n"},
	{"the last brace twice", "nemotron_nano", "so</think><TOOLCALL>[{\"name\": \"now\", \"arguments\": {}}}, {\"name\": \"now\", \"arguments\": {}}}]</TOOLCALL>", false, "thought \"so\"\ncall now\narguments \"{}\"\ncall now\narguments \"{}\"\n"},
	{"the last brace twice", "mistral_v13", "[TOOL_CALLS]now[ARGS]{\"a\": 1}}[TOOL_CALLS]now[ARGS]{}}", false, "call now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{}\"\n"},
	{"the last brace twice", "llama3_1", "{\"name\": \"now\", \"parameters\": {}}}; {\"name\": \"now\", \"parameters\": {}}", false, "call now\narguments \"{}\"\ncall now\narguments \"{}\"\n"},
	{"another bracket after a call", "qwen2_5", "<tool_call>{\"name\": \"now\", \"arguments\": {}})</tool_call>", false, "call now\narguments \"{}\"\ntext \")</tool_call>\"\n"},
	{"a list in place of an object", "qwen2_5", `<tool_call>[{"name": "now", "arguments": {}}, {"name": "x", "arguments": {}}]</tool_call>`, false, "call now\narguments \"{}\"\ncall x\narguments \"{}\"\n"},
	{"no opener", "qwen2_5", "I'll look.\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n</tool_call>\nso", false, "text \"I'll look.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ntext \"\\nso\"\n"},
	{"no opener, and nearly JSON", "qwen3", "<think>\nhm\n</think>\n\n{'arguments': {}, 'name': 'now',}\n</tool_call>", false, "thought \"hm\"\ncall now\narguments \"{}\"\n"},
	{"two objects in a block", "qwen2_5", "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>", false, "call now\narguments \"{}\"\ncall get_weather\narguments \"{}\"\n"},
	{"no opener, another name", "qwen2_5", `{"name": "ls", "arguments": {}}` + "\n</tool_call>", false, "text \"{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {}}\\n</tool_call>\"\n"},
	{"no opener, other JSON", "qwen2_5", "{\"name\": \"now\"}\n{\"a\": 1}\n{\"name\": \"now\", \"age\": 5}", false, "text \"{\\\"name\\\": \\\"now\\\"}\\n{\\\"a\\\": 1}\\n{\\\"name\\\": \\\"now\\\", \\\"age\\\": 5}\"\n"},
	{"no opener, within a line", "qwen2_5", `Say {"name": "now", "arguments": {}}.`, false, "text \"Say {\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}.\"\n"},
	{"no opener, in a block of code", "qwen2_5", "```json\n{\"name\": \"now\", \"arguments\": {}}\n```", false, "text \"```json\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n```\"\n"},
	{"no opener, after a block in a block", "qwen2_5", "````md\n```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n{\"name\": \"now\", \"arguments\": {}}\n````\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"````md\\n```json\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n```\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n````\"\ncall now\narguments \"{}\"\n"},
	{"no opener, after a block in tildes", "qwen2_5", "~~~\n```\n{\"name\": \"now\", \"arguments\": {}}\n~~\n~~~~\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"~~~\\n```\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n~~\\n~~~~\"\ncall now\narguments \"{}\"\n"},
	{"no opener, after a block in backticks", "qwen2_5", "```\n~~~\n{\"name\": \"now\", \"arguments\": {}}\n~~~\n```js\n{\"name\": \"now\", \"arguments\": {}}\n``` \n{\"name\": \"now\", \"arguments\": {}}", false, "text \"```\\n~~~\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n~~~\\n```js\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\\n```\"\ncall now\narguments \"{}\"\n"},
	{"no opener, after code at a line's beginning", "qwen2_5", "```ls``` lists files\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"```ls``` lists files\"\ncall now\narguments \"{}\"\n"},
	{"no opener, after code at a line's beginning", "qwen2_5", "So.\n```` ``` ```` too\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"So.\\n```` ``` ```` too\"\ncall now\narguments \"{}\"\n"},
	{"no opener, in a block of five", "qwen2_5", "`````\n````\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"`````\\n````\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\"\n"},
	{"no opener, in a longer fence's text", "qwen2_5", "```\n``` x\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"```\\n``` x\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\"\n"},
	{"no opener, in a block of tildes with backticks", "qwen2_5", "~~~ a`b`\n```\n{\"name\": \"now\", \"arguments\": {}}", false, "text \"~~~ a`b`\\n```\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\"\n"},
	{"no opener, no end", "qwen2_5", `{"name": "now", "arguments": {"a": [1`, false, "text \"{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a\\\": [1\"\n"},
	{"no opener, cut", "qwen2_5", `{"name": "now", "arguments": {"a": 1`, true, "text \"{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a\\\": 1\"\n"},
	{"an opener twice", "qwen2_5", "<tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n</tool_call>", false, "call now\narguments \"{}\"\n"},
	{"an opener twice, another name", "qwen2_5", "<tool_call>\n<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>", false, "text \"<tool_call>\\n<tool_call>\\n{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {}}\\n</tool_call>\"\n"},
	{"an opener twice", "qwen3_coder", "<tool_call><tool_call>\n<function=now>\n</function>\n</tool_call>", false, "call now\narguments \"{}\"\n"},
	{"an opener twice", "gemma4", "<|tool_call><|tool_call>call:now{}<tool_call|><tool_call|>", false, "call now\narguments \"{}\"\n"},
	{"an opener twice", "mistral_v13", "[TOOL_CALLS][TOOL_CALLS]now[ARGS]{}", false, "call now\narguments \"{}\"\n"},
	{"an opener twice", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:function_calls><atem:invoke name="now"></atem:invoke></atem:function_calls>`, false, "call now\narguments \"{}\"\n"},
	{"an opener that is spoken of twice", "qwen2_5", "<tool_call> <tool_call> are tags", false, `text "<tool_call> <tool_call> are tags"` + "\n"},
	{"an opener twice, cut", "qwen2_5", "a <tool_call><tool_call>{", true, `text "a <tool_call><tool_call>{"` + "\n"},
	{"no opener", "glm4_5", "Well.\nget_weather\n<arg_key>city</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", false, "text \"Well.\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"no opener", "glm4_7", "hm</think>now</tool_call>", false, "thought \"hm\"\ncall now\narguments \"{}\"\n"},
	{"no opener, another name", "glm4_5", "ls\n<arg_key>city</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", false, "text \"ls\\n<arg_key>city</arg_key>\\n<arg_value>a</arg_value>\\n</tool_call>\"\n"},
	{"an opener twice, another name", "glm4_5", "<tool_call> <tool_call>ls</tool_call>", false, `text "<tool_call> <tool_call>ls</tool_call>"` + "\n"},
	{"a name in text", "glm4_5", "now\nnow <arg_key>\nget_weather is a tool", false, "text \"now\\nnow <arg_key>\\nget_weather is a tool\"\n"},
	{"no opener", "mistral_v13", `now[ARGS]{"a": 1}get_weather[ARGS]{}`, false, "call now\narguments \"{\\\"a\\\": 1}\"\ncall get_weather\narguments \"{}\"\n"},
	{"no opener", "mistral_v11", `now[CALL_ID]abcdefghi[ARGS]{"a": 1}`, false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"no opener", "mistral_v3", `[{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]`, false, "call now\narguments \"{}\"\ncall now\narguments \"{}\"\n"},
	{"no opener, another name", "mistral_v3", `[{"name": "ls", "arguments": {}}]`, false, "text \"[{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {}}]\"\n"},
	{"no opener, another name", "mistral_v13", `ls[ARGS]{"a": 1}`, false, "text \"ls[ARGS]{\\\"a\\\": 1}\"\n"},
	{"no opener", "deepseek_v31", "now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", false, "call now\narguments \"{}\"\n"},
	{"no opener", "deepseek_v3", "function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>", false, "call now\narguments \"{}\"\n"},
	{"no fence", "deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n{}<｜tool▁call▁end｜>", false, "call now\narguments \"{}\"\n"},
	{"no fence, another name", "deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n{}<｜tool▁call▁end｜>", false, "text \"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\\n{}<｜tool▁call▁end｜>\"\n"},
	{"no opener", "lfm2", `[now(a=1), get_weather(city="b")]<|tool_call_end|>`, false, "call now\narguments \"{\\\"a\\\":1}\"\ncall get_weather\narguments \"{\\\"city\\\":\\\"b\\\"}\"\n"},
	{"no brackets", "lfm2", `<|tool_call_start|>now(a=1)<|tool_call_end|>`, false, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"no opener, another name", "lfm2", `[ls(a=1)]`, false, `text "[ls(a=1)]"` + "\n"},
	{"no opener", "phi4_mini", `[{"name": "now", "arguments": {}}]<|/tool_call|>`, false, "call now\narguments \"{}\"\n"},
	{"no opener", "gemma4", "call:now{}<tool_call|>", false, "call now\narguments \"{}\"\n"},
	{"a call in a thought without opener", "qwen3", "<think>\nhm\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", false, "thought \"hm\"\ncall now\narguments \"{}\"\n"},
	{"JSON of a call in a thought that ends", "qwen3", "<think>\nhm\n{\"name\": \"now\", \"arguments\": {}}\n</think>\n\nso", false, "thought \"hm\\n{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {}}\"\ntext \"so\"\n"},
	{"Meta's function tag", "llama3_1", `So.` + "\n" + `<function=now>{"a": 1}</function>`, false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Meta's function tag", "llama3_2_pythonic", `<function=now>{"a": 1}</function>`, false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Meta's function tag, another name", "llama3_1", `<function=ls>{"a": 1}</function>`, false, "text \"<function=ls>{\\\"a\\\": 1}</function>\"\n"},
	{"Meta's function tag, no end", "llama3_1", `<function=now>{"a": `, false, "text \"<function=now>{\\\"a\\\": \"\n"},
	{"Meta's function tag, within a line", "llama3_1", `Write <function=now>{"a": 1}</function>`, false, "text \"Write <function=now>{\\\"a\\\": 1}</function>\"\n"},
	{"JSON in a function", "qwen3_coder", "<tool_call>\n<function=now>\n{\"a\": 1}\n</function>\n</tool_call>", false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"JSON in a function, another name", "qwen3_coder", "<tool_call>\n<function=ls>\n{\"a\": 1}\n</function>\n</tool_call>", false, "text \"<tool_call>\\n<function=ls>\\n{\\\"a\\\": 1}\\n</function>\\n</tool_call>\"\n"},
	{"JSON in the tag", "qwen3_coder", "So.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": 1}}</tool_call>", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"JSON in the tag", "qwen3_5", "hm\n</think>\n\n<tool_call>\n{'name': 'now', 'parameters': {'a': 1}}\n</tool_call>!", false, "thought \"hm\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ntext \"!\"\n"},
	{"JSON in the tag", "glm4_5", "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n</tool_call>", false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"JSON in the tag of a thought", "glm4_7", "hm <tool_call>{\"name\": \"now\", \"arguments\": {\"a\": 1}}</tool_call>", false, "thought \"hm \"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"a list in the tag", "qwen3_coder", "<tool_call>[{\"name\": \"now\", \"arguments\": {\"a\": 1}}, {\"name\": \"now\", \"arguments\": {\"a\": 1}}]</tool_call>", false, "call now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"JSON in the tag", "muse_glimmer", " to=now<|message|><atem:function_calls>{\"name\": \"now\", \"arguments\": {\"a\": 1}}</atem:function_calls><|eot|>", false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"JSON in the tag, another name", "qwen3_coder", "<tool_call>{\"name\": \"ls\", \"arguments\": {\"a\": 1}}</tool_call>", false, "text \"<tool_call>{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {\\\"a\\\": 1}}</tool_call>\"\n"},
	{"JSON in the tag, other JSON", "qwen3_coder", "<tool_call>{\"a\": 1}</tool_call>", false, "text \"<tool_call>{\\\"a\\\": 1}</tool_call>\"\n"},
	{"JSON in the tag, no end", "qwen3_coder", "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": ", false, "text \"<tool_call>{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a\\\": \"\n"},
	{"JSON in the tag, another name", "glm4_5", "<tool_call>{\"name\": \"ls\", \"arguments\": {\"a\": 1}}</tool_call>", false, "text \"<tool_call>{\\\"name\\\": \\\"ls\\\", \\\"arguments\\\": {\\\"a\\\": 1}}</tool_call>\"\n"},
	{"JSON in the tag, other JSON", "glm4_5", "<tool_call>{\"a\": 1}</tool_call>", false, "text \"<tool_call>{\\\"a\\\": 1}</tool_call>\"\n"},
	{"JSON in the tag, no end", "glm4_5", "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": ", false, "text \"<tool_call>{\\\"name\\\": \\\"now\\\", \\\"arguments\\\": {\\\"a\\\": \"\n"},
	{"any name", "functionary3_1", `<function=ls>{"a": "</function>"}</function>!`, false, "call ls\narguments \"{\\\"a\\\": \\\"</function>\\\"}\"\ntext \"!\"\n"},
	{"parameters", "functionary3_1", "<function=now>\n<parameter=a>\n1\n</parameter>\n</function>", false, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"text about it", "functionary3_1", "Write <function=now> first.", false, `text "Write <function=now> first."` + "\n"},
	{"lines and other quotes", "minicpm5", "<function name='get_weather'>\n  <param name=\"city\">a < b & c</param>\n  <param name=\"days\">3</param>\n</function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a < b & c\\\",\\\"days\\\":3}\"\n"},
	{"data", "minicpm5", "<function name=\"now\"><param name=\"a\"><![CDATA[1]]></param><param name=\"b\"><![CDATA[x]]>y</param><param name=\"c\"><![CDATA[</param>]]></param></function>", false, "call now\narguments \"{\\\"a\\\":1,\\\"b\\\":\\\"<![CDATA[x]]>y\\\",\\\"c\\\":\\\"</param>\\\"}\"\n"},
	{"tags of a call in data", "minicpm5", "<function name=\"get_weather\"><param name=\"city\"><![CDATA[a</param></function>\n<param name=\"days\">2</param>]]></param><param name=\"days\">3</param></function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a</param></function>\\\\n<param name=\\\\\\\"days\\\\\\\">2</param>\\\",\\\"days\\\":3}\"\n"},
	{"data without end", "minicpm5", "<function name=\"get_weather\"><param name=\"city\"><![CDATA[a</param><param name=\"days\">3</param></function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"<![CDATA[a\\\",\\\"days\\\":3}\"\n"},
	{"data and text", "minicpm5", "<function name=\"get_weather\"><param name=\"city\"><![CDATA[</param></function>]]> a</param></function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"<![CDATA[</param></function>]]> a\\\"}\"\n"},
	{"no quotes", "minicpm5", "<function name=now><param name=a>1</param></function>", false, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"no quotes, another name", "minicpm5", "<function name=ls></function>", false, `text "<function name=ls></function>"` + "\n"},
	{"no parameter's end", "minicpm5", "<function name=\"get_weather\"><param name=\"city\">a</function>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a\\\"}\"\n"},
	{"no name", "minicpm5", "<function name=\"\"></function>", false, `text "<function name=\"\"></function>"` + "\n"},
	{"text about it", "minicpm5", "Use <function name=\"now\"> for it.", false, "text \"Use <function name=\\\"now\\\"> for it.\"\n"},

	{"text after a list of another name", "phi4_mini", `<|tool_call|>[{'name': 'ls'}00`, false, `text "<|tool_call|>[{'name': 'ls'}00"` + "\n"},
	{"a broken object of another name", "qwen2_5", `<tool_call>{'name': 'ls', 'arguments': {}, oops`, false, `text "<tool_call>{'name': 'ls', 'arguments': {}, oops"` + "\n"},
	{"half an object of another name", "qwen2_5", `<tool_call>{'name': 'ls', 'arguments': {}, 'id': "a`, false, "text \"<tool_call>{'name': 'ls', 'arguments': {}, 'id': \\\"a\"\n"},
	{"text after brackets of another name", "lfm2", `<|tool_call_start|>ls(a=1) so`, false, `text "<|tool_call_start|>ls(a=1) so"` + "\n"},

	// Names with spaces.
	{"a name with spaces", "glm4_5", "<tool_call>Web Search Now\n<arg_key>q</arg_key><arg_value>a</arg_value></tool_call>", false, "call Web Search Now\narguments \"{\\\"q\\\":\\\"a\\\"}\"\n"},
	{"a name with spaces", "gemma4", "<|tool_call>call:Web Search Now{q:1}<tool_call|>", false, "call Web Search Now\narguments \"{\\\"q\\\":1}\"\n"},
	{"a name with spaces", "harmony", "<|channel|>commentary to=functions.Web Search Now <|constrain|>json<|message|>{}<|call|>", false, "call Web Search Now\narguments \"{}\"\n"},
	{"a name with spaces", "qwen3_coder", "<tool_call><function=Web Search Now></function></tool_call>", false, "call Web Search Now\narguments \"{}\"\n"},
	{"a part of a name", "harmony", "<|channel|>commentary to=functions.Web Search<|message|>{}<|call|>", false, "call Web\narguments \"{}\"\n"},

	// GLM.
	{"strings and others", "glm4_5", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>2</arg_value>\n<arg_key>days</arg_key> <arg_value>many</arg_value><arg_key>new</arg_key><arg_value>[1]</arg_value>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"2\\\",\\\"days\\\":\\\"many\\\",\\\"new\\\":[1]}\"\n"},
	{"tags in a value", "glm4_5", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>a</arg_value>b</tool_call>\n</arg_value>\n</tool_call>", false, "call get_weather\narguments \"{\\\"city\\\":\\\"a</arg_value>b</tool_call>\\\\n\\\"}\"\n"},
	{"JSON in place of it", "glm4_5", `<tool_call>{"name": "now"}</tool_call>`, false, "call now\narguments \"{}\"\n"},
	{"a tag that is spoken of", "glm4_5", "The <tool_call> tag", false, `text "The <tool_call> tag"` + "\n"},
	{"text in place of a value", "glm4_5", "<tool_call>now\n<arg_key>a</arg_key> hm", false, `text "<tool_call>now\n<arg_key>a</arg_key> hm"` + "\n"},
	{"cut in a key", "glm4_5", "<tool_call>now\n<arg_key>a</ar", true, "call now\narguments \"{\"\n"},
	{"cut in a value", "glm4_5", "<tool_call>get_weather\n<arg_key>days</arg_key>\n<arg_value>1", true, "call get_weather\narguments \"{\\\"days\\\":\"\n"},

	// Phi.
	{"no closing tag", "phi4_mini", `<|tool_call|>[{"name": "now", "arguments": {}}]`, false, "call now\narguments \"{}\"\n"},
	{"Python's module", "phi4_mini", "functools[0] and functools.reduce", false, `text "functools[0] and functools.reduce"` + "\n"},

	// Llama.
	{"two objects", "llama3_1",
		`{"name": "now", "parameters": {}}; {"type": "function", "name": "get_weather", "parameters": {"a": 1}}`,
		false, `
call now
arguments "{}"
call get_weather
arguments "{\"a\": 1}"
`},
	{"after a token", "llama3_1", `Hm. <|python_tag|>{"name": "now", "parameters": {}}`, false, "text \"Hm.\"\ncall now\narguments \"{}\"\n"},
	{"Python's code", "llama3_1", "<|python_tag|>import os\nprint(1)", false, `text "<|python_tag|>import os\nprint(1)"` + "\n"},
	{"other JSON", "llama3_1", `{"name": "Bob", "age": 5}`, false, `text "{\"name\": \"Bob\", \"age\": 5}"` + "\n"},
	{"JSON within", "llama3_1", `So: {"name": "now", "parameters": {}}`, false, `text "So: {\"name\": \"now\", \"parameters\": {}}"` + "\n"},
	{"Python's list", "llama3_1", "[now()]", false, "call now\narguments \"{}\"\n"},
	{"a list", "llama3_2_pythonic", "[1, 2]", false, `text "[1, 2]"` + "\n"},
	{"an index", "llama3_2_pythonic", "[now(x), 2]", false, `text "[now(x), 2]"` + "\n"},
	{"literals", "llama3_2_pythonic",
		`[now(a=0x10, b=-1_000.50, c=.5, d=True, e=None, f=(1,), g='it\'s \x41\u00e9\U0001F600\101\q', h="", i='''a"'b''', j={'k': [false]}, l=1e5)]`,
		false, `
call now
arguments "{\"a\":16,\"b\":-1000.50,\"c\":0.5,\"d\":true,\"e\":null,\"f\":[1],\"g\":\"it's Aé😀A\\\\q\",\"h\":\"\",\"i\":\"a\\\"'b\",\"j\":{\"k\":[false]},\"l\":1e5}"
`},
	{"a variable", "llama3_2_pythonic", "[now(a=1, b=x)]", false, `text "[now(a=1, b=x)]"` + "\n"},
	{"no bracket", "llama3_2_pythonic", "[now(a=1)", false, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"cut", "llama3_2_pythonic", "[now(a='x', b=12", true, "call now\narguments \"{\\\"a\\\":\\\"x\\\",\\\"b\\\":\"\n"},
	{"cut in a name", "llama3_2_pythonic", "[now(a=1), get_we", true, "call now\narguments \"{\\\"a\\\":1}\"\n"},
	{"cut before a value", "llama3_2_pythonic", "[get_weather(ci", true, ""},
	{"cut, and perhaps no call", "llama3_2_pythonic", "[now", true, "text \"[now\"\n"},

	{"JSON on a line of its own", "llama3_1", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}; {\"name\": \"now\", \"parameters\": {\"a\": 1}}", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Python on a line of its own", "llama3_1", "Look.\n\n[now(a=1), now()]\nso", false, "text \"Look.\"\ncall now\narguments \"{\\\"a\\\":1}\"\ncall now\narguments \"{}\"\ntext \"\\nso\"\n"},
	{"JSON on a line, another name", "llama3_1", "So.\n{\"name\": \"ls\", \"parameters\": {}}", false, "text \"So.\\n{\\\"name\\\": \\\"ls\\\", \\\"parameters\\\": {}}\"\n"},
	{"Python on a line, another name", "llama3_1", "So.\n[ls(a=1)]\n[1] [a](b)", false, "text \"So.\\n[ls(a=1)]\\n[1] [a](b)\"\n"},
	{"JSON in a block", "llama3_1", "```json\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}\n[now()]\n```", false, "text \"```json\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": 1}}\\n[now()]\\n```\"\n"},
	{"no end on a line", "llama3_1", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": [", false, "text \"So.\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": [\"\n"},
	{"JSON on a line of its own", "llama3_2_pythonic", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}; {\"name\": \"now\", \"parameters\": {\"a\": 1}}", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Python on a line of its own", "llama3_2_pythonic", "Look.\n\n[now(a=1), now()]\nso", false, "text \"Look.\"\ncall now\narguments \"{\\\"a\\\":1}\"\ncall now\narguments \"{}\"\ntext \"\\nso\"\n"},
	{"JSON on a line, another name", "llama3_2_pythonic", "So.\n{\"name\": \"ls\", \"parameters\": {}}", false, "text \"So.\\n{\\\"name\\\": \\\"ls\\\", \\\"parameters\\\": {}}\"\n"},
	{"Python on a line, another name", "llama3_2_pythonic", "So.\n[ls(a=1)]\n[1] [a](b)", false, "text \"So.\\n[ls(a=1)]\\n[1] [a](b)\"\n"},
	{"JSON in a block", "llama3_2_pythonic", "```json\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}\n[now()]\n```", false, "text \"```json\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": 1}}\\n[now()]\\n```\"\n"},
	{"no end on a line", "llama3_2_pythonic", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": [", false, "text \"So.\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": [\"\n"},
	{"JSON on a line of its own", "gemma3", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}; {\"name\": \"now\", \"parameters\": {\"a\": 1}}", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"Python on a line of its own", "gemma3", "Look.\n\n[now(a=1), now()]\nso", false, "text \"Look.\"\ncall now\narguments \"{\\\"a\\\":1}\"\ncall now\narguments \"{}\"\ntext \"\\nso\"\n"},
	{"JSON on a line, another name", "gemma3", "So.\n{\"name\": \"ls\", \"parameters\": {}}", false, "text \"So.\\n{\\\"name\\\": \\\"ls\\\", \\\"parameters\\\": {}}\"\n"},
	{"Python on a line, another name", "gemma3", "So.\n[ls(a=1)]\n[1] [a](b)", false, "text \"So.\\n[ls(a=1)]\\n[1] [a](b)\"\n"},
	{"JSON in a block", "gemma3", "```json\n{\"name\": \"now\", \"parameters\": {\"a\": 1}}\n[now()]\n```", false, "text \"```json\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": 1}}\\n[now()]\\n```\"\n"},
	{"no end on a line", "gemma3", "So.\n{\"name\": \"now\", \"parameters\": {\"a\": [", false, "text \"So.\\n{\\\"name\\\": \\\"now\\\", \\\"parameters\\\": {\\\"a\\\": [\"\n"},
	{"a list on a line of its own", "mistral_v3", "So.\n[\n {\"name\": \"now\", \"arguments\": {\"a\": 1}},\n {\"name\": \"now\", \"arguments\": {\"a\": 1}}\n]", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"a list with white space", "mistral_v13", "[ {\"name\": \"now\", \"arguments\": {\"a\": 1}}]", false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"brackets on a line", "mistral_v3", "So.\n[1, 2]\n[T]\n[ {\"a\": 1}]\n[THIN", false, "text \"So.\\n[1, 2]\\n[T]\\n[ {\\\"a\\\": 1}]\\n[THIN\"\n"},
	{"an opener on a line", "mistral_v3", "So.\n[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {\"a\": 1}}]", false, "text \"So.\"\ncall now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"a member that no call has", "llama3_1", `{"name": "now", "parameters": {}, "why": 1}`, false, "call now\narguments \"{}\"\ntext \", \\\"why\\\": 1}\"\n"},
	{"a name that is not offered", "llama3_1", `{"name": "bob", "parameters": {}}`, false, `text "{\"name\": \"bob\", \"parameters\": {}}"` + "\n"},
	{"cut after its name", "llama3_1", `{"name": "now", "param`, true, ""},
	{"cut, and perhaps no call", "llama3_1", `{"name": "n`, true, `text "{\"name\": \"n"` + "\n"},
	{"a name after the arguments", "llama3_1", `{"parameters": {}, "name": "bob"}`, false, `text "{\"parameters\": {}, \"name\": \"bob\"}"` + "\n"},
	{"an unknown name after a token", "llama3_1", `<|python_tag|>{"name": "bob", "parameters": {}}`, false, "call bob\narguments \"{}\"\n"},
	{"Python that calls no tool", "llama3_2_pythonic", "[print(x=1)]", false, `text "[print(x=1)]"` + "\n"},
	{"a tool and another", "llama3_2_pythonic", "[now(), print(x=1)]", false, "call now\narguments \"{}\"\ntext \", print(x=1)]\"\n"},
	{"less than a tag", "llama3_2_pythonic", "[now() <|", false, "call now\narguments \"{}\"\ntext \"<|\"\n"},

	// Mistral.
	{"a name without a tag", "mistral_v13", `[TOOL_CALLS]now{"a": 1}`, false, "call now\narguments \"{\\\"a\\\": 1}\"\n"},
	{"one brace too few", "mistral_v13", `[TOOL_CALLS]now[ARGS]{"a": "b"`, false, "call now\narguments \"{\\\"a\\\": \\\"b\\\"}\"\n"},
	{"one brace too few, cut", "mistral_v13", `[TOOL_CALLS]now[ARGS]{"a": "b"`, true, "call now\narguments \"{\\\"a\\\": \\\"b\\\"\"\n"},
	{"a number that may go on", "mistral_v13", `[TOOL_CALLS]now[ARGS]{"a": 1`, false, `text "[TOOL_CALLS]now[ARGS]{\"a\": 1"` + "\n"},
	{"no object", "mistral_v13", `[TOOL_CALLS]now[ARGS]1`, false, `text "[TOOL_CALLS]now[ARGS]1"` + "\n"},
	{"an empty list", "mistral_v3", `[TOOL_CALLS] []`, false, `text "[TOOL_CALLS] []"` + "\n"},
	{"no list's end", "mistral_v3", `[TOOL_CALLS] [{"name": "now", "arguments": {}}`, false, "call now\narguments \"{}\"\n"},
	{"text in a list", "mistral_v3", `[TOOL_CALLS] [{"name": "now", "arguments": {}}, x]`, false, "call now\narguments \"{}\"\ntext \", x]\"\n"},
	{"members in a list", "mistral_v3", `[TOOL_CALLS] [{"name": "now", "arguments": {}, "id": 7, x}]`, false, "call now\narguments \"{}\"\ntext \", \\\"id\\\": 7, x}]\"\n"},

	// Gemma.
	{"literals", "gemma4", `<|tool_call>call:get_weather{city:5,note:hm {a},days:-2.5,at:{x:null,<|"|>y z<|"|>:[true,{}]}}<tool_call|>`,
		false,
		"call get_weather\narguments \"{\\\"city\\\":\\\"5\\\",\\\"note\\\":\\\"hm {a\\\"}\"\ntext \",days:-2.5,at:{x:null,<|\\\"|>y z<|\\\"|>:[true,{}]}}<tool_call|>\"\n"},
	{"nested", "gemma4", `<|tool_call>call:x{at:{x:null,<|"|>y z<|"|>:[true,{},<|"|>a<|b<|"|>]}, n: 3 }`,
		false, `
call x
arguments "{\"at\":{\"x\":null,\"y z\":[true,{},\"a<|b\"]},\"n\":3}"
`},
	{"quotes", "gemma4", `<|tool_call>call:get_weather{"city":"a, \"b\" }",'tags':['c',"d"]}<tool_call|>`, false,
		"call get_weather\n" + `arguments "{\"city\":\"a, \\\"b\\\" }\",\"tags\":[\"c\",\"d\"]}"` + "\n"},
	{"parentheses", "gemma4", `<|tool_call>call:get_weather(city=<|"|>a (b)<|"|>, days=2, fine: true)<tool_call|>!`, false,
		"call get_weather\n" + `arguments "{\"city\":\"a (b)\",\"days\":2,\"fine\":true}"` + "\n" + `text "!"` + "\n"},
	{"bare name", "gemma4", `<|tool_call>catch{}<tool_call|>!`, false,
		"call catch\n" + `arguments "{}"` + "\n" + `text "!"` + "\n"},
	{"no call", "gemma4", `<|tool_call>cal`, false, `text "<|tool_call>cal"` + "\n"},
	{"cut before its name", "gemma4", "a\n<|tool_call>ca", true, "text \"a\"\n"},
	{"another channel", "gemma4", "<|channel>x", false, `text "<|channel>x"` + "\n"},

	// DeepSeek.
	{"the second call alone", "deepseek_v31", "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜>", false, "call now\narguments \"{}\"\n"},
	{"no call", "deepseek_v31", "<｜tool▁calls▁begin｜>now", false, `text "<｜tool▁calls▁begin｜>now"` + "\n"},

	{"cut in a mark", "deepseek_v31", "a<｜tool▁calls▁be", true, "text \"a\"\n"},
	{"cut, and perhaps no mark", "deepseek_v31", "a<｜tool", true, "text \"a<｜tool\"\n"},

	// Harmony.
	{"no markup", "harmony", "Hello <|x|>", false, `text "Hello <|x|>"` + "\n"},
	{"cut in a header", "harmony", "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|chan", true, "thought \"Hm\"\n"},
	{"other code", "harmony", "<|channel|>commentary to=python <|constrain|>code<|message|>print(1)<|call|>", false, `text "print(1)"` + "\n"},
	{"no JSON", "harmony", "<|channel|>commentary to=functions.now<|message|>{\"a\": x}<|call|>", false, `text "<|channel|>commentary to=functions.now<|message|>{\"a\": x}"` + "\n"},
	{"a brace too few", "harmony", "<|channel|>commentary to=functions.now<|message|>{\"a\": []", false, "call now\narguments \"{\\\"a\\\": []}\"\n"},
	{"an unended thought", "harmony", "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>so<|return|>", false, "thought \"Hm\"\ntext \"so\"\n"},
	{"an unended thought and a call", "harmony", "<|channel|>analysis<|message|>Hm<|channel|>commentary to=functions.now<|message|>{}<|call|>", false, "thought \"Hm\"\ncall now\narguments \"{}\"\n"},
	{"an unended thought twice", "harmony", "<|channel|>analysis<|message|>a<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>so", false, "thought \"ab\"\ntext \"so\"\n"},
	{"a channel that is spoken of", "harmony", "<|channel|>final<|message|>The <|channel", false, `text "The <|channel"` + "\n"},
	{"a channel's token that is spoken of", "harmony", "<|channel|>final<|message|>Use <|channel|> to set it.<|return|>", false, "text \"Use <|channel|> to set it.\"\n"},
	{"a channel's token twice that is spoken of", "harmony", "<|channel|>final<|message|><|channel|><|channel|>x, <|channel|>finals<|return|>", false, "text \"<|channel|><|channel|>x, <|channel|>finals\"\n"},
	{"a channel's token at the end that is spoken of", "harmony", "<|channel|>final<|message|>It is <|channel|>", false, "text \"It is <|channel|>\"\n"},
	{"a channel at the end that is spoken of", "harmony", "<|channel|>final<|message|>It is <|channel|>final", false, "text \"It is <|channel|>final\"\n"},
	{"a channel in a sentence that is spoken of", "harmony", "<|channel|>final<|message|>Write <|channel|>final for it.<|return|>", false, "text \"Write <|channel|>final for it.\"\n"},
	{"a long channel that is spoken of", "harmony", "<|channel|>final<|message|>The <|channel|>final <|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|channel|>y<|return|>", false, "text \"The <|channel|>final <|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|channel|>y\"\n"},
	{"a channel's token in a thought", "harmony", "<|channel|>analysis<|message|>Use <|channel|> or <|channel|>final now<|end|><|start|>assistant<|channel|>final<|message|>so<|return|>", false, "thought \"Use <|channel|> or <|channel|>final now\"\ntext \"so\"\n"},
	{"a channel, cut", "harmony", "<|channel|>analysis<|message|>Hm<|channel|>fi", true, "thought \"Hm\"\n"},
	{"a channel after a call", "harmony", "<|channel|>commentary to=functions.now<|message|>{}<|channel|>final<|message|>so", false, "call now\narguments \"{}\"\ntext \"so\"\n"},
	{"a channel that is spoken of, and the end", "harmony", "<|channel|>final<|message|>It is <|channel|>final<|return|>", false, "text \"It is <|channel|>final\"\n"},
	{"a channel that is spoken of before another", "harmony", "<|channel|>analysis<|message|><|channel|>final <|channel|>analysis<|channel|>final<|message|>so", false, "thought \"<|channel|>final <|channel|>analysis\"\ntext \"so\"\n"},
	{"a long channel before another", "harmony", "<|channel|>analysis<|message|><|channel|>final<|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|channel|>final<|message|>so<|channel|>commentary to=functions.now<|message|>{}<|call|>", false, "thought \"<|channel|>final<|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|><|x|>\"\ntext \"so\"\ncall now\narguments \"{}\"\n"},
	// Muse Glimmer.
	{"no header", "muse_glimmer", "Hello", false, `text "Hello"` + "\n"},
	{"a call to the user", "muse_glimmer", ` to=user<|message|> <atem:function_calls><atem:invoke name="now"></atem:invoke></atem:function_calls><|eot|>`, false, "call now\narguments \"{}\"\n"},
	{"no list around it", "muse_glimmer", ` to=now<|message|><atem:invoke name="now"></atem:invoke><|eot|>`, false, "call now\narguments \"{}\"\n"},
	{"a name twice", "muse_glimmer", ` to=now.now<|message|><atem:function_calls><atem:invoke name="now.now"></atem:invoke></atem:function_calls>`, false, "call now\narguments \"{}\"\n"},
	{"another name", "muse_glimmer", ` to=x.now<|message|><atem:function_calls><atem:invoke name="x.now"></atem:invoke></atem:function_calls>`, false, "call x.now\narguments \"{}\"\n"},
	{"two in a message", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:invoke name="now"></atem:invoke><atem:invoke name="x"></atem:invoke></atem:function_calls><|eot|>`, false, "call now\narguments \"{}\"\ncall x\narguments \"{}\"\n"},
	{"text after a call", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:invoke name="now"></atem:invoke></atem:function_calls> so<|eot|>`, false, "call now\narguments \"{}\"\ntext \" so\"\n"},
	{"text about calls", "muse_glimmer", ` to=user<|message|>Write <atem:function_calls> first.<|eot|>`, false, `text "Write <atem:function_calls> first."` + "\n"},
	{"spaces of a value", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:invoke name="get_weather"><atem:parameter name="city"> a</atem:parameter>b` + "\n" + `</atem:parameter></atem:invoke></atem:function_calls>`, false, `call get_weather
arguments "{\"city\":\" a</atem:parameter>b\\n\"}"
`},
	{"cut in a value", "muse_glimmer", ` to=now<|message|><atem:function_calls><atem:invoke name="get_weather"><atem:parameter name="city">Zü`, true, `call get_weather
arguments "{\"city\":\"Zü"
`},
	{"no call after a line end", "muse_glimmer", ` to=now<|message|>a</nothing>` + "\n" + `<atem:function_calls>print()<|eot|>`, false, `text "a</nothing>\n<atem:function_calls>print()"` + "\n"},
	{"no call at a line", "muse_glimmer", ` to=now<|message|>` + "\n" + `<atem:function_calls>print()<|eot|>`, false, `text "\n<atem:function_calls>print()"` + "\n"},
	{"no call after all", "muse_glimmer", ` to=now<|message|><atem:function_calls>print()<|eot|>`, false, `text "<atem:function_calls>print()"` + "\n"},

	{"two calls", "harmony", "<|channel|>commentary to=functions.now<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.x<|message|>{} <|call|>",
		false, `
call now
arguments "{}"
call x
arguments "{}"
`},
}
