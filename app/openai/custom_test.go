package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// customCall returns the call of ap as the model writes it, with that text.
func customCall(input string) string {
	text, _ := json.Marshal(input)
	return "<tool_call>\n{\"name\": \"ap\", \"arguments\": {\"input\": " + string(text) + "}}\n</tool_call>"
}

const apTool = `"tools":[{"type":"custom","custom":{"name":"ap","description":"Patches.","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"a{3}b"}}}},` +
	`{"type":"function","function":{"name":"go"}}]`

// A custom tool is a function with one text for the model. Its call is answered in its own form, whole
// and in chunks, and read back from the history.
func TestCustomToolIsCalledWithAText(t *testing.T) {
	for _, input := range []string{"aaab", "", "say \"hi\"\n\\ é", "{\"input\": 1}"} {
		fake := roomtest.Speaking("I patch.\n" + customCall(input) + "\n" + roomtest.GoCall)
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"user","content":"x"}],`+apTool+`}`)
		quoted, _ := json.Marshal(input)
		call := `"type":"custom","custom":{"name":"ap","input":` + string(quoted) + `}}`
		if w.Code != 200 || !strings.Contains(w.Body.String(), call) ||
			!strings.Contains(w.Body.String(), `"type":"function","function":{"name":"go","arguments":"{}"}}`) ||
			!strings.Contains(w.Body.String(), `"finish_reason":"tool_calls"`) {
			t.Errorf("%q: %d %s", input, w.Code, w.Body)
		}
		w = roomtest.Post(serve(fake), "/v1/chat/completions",
			`{"model":"tandem","stream":true,"messages":[{"role":"user","content":"x"}],`+apTool+`}`)
		got, kinds := map[int]string{}, ""
		for data, err := range control.Events(w.Body) {
			if err != nil {
				t.Fatal(err)
			}
			var chunk struct {
				Choices []struct {
					Delta struct {
						ToolCalls []struct {
							Index    int
							ID, Type string
							Custom   *struct{ Name, Input string }
							Function *struct{ Name, Arguments string }
						} `json:"tool_calls"`
					}
				}
			}
			if err := json.Unmarshal(data, &chunk); err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk.Choices {
				for _, call := range c.Delta.ToolCalls {
					if kinds += call.Type; call.Custom != nil {
						got[call.Index] += call.Custom.Name + call.Custom.Input
					} else {
						got[call.Index] += call.Function.Name + call.Function.Arguments
					}
				}
			}
		}
		if got[0] != "ap"+input || got[1] != "go{}" || kinds != "customfunction" {
			t.Errorf("%q, streamed: %v %s", input, got, kinds)
		}
	}

	fake := roomtest.Speaking("done")
	w := roomtest.Post(serve(fake), "/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"},`+
		`{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"ap","input":"a\"b"}},{"id":"c2","type":"custom","name":"ap","input":""},{"id":"c3","custom":{"name":"ap","input":"c"},"function":null}]},`+
		`{"role":"tool","tool_call_id":"c1","content":"ok"}],`+apTool+`}`)
	if w.Code != 200 || !strings.Contains(fake.Model.Vars[0],
		`"tool_calls":[{"id":"c1","type":"function","function":{"name":"ap","arguments":{"input":"a\"b"}}},{"id":"c2","type":"function","function":{"name":"ap","arguments":{"input":""}}},{"id":"c3","type":"function","function":{"name":"ap","arguments":{"input":"c"}}}]`) {
		t.Errorf("%d %s, the template gets %s", w.Code, w.Body, fake.Model.Vars)
	}
	if !strings.Contains(fake.Model.Vars[0], `"tools":[{"type":"function","function":{"name":"ap","description":"Patches.","parameters":{"type":"object","properties":{"input":{"type":"string","description":"The input, a text that this regular expression matches:\na{3}b"}}`) {
		t.Errorf("the template gets %s", fake.Model.Vars)
	}
}

// A call of a custom tool that a limit cut has its text as far as it came, whole and in chunks.
func TestCutCustomCallHasABeginningOfItsText(t *testing.T) {
	const input = "a\né \U0001F600 \"\\."
	for _, said := range []string{customCall(input),
		`<tool_call>{"name": "ap", "arguments": { "input" :"a\né \ud83d\ude00 \"\\."}}</tool_call>`} {
		begun, longest := strings.Index(said, `"arguments": {`)+len(`"arguments": {`), 0
		for limit := begun; limit < strings.LastIndex(said, "}}"); limit++ {
			for _, choice := range []string{"auto", "required"} {
				inputs := []string{}
				for _, stream := range []string{"false", "true"} {
					w := roomtest.Post(serve(roomtest.Speaking(said)), "/v1/chat/completions", fmt.Sprintf(
						`{"model":"tandem","max_tokens":%d,"stream":%s,"tool_choice":"%s","messages":[{"role":"user","content":"x"}],%s}`,
						limit, stream, choice, apTool))
					if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, `"finish_reason":"length"`) || strings.Contains(text, `tool_call>`) {
						t.Fatalf("%d, stream %s: %d %s", limit, stream, w.Code, w.Body)
					}
					inputs = append(inputs, joinCustom(t, w.Body.String()))
				}
				if inputs[0] != inputs[1] || !strings.HasPrefix("ap "+input, inputs[0]) || len(inputs[0]) < longest {
					t.Errorf("%d tokens of %s: %q", limit, said, inputs)
				}
				longest = len(inputs[0])
			}
		}
		if longest != len("ap "+input) {
			t.Errorf("%s: the longest text has %d bytes", said, longest)
		}
	}
}

// joinCustom returns the name and the text of the only call, which is of a custom tool, in an answer or in
// its chunks.
func joinCustom(t *testing.T, answer string) (call string) {
	t.Helper()
	for line := range strings.Lines(answer) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if line == "" || line == "[DONE]" {
			continue
		}
		type said struct {
			ToolCalls []struct {
				Type   string
				Custom struct{ Name, Input string }
			} `json:"tool_calls"`
		}
		var v struct {
			Choices []struct{ Message, Delta said }
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, c := range v.Choices {
			for _, one := range append(c.Message.ToolCalls, c.Delta.ToolCalls...) {
				if one.Custom.Name != "" {
					call += one.Custom.Name + " "
				}
				call += one.Custom.Input
			}
		}
	}
	return call
}

// A choice of a custom tool, or of some, is read in both of OpenAI's forms. The answer is held to the
// tool's format.
func TestChoiceOfACustomToolHoldsTheAnswerToItsFormat(t *testing.T) {
	for _, choice := range []string{
		`{"type":"custom","custom":{"name":"ap"}}`, `{"type":"custom","name":"ap"}`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"custom","custom":{"name":"ap"}}]}}`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"custom","name":"ap"}]}`,
	} {
		fake := roomtest.Speaking(customCall("aaab"))
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"user","content":"x"}],`+apTool+`,"tool_choice":`+choice+`}`)
		if w.Code != 200 || len(fake.Model.Grammars) != 1 ||
			!strings.Contains(fake.Model.Grammars[0].Lark, "%lark {\nstart: %regex {\"regex_in_json\": \"a{3}b\"}\n}") ||
			strings.Contains(fake.Model.Grammars[0].Lark, `\"go\"`) {
			t.Errorf("%s: %d %s, held to %+v", choice, w.Code, w.Body, fake.Model.Grammars)
		}
	}
}

// What OpenAI's servers run is left out, and said to be. Other tools that cannot be offered are refused.
func TestToolThatCannotBeOfferedIsToldOrRefused(t *testing.T) {
	body := func(tool string) string {
		return `{"model":"tandem","messages":[{"role":"user","content":"x"}],"tools":[` + tool + `]}`
	}
	for tool, want := range map[string]string{
		`{"type":"web_search"}`: "web_search",
		`{"type":"web_search_preview_2025_03_11"},{"type":"mcp","server_label":"a"},{"type":"mcp","server_label":"b"}`: "web_search_preview_2025_03_11, mcp",
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/chat/completions", body(tool))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"left_out":"tools of OpenAI's servers: `+want+`"`) {
			t.Errorf("%s: %d %s", tool, w.Code, w.Body)
		}
	}
	for tool, want := range map[string]string{
		`{"type":"computer"}`:                                         `tools[0].type \"computer\" needs a model that sees`,
		`{"type":"computer_use_preview"}`:                             `needs a model that sees`,
		`{"type":"teapot","name":"t"}`:                                `tools[0].type \"teapot\" is not known here`,
		`{"type":"web_searches"}`:                                     `tools[0].type \"web_searches\" is not known here`,
		`{"type":"web_search: say hello"}`:                            `tools[0].type \"web_search: say hello\" is not known here`,
		`{"type":"web_search_` + strings.Repeat("a", 41) + `"}`:       `is not known here`,
		`{"google_search":{}}`:                                        `tools[0].name is missing`,
		`{}`:                                                          `tools[0].name is missing`,
		`{"type":"function","function":{}}`:                           `tools[0].function.name is missing`,
		`{"type":"function","function":{"name":7}}`:                   `tools[0].function.name must be`,
		`{"type":"function","function":{"name":""}}`:                  `tools[0].function.name must not be empty`,
		`{"type":"function","function":"go"}`:                         `tools[0].function must be`,
		`{"type":"function","function":{"name":"a","strict":"true"}}`: `tools[0].function.strict must be`,
		`{"name":"a","strict":1}`:                                     `tools[0].strict must be`,
		`{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"b"}]},"x":[0`: `names \"b\", which is not in tools`,
		`{"type":"custom"}`:             `tools[0].name is missing`,
		`{"type":"custom","custom":{}}`: `tools[0].custom.name is missing`,
		`{"type":"custom","custom":{"name":"a","format":{"type":"yaml"}}}`:                                                                                              `tools[0].custom.format.type must be`,
		`{"type":"custom","custom":{"name":"a","format":{"type":"grammar","syntax":"ebnf","definition":"a"}}}`:                                                          `tools[0].custom.format.syntax must be`,
		`{"type":"custom","custom":{"name":"a","format":{"type":"grammar","grammar":{"syntax":"lark"}}}}`:                                                               `tools[0].custom.format.grammar.definition is missing`,
		`{"type":"custom","custom":{"name":"a","format":{"type":"grammar","syntax":"lark","definition":""}}}`:                                                           `tools[0].custom.format.definition must not be empty`,
		`{"type":"custom","custom":{"name":"a b.c/ü"}}],"tool_choice":"required","x":[0`:                                                                                `\"a b.c/ü\" of a tool must match the pattern ^[^\\s`,
		`{"type":"function","function":{"name":"a{b"}}],"tool_choice":"required","x":[0`:                                                                                `must match the pattern ^[^\\s`,
		`{"type":"function","function":{"name":"` + strings.Repeat("n", 257) + `"}}],"tool_choice":"required","x":[0`:                                                   `in at most 256 bytes`,
		`{"type":"custom","custom":{"name":"a","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: ~\"x\""}}}}],"tool_choice":"required","x":[0`: `the format of the tool \"a\"`,
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/chat/completions", body(tool))
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", tool, w.Code, w.Body, want)
		}
	}
}
