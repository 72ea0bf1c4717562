package app

import (
	"slices"
	"strings"
	"testing"

	"tandem/app/dialect"
	"tandem/engine/native"
)

// A writer is a family of models under test.
type writer struct {
	template string   // the parts of its template by which the family is detected
	special  []string // the special tokens
	prompt   string   // the end of the prompt
	text     string   // an answer that calls get_weather with wholeArguments
	ends     []string // the texts that end the free parts of its answers
}

const wholeArguments = `{"city": "Bern", "days": 2, "exact": true, "tags": ["a"], "place": {"x": 1.5}}`

const (
	glmText = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n<arg_key>exact</arg_key>\n<arg_value>true</arg_value>\n" +
		"<arg_key>tags</arg_key>\n<arg_value>[\"a\"]</arg_value>\n<arg_key>place</arg_key>\n<arg_value>{\"x\": 1.5}</arg_value>\n</tool_call>"
	lfmText = `<|tool_call_start|>[get_weather(city="Bern", days=2, exact=True, tags=["a"], place={"x": 1.5})]<|tool_call_end|>`
)

// glmJoined is glmText as GLM-4.7 writes it.
var glmJoined = strings.ReplaceAll(glmText, "\n", "")

var writers = map[string]writer{
	"tool_call": {template: "<tool_call>",
		text: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + wholeArguments +
			"}\n</tool_call>"},
	"tool_call, special": {template: "<tool_call>",
		special: []string{"<tool_call>", "</tool_call>"},
		text: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + wholeArguments +
			"}\n</tool_call>"},
	"tool_call, thinking": {template: "<tool_call></think>",
		text: "<think>\nWhere?\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " +
			wholeArguments + "}\n</tool_call>", ends: []string{"</think>"}},
	"tool_call, amid a thought": {template: "<tool_call></think>", prompt: "<think>\n",
		text: "Where?\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " +
			wholeArguments + "}\n</tool_call>", ends: []string{"</think>"}},
	"xml": {template: "<tool_call><function=</think>", special: []string{"<think>", "</think>"},
		text: "<think>\nWhere?\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n2\n</parameter>\n<parameter=exact>\ntrue\n</parameter>\n" +
			"<parameter=tags>\n[\"a\"]\n</parameter>\n<parameter=place>\n{\"x\": 1.5}\n</parameter>\n</function>\n</tool_call>",
		ends: []string{"</think>", "\n</parameter>\n"}},
	"json": {template: `{"name": "parameters": `, special: []string{"<|python_tag|>"},
		text: `{"name": "get_weather", "parameters": ` + wholeArguments + "}"},
	"pythonic": {template: "[func_name1(",
		text: `[get_weather(city="Bern", days=2, exact=True, tags=["a"], place={"x": 1.5})]`},
	"tool_code": {template: "```tool_code",
		text: "```tool_code\nget_weather(city=\"Bern\", days=2, exact=True, tags=[\"a\"], place={\"x\": 1.5})\n```"},
	"lfm": {template: "List of tools: <|tool_list_start|>[",
		special: []string{"<|tool_call_start|>", "<|tool_call_end|>"},
		text:    lfmText},
	"lfm, thinking": {template: "List of tools: [<|tool_call_start|></think>",
		special: []string{"<|tool_call_start|>", "<|tool_call_end|>", "<think>", "</think>"},
		text:    "<think>Where?</think>" + lfmText, ends: []string{"</think>"}},
	"mistral, list": {template: "[TOOL_CALLS]", special: []string{"[TOOL_CALLS]"},
		text: `[TOOL_CALLS][{"name": "get_weather", "arguments": ` + wholeArguments + "}]"},
	"mistral, id": {template: "[TOOL_CALLS][CALL_ID]",
		special: []string{"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"},
		text:    `[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]` + wholeArguments},
	"mistral, named": {template: "[TOOL_CALLS][THINK]",
		special: []string{"[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"},
		text:    `[THINK]Where?[/THINK][TOOL_CALLS]get_weather[ARGS]` + wholeArguments,
		ends:    []string{"[/THINK]"}},
	"gemma4": {template: `<|tool_call><|"|><|channel>thought`,
		special: []string{"<|tool_call>", "<tool_call|>", `<|"|>`, "<|channel>", "<channel|>"},
		text:    "<|channel>thought\nWhere?\n<channel|><|tool_call>call:get_weather{city:<|\"|>Bern<|\"|>,days:2,exact:true,tags:[<|\"|>a<|\"|>],place:{x:1.5}}<tool_call|>",
		ends:    []string{"<channel|>", `<|"|>`}},
	"functiongemma": {template: "<start_function_call><escape>",
		special: []string{"<start_function_call>", "<end_function_call>", "<escape>"},
		text:    "<start_function_call>call:get_weather{city:<escape>Bern<escape>,days:2,exact:true,tags:[<escape>a<escape>],place:{x:1.5}}<end_function_call>",
		ends:    []string{"<escape>"}},
	"harmony": {template: "<|channel|><|message|>",
		special: []string{"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>"},
		prompt:  "<|start|>assistant",
		text: `<|channel|>analysis<|message|>Where?<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>` +
			wholeArguments, ends: []string{"<|end|>"}},
	"glm": {template: "<tool_call><arg_key></think>",
		special: []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>",
			"</arg_key>", "<arg_value>", "</arg_value>"}, text: "<think>Where?</think>\n" + glmText,
		ends: []string{"</think>", "</arg_value>"}},
	"glm, plain": {template: "<tool_call><arg_key>", text: glmText,
		ends: []string{"</arg_value>"}},
	"glm, joined": {template: "<tool_call><arg_key></arg_key><arg_value></think>", prompt: "<think>",
		special: []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>",
			"</arg_key>", "<arg_value>", "</arg_value>"}, text: "Where?</think>" + glmJoined,
		ends: []string{"</think>", "</arg_value>"}},
	"atem": {template: "<atem:function_calls><|message|>",
		special: []string{"<|start|>", "<|message|>", "<|eom|>", "<|eot|>"},
		prompt:  "<|start|>assistant",
		text: " to=self<|message|>Where?<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">Bern</atem:parameter>\n<atem:parameter name=\"days\">2</atem:parameter>\n<atem:parameter name=\"exact\">true</atem:parameter>\n" +
			"<atem:parameter name=\"tags\">[\"a\"]</atem:parameter>\n<atem:parameter name=\"place\">{\"x\": 1.5}</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
		ends: []string{"<|eom|>", "</atem:parameter>\n"}},
	"tool_call, Nemotron": {template: "<TOOLCALL></think>", prompt: "<think>\n",
		special: []string{"<TOOLCALL>", "</TOOLCALL>", "<think>", "</think>"},
		text: "Where?\n</think>\n\n<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": " + wholeArguments +
			"}]</TOOLCALL>", ends: []string{"</think>"}},
	"tool_call, Apriel": {template: "<tool_calls>[<tool_call>",
		text: `<tool_calls>[{"name": "get_weather", "arguments": ` + wholeArguments + "}]</tool_calls>"},
	"xml, MiniCPM": {template: "<function name=<param name=</think>",
		special: []string{"<function", "</function>", "<param", "</param>"},
		text: "<think>Where?</think>\n\n<function name=\"get_weather\"><param name=\"city\">Bern</param><param name=\"days\">2</param>" +
			"<param name=\"exact\">true</param><param name=\"tags\">[\"a\"]</param><param name=\"place\">{\"x\": 1.5}</param></function>",
		ends: []string{"</think>", "</param>"}},
	"xml, Functionary": {template: "<function=",
		text: "<function=get_weather>" + wholeArguments + "</function>"},
	"phi": {template: `<|tool_call|>{}<|/tool_call|>`,
		special: []string{"<|tool_call|>", "<|/tool_call|>"},
		text: `<|tool_call|>{"name": "get_weather", "arguments": ` + wholeArguments +
			"}<|/tool_call|>"},
	"phi, list": {template: `<|tool|><|/tool|>`,
		special: []string{"<|tool_call|>", "<|/tool_call|>"},
		text: `<|tool_call|>[{"name": "get_weather", "arguments": ` + wholeArguments +
			"}]<|/tool_call|>"},
	"deepseek v3": {template: "<｜tool▁call▁begin｜>```json</think>",
		special: []string{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
			"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<think>", "</think>"},
		text: "<think>\nWhere?\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" +
			wholeArguments + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		ends: []string{"</think>"}},
	"deepseek v3.1": {template: "<｜tool▁call▁begin｜>",
		special: []string{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
			"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"},
		text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>" + wholeArguments +
			"<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
}

// tokens returns a vocabulary: the 256 bytes, the special tokens, and the end of the text.
func (w writer) tokens() []string {
	var list []string
	for i := range 256 {
		list = append(list, string([]byte{byte(i)}))
	}
	return append(append(list, w.special...), "<end>")
}

// vocabulary returns the tokens, the one that ends an answer, and their vocabulary for grammars.
func (w writer) vocabulary(t *testing.T) (tokens []string, end int32, v *native.Vocabulary) {
	t.Helper()
	tokens = w.tokens()
	end = int32(len(tokens) - 1)
	v, err := native.NewVocabulary(len(tokens),
		func(id int32) ([]byte, bool) { return []byte(tokens[id]), id >= 256 }, []int32{end}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return tokens, end, v
}

func (w writer) dialect() *dialect.Dialect {
	tokens := w.tokens()
	return dialect.Detect(w.template, func(text string) (int32, bool, bool) {
		i := slices.Index(tokens, text)
		return int32(i), i >= 256, i >= 0
	})
}

// A call grammar allows the call that its family writes. Every text that the grammar allows is
// read as calls of the tools. A family without calls, a parameter that cannot be written and an

// encode returns the tokens of the text. A special token in the text becomes one token.
func (w writer) encode(tokens []string, text string) []int32 {
	var ids []int32
	for text != "" {
		n, id := 1, int32(text[0])
		for i, s := range tokens[256:] {
			if strings.HasPrefix(text, s) {
				n, id = len(s), int32(256+i)
			}
		}
		ids, text = append(ids, id), text[n:]
	}
	return ids
}

func (w writer) decode(tokens []string, ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(tokens[id])
	}
	return b.String()
}

// walk follows a grammar to its end and returns the text. The first 30 steps are random, then it
