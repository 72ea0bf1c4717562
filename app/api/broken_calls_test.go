package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// A telling is an answer as a route gives it, with its calls and their arguments.
type telling struct {
	text, thought string
	calls         []string
	finish        string // "calls", "stop", "length", or a route's own word
}

// A tellingRoute requests an answer and reads it as the route's clients do.
type tellingRoute struct {
	path   string
	body   func(limit int, stop, more string) string
	whole  func(t *testing.T, w *httptest.ResponseRecorder) telling
	stream func(t *testing.T, w *httptest.ResponseRecorder) telling
}

// limits writes the limit of an answer's length under the protocol's name.
func limits(maxTokens string, limit int, stop string) string {
	return fmt.Sprintf(`"%s":%d,"stop":%s`, maxTokens, limit, wire.MustJSON([]string{stop}))
}

var tellingRoutes = map[string]tellingRoute{
	"chat": {
		path: "/v1/chat/completions",
		body: func(limit int, stop, more string) string {
			return roomtest.ChatBody(roomtest.TwoTools, limits("max_tokens", limit, stop), more)
		},
		whole: func(t *testing.T, w *httptest.ResponseRecorder) (told telling) {
			var r roomtest.ChatReply
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			c := r.Choices[0]
			told = telling{text: roomtest.Value(c.Message.Content), thought: roomtest.Value(c.Message.Reasoning),
				finish: finishes[roomtest.Value(c.FinishReason)]}
			for _, call := range c.Message.ToolCalls {
				told.calls = append(told.calls, call.Function.Name+" "+*call.Function.Arguments)
			}
			return told
		},
		stream: func(t *testing.T, w *httptest.ResponseRecorder) (told telling) {
			for data, err := range control.Events(w.Body) {
				var r roomtest.ChatReply
				if err != nil || json.Unmarshal(data, &r) != nil {
					t.Fatalf("%s: %v", data, err)
				}
				for _, c := range r.Choices {
					told.text, told.thought = told.text+roomtest.Value(c.Delta.Content),
						told.thought+roomtest.Value(c.Delta.Reasoning)
					told.finish += finishes[roomtest.Value(c.FinishReason)]
					for _, call := range c.Delta.ToolCalls {
						if call.Function.Name != "" {
							told.calls = append(told.calls, call.Function.Name+" ")
						}
						told.calls[*call.Index] += *call.Function.Arguments
					}
				}
			}
			return told
		},
	},
	"responses": {
		path: "/v1/responses",
		body: func(limit int, stop, more string) string {
			return roomtest.ResponseBody(`"input":"x","tools":[{"type":"function","name":"look"},{"type":"function","name":"go"}]`,
				limits("max_output_tokens", limit, stop), more)
		},
		whole: func(t *testing.T, w *httptest.ResponseRecorder) telling {
			var r roomtest.Response
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			return tellingOf(r.Output, r.Status)
		},
		stream: func(t *testing.T, w *httptest.ResponseRecorder) telling {
			list := roomtest.ReadResponseEvents(t, w.Body.String())
			return tellingOf(roomtest.JoinItems(t, list), list[len(list)-1].Response.Status)
		},
	},
	"messages": {
		path: "/v1/messages",
		body: func(limit int, stop, more string) string {
			return `{"model":"tandem","messages":[{"role":"user","content":"x"}],` +
				strings.Join([]string{roomtest.AnthropicTools, limits("max_tokens", limit, stop), more}, ",") + `}`
		},
		whole: func(t *testing.T, w *httptest.ResponseRecorder) telling {
			var r roomtest.MessageReply
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			return tellingOfBlocks(r)
		},
		stream: func(t *testing.T, w *httptest.ResponseRecorder) telling {
			return tellingOfBlocks(roomtest.JoinMessage(t, roomtest.ReadMessageEvents(t, w.Body.String())))
		},
	},
	"ollama": {
		path: "/api/chat",
		body: func(limit int, stop, more string) string {
			return roomtest.ChatBody(roomtest.TwoTools, `"options":{`+limits("num_predict", limit, stop)+`}`, more)
		},
		whole:  tellingOfLines,
		stream: tellingOfLines,
	},
}

// finishes maps each protocol's finish reasons to those of a telling.
var finishes = map[string]string{
	"tool_calls": "calls", "tool_use": "calls", "stop": "stop", "end_turn": "stop",
	"stop_sequence": "stop", "length": "length", "max_tokens": "length",
}

func tellingOf(items []roomtest.ResponseItem, status string) telling {
	told := telling{finish: status}
	for _, x := range items {
		switch x.Type {
		case "function_call":
			told.calls = append(told.calls, x.Name+" "+x.Arguments)
			if (x.Status == responses.Completed) != json.Valid([]byte(x.Arguments)) {
				told.finish += " " + x.Status
			}
		case "reasoning":
			told.thought += x.Content[0].Text
		default:
			told.text += x.Content[0].Text
		}
	}
	return told
}

func tellingOfBlocks(r roomtest.MessageReply) telling {
	told := telling{finish: finishes[roomtest.Value(r.StopReason)]}
	for _, b := range r.Content {
		told.text, told.thought = told.text+b.Text, told.thought+b.Thinking
		if b.Type == "tool_use" {
			told.calls = append(told.calls, b.Name+" "+string(b.Input))
		}
	}
	return told
}

func tellingOfLines(t *testing.T, w *httptest.ResponseRecorder) (told telling) {
	for _, a := range roomtest.ReadOllamaLines(t, w.Body) {
		told.text, told.thought, told.finish = told.text+a.Message.Content,
			told.thought+a.Message.Thinking, a.DoneReason
		for _, c := range a.Message.Calls {
			told.calls = append(told.calls,
				c.Function.Name+" "+string(wire.MustJSON(c.Function.Arguments)))
		}
	}
	return told
}

const oddCall = "I look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"a\": 1, \"z\": oops}}\n</tool_call>"

// brokenCalls are answers and what each route says of them.
var brokenCalls = []struct {
	name, writes, says string
	limit              int
	stop               string
	want               telling
	calls              []string // of Ollama's routes, which send only whole ones
	cut                string   // text of the call that was cut, on Anthropic's routes, which send only whole ones
}{
	{name: "a call", says: roomtest.LookCall, want: telling{calls: []string{`look {"z": "é}", "a": [1]}`}, finish: "calls"}, calls: []string{`look {"a":[1],"z":"é}"}`}},
	{name: "cut by its limit", says: roomtest.LookCall, limit: 50, want: telling{calls: []string{`look {"z": "`}, finish: "length"}, cut: roomtest.LookCall[:49]},
	{name: "a stop text in it", says: roomtest.LookCall, stop: "[1]", want: telling{calls: []string{`look {"z": "é}", "a": [1]}`}, finish: "calls"}, calls: []string{`look {"a":[1],"z":"é}"}`}},
	{name: "cut before its name", says: roomtest.LookCall, limit: 20, want: telling{finish: "length"}},
	{name: "cut before its name, after text", says: "I look.\n" + roomtest.LookCall, limit: 8 + 20, want: telling{text: "I look.", finish: "length"}},
	{name: "cut within its mark", says: roomtest.LookCall, limit: 8, want: telling{finish: "length"}},
	{name: "a stop text that is its mark", says: roomtest.LookCall, stop: "<tool_call>", want: telling{finish: "stop"}},
	{name: "JSON, cut after its name", writes: `{"name": , "parameters": }`, says: `{"name": "look", "parameters": {}}`, limit: 20, want: telling{finish: "length"}},
	{name: "Python, cut in a value", writes: "func_name1(", says: `[go(a=1, b=123)]`, limit: 13, want: telling{calls: []string{`go {"a":1,"b":`}, finish: "length"}, cut: "[go(a=1, b=12"},
	{name: "XML, cut in a parameter", writes: "<tool_call> <function=", says: "<tool_call>\n<function=go>\n<parameter=a>\n1\n</parameter>", limit: 32, want: telling{calls: []string{"go {"}, finish: "length"}, cut: "<tool_call>\n<function=go>\n<param"},
	{name: "channels, cut in a header", writes: "<|channel|> <|message|>", says: `<|channel|>commentary to=functions.go<|message|>{"a": 1}<|call|>`, limit: 30, want: telling{finish: "length"}},
	{name: "no JSON", says: oddCall, want: telling{text: oddCall, finish: "stop"}},
	{name: "no JSON, and a call", says: oddCall + "\n" + roomtest.GoCall, want: telling{text: oddCall, calls: []string{"go {}"}, finish: "calls"}, calls: []string{"go {}"}},
	{name: "a call, and no JSON", says: roomtest.GoCall + oddCall, want: telling{text: oddCall, calls: []string{"go {}"}, finish: "calls"}, calls: []string{"go {}"}},
	{name: "no JSON twice", says: oddCall + "\n" + oddCall, want: telling{text: oddCall + "\n" + oddCall, finish: "stop"}},
	{name: "a call, and one cut", says: roomtest.GoCall + roomtest.LookCall, limit: len(roomtest.GoCall) + 50, want: telling{calls: []string{"go {}", `look {"z": "`}, finish: "length"}, calls: []string{"go {}"}, cut: roomtest.LookCall[:49]},
	{name: "a thought, and one cut", says: "<think>\nhm\n</think>\n\n" + roomtest.LookCall, limit: 21 + 50, want: telling{thought: "hm", calls: []string{`look {"z": "`}, finish: "length"}, cut: roomtest.LookCall[:49]},
	{name: "more than arguments",
		says: `<tool_call>{"name": "go", "arguments": {}, "why": oops}</tool_call>`,
		want: telling{text: `, "why": oops}</tool_call>`, calls: []string{"go {}"},
			finish: "calls"}, calls: []string{"go {}"}},
	{name: "Python", writes: "func_name1(", says: `[go(a=1, b=x)]`, want: telling{text: `[go(a=1, b=x)]`, finish: "stop"}},
	{name: "XML", writes: "<tool_call> <function=", says: "<tool_call>\n<function=go>\nhm</function>", want: telling{text: "<tool_call>\n<function=go>\nhm</function>", finish: "stop"}},
	{name: "XML, no opener", writes: "<tool_call> <function=", says: "Well.\n\n<function=go>\n<parameter=a>\nls\n</parameter>\n</function>\n</tool_call>", want: telling{text: "Well.", calls: []string{`go {"a":"ls"}`}, finish: "calls"}, calls: []string{`go {"a":"ls"}`}},
	{name: "XML, no opener and another name", writes: "<tool_call> <function=", says: "<function=ls>\n</function>\n</tool_call>", want: telling{text: "<function=ls>\n</function>\n</tool_call>", finish: "stop"}},
	{name: "a call in a thought", says: "<think>\nhm\n" + roomtest.GoCall, want: telling{thought: "hm", calls: []string{"go {}"}, finish: "calls"}, calls: []string{"go {}"}},
	{name: "a call that a thought quotes", says: "<think>\nhm\n" + roomtest.GoCall + "</think>\n\nso", want: telling{thought: "hm\n" + roomtest.GoCall, text: "so", finish: "stop"}},
	{name: "no opening value tag", writes: "<tool_call> <arg_key>", says: "<tool_call>go<arg_key>a</arg_key>ls -l</arg_value></tool_call>", want: telling{calls: []string{`go {"a":"ls -l"}`}, finish: "calls"}, calls: []string{`go {"a":"ls -l"}`}},
	{name: "no parameter's end", writes: "<tool_call> <function=", says: "<tool_call>\n<function=go>\n<parameter=a>\nls\n</function>\n</tool_call>", want: telling{calls: []string{`go {"a":"ls"}`}, finish: "calls"}, calls: []string{`go {"a":"ls"}`}},
	{name: "channels, an unended thought", writes: "<|channel|> <|message|>", says: "<|channel|>analysis<|message|>hm<|channel|>final<|message|>so", want: telling{thought: "hm", text: "so", finish: "stop"}},
	{name: "channels", writes: "<|channel|> <|message|>",
		says: `<|channel|>commentary to=functions.go<|message|>{"a": x}<|call|>`,
		want: telling{text: `<|channel|>commentary to=functions.go<|message|>{"a": x}`, finish: "stop"}},
	{name: "nearly JSON", says: `<tool_call>{"name": "look", "arguments": {"a": "echo \$HOME",}}</tool_call>`, want: telling{calls: []string{`look {"a": "echo \\$HOME"}`}, finish: "calls"}, calls: []string{`look {"a":"echo \\$HOME"}`}},
	{name: "Python's quotes", says: `So. <tool_call>{'name': 'go', 'arguments': {'a': None}}</tool_call>`, want: telling{text: "So.", calls: []string{`go {"a": null}`}, finish: "calls"}, calls: []string{`go {"a":null}`}},
	{name: "Python's quotes without tags", writes: `{"name": , "parameters": }`, says: `{'name': 'go', 'parameters': {'a': [1, ]}}`, want: telling{calls: []string{`go {"a": [1 ]}`}, finish: "calls"}, calls: []string{`go {"a":[1]}`}},
	{name: "channels, a last comma", writes: "<|channel|> <|message|>", says: `<|channel|>commentary to=functions.go<|message|>{"a": 1,}<|call|>`, want: telling{calls: []string{`go {"a": 1}`}, finish: "calls"}, calls: []string{`go {"a":1}`}},
	{name: "a list between tags", writes: "<TOOLCALL>[", says: `Well. <TOOLCALL>[{"name": "go", "arguments": {}}, {"name": "look", "arguments": {"a": 1}}]</TOOLCALL>`, want: telling{text: "Well.", calls: []string{"go {}", `look {"a": 1}`}, finish: "calls"}, calls: []string{"go {}", `look {"a":1}`}},
	{name: "no opener", says: "Well.\n{\"name\": \"go\", \"arguments\": {}}\n</tool_call>", want: telling{text: "Well.", calls: []string{"go {}"}, finish: "calls"}, calls: []string{"go {}"}},
	{name: "no opener, another name", says: "{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>", want: telling{text: "{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>", finish: "stop"}},
	{name: "an opener twice", says: "<tool_call>\n" + roomtest.GoCall, want: telling{calls: []string{"go {}"}, finish: "calls"}, calls: []string{"go {}"}},
	{name: "two in a block", says: "<tool_call>{\"name\": \"go\", \"arguments\": {}}\n{\"name\": \"look\", \"arguments\": {}}</tool_call>", want: telling{calls: []string{"go {}", "look {}"}, finish: "calls"}, calls: []string{"go {}", "look {}"}},
	{name: "MiniCPM5", writes: "<function name= <param name=", says: `<function name="go"><param name="a"><![CDATA[a; b]]></param></function>`, want: telling{calls: []string{`go {"a":"a; b"}`}, finish: "calls"}, calls: []string{`go {"a":"a; b"}`}},
	{name: "Functionary", writes: "<function=", says: `<function=go>{"a": 1}</function>`, want: telling{calls: []string{`go {"a": 1}`}, finish: "calls"}, calls: []string{`go {"a":1}`}},
	{name: "Meta's function tag", writes: `{"name": , "parameters": }`, says: "So.\n" + `<function=go>{"a": 1}</function>`, want: telling{text: "So.", calls: []string{`go {"a": 1}`}, finish: "calls"}, calls: []string{`go {"a":1}`}},
	{name: "nearly JSON, another name", says: `<tool_call>{"name": "ls", "arguments": {"a": "\$",}}</tool_call>`, want: telling{text: `<tool_call>{"name": "ls", "arguments": {"a": "\$",}}</tool_call>`, finish: "stop"}},
}

// TestStreamSaysWhatWholeAnswerSays: each route says the same in a stream and in one piece, also
// where calls break off. A begun call that was cut is no text; no other byte is lost.
func TestStreamSaysWhatWholeAnswerSays(t *testing.T) {
	for _, c := range brokenCalls {
		for name, route := range tellingRoutes {
			t.Run(name+", "+c.name, func(t *testing.T) {
				fake := roomtest.Speaking(c.says)
				if c.writes != "" {
					fake.Model.TemplateSource = c.writes
				}
				limit := c.limit
				if limit == 0 {
					limit = 1000
				}
				w := roomtest.Post(serve(fake), route.path,
					route.body(limit, c.stop, `"stream":false`))
				if w.Code != 200 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				whole := route.whole(t, w)
				streamed := route.stream(t, roomtest.Post(serve(fake), route.path,
					route.body(limit, c.stop, `"stream":true`)))
				want := c.want
				switch name {
				case "messages":
					if want.text += c.cut; c.cut != "" {
						want.calls = append([]string(nil), want.calls[:len(want.calls)-1]...)
					}
				case "responses":
					want.finish = whole.finish
				case "ollama":
					want.calls = c.calls
					if want.finish == "calls" {
						want.finish = "stop"
					}
				}
				if !reflect.DeepEqual(whole, streamed) {
					t.Errorf("whole\n%+v, in a stream\n%+v", whole, streamed)
				}
				if !reflect.DeepEqual(whole, want) {
					t.Errorf("got\n%+v, want\n%+v", whole, want)
				}
			})
		}
	}
}

// TestCallIsToldAlikeWhereverItIsCut: a stream and a whole answer say the same, whatever the limit of an
// answer's length is. No call that was cut is whole.
func TestCallIsToldAlikeWhereverItIsCut(t *testing.T) {
	for _, c := range brokenCalls {
		for name, route := range tellingRoutes {
			for limit := 1; c.limit == 0 && limit < len(c.says); limit++ {
				fake := roomtest.Speaking(c.says)
				if c.writes != "" {
					fake.Model.TemplateSource = c.writes
				}
				whole := route.whole(t, roomtest.Post(serve(fake), route.path, route.body(limit, c.stop, `"stream":false`)))
				streamed := route.stream(t, roomtest.Post(serve(fake), route.path, route.body(limit, c.stop, `"stream":true`)))
				if !reflect.DeepEqual(whole, streamed) {
					t.Errorf("%s, %s, %d tokens: whole\n%+v, in a stream\n%+v", name, c.name, limit, whole, streamed)
				}
				for _, call := range whole.calls {
					_, args, _ := strings.Cut(call, " ")
					if (json.Valid([]byte(args)) || name == "messages") && !slices.Contains(c.want.calls, call) && !slices.Contains(c.calls, call) {
						t.Errorf("%s, %s, %d tokens: there is a call %s", name, c.name, limit, call)
					}
				}
			}
		}
	}
}

// customCalls returns the inputs of the calls of custom tools in an answer of chats or responses, without
// those that are told to be incomplete.
func customCalls(t *testing.T, answer []byte) (inputs []string) {
	t.Helper()
	var v struct {
		Status  string
		Output  []struct{ Type, Name, Input, Status string }
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				ToolCalls []struct{ Custom *struct{ Input string } } `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	for _, x := range v.Output {
		if x.Type == "custom_tool_call" && (x.Status != "incomplete" || v.Status != "incomplete") {
			inputs = append(inputs, x.Input)
		}
		if x.Type == "function_call" && (x.Name == "look" || x.Name == "go") {
			t.Errorf("there is a function: %s", answer)
		}
	}
	for _, c := range v.Choices {
		for i, call := range c.Message.ToolCalls {
			if call.Custom != nil && (c.FinishReason != "length" || i < len(c.Message.ToolCalls)-1) {
				inputs = append(inputs, call.Custom.Input)
			}
		}
	}
	return inputs
}

// TestCutCallOfACustomToolIsToldToBeOne: its text has no mark at its end, so a client would else take a part
// of it for the whole.
func TestCutCallOfACustomToolIsToldToBeOne(t *testing.T) {
	routes := map[string]func(limit int) string{
		"/v1/chat/completions": func(limit int) string {
			return roomtest.ChatBody(`"tools":[{"type":"custom","custom":{"name":"look"}},{"type":"custom","name":"go"}]`,
				fmt.Sprintf(`"max_tokens":%d`, limit))
		},
		"/v1/responses": func(limit int) string {
			return roomtest.ResponseBody(`"input":"x","tools":[{"type":"custom","name":"look"},{"type":"custom","name":"go"}]`,
				fmt.Sprintf(`"max_output_tokens":%d`, limit))
		},
	}
	for _, c := range brokenCalls {
		whole := map[string]bool{}
		for _, call := range append(slices.Clone(c.want.calls), c.calls...) {
			_, args, _ := strings.Cut(call, " ")
			whole[args] = json.Valid([]byte(args))
		}
		for path, body := range routes {
			for limit := 1; c.stop == "" && limit <= len(c.says); limit += 2 {
				fake := roomtest.Speaking(c.says)
				if c.writes != "" {
					fake.Model.TemplateSource = c.writes
				}
				w := roomtest.Post(serve(fake), path, body(limit))
				if w.Code != 200 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				for _, input := range customCalls(t, w.Body.Bytes()) {
					if c.limit == 0 && !whole[input] || !json.Valid([]byte(input)) {
						t.Errorf("%s, %s, %d tokens: there is a call with %s", path, c.name, limit, input)
					}
				}
			}
		}
	}
}
