package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// A saying is the content of a choice, read whole or joined from chunks.
type saying struct {
	text, thought, finish string
	calls                 []string // name and arguments
	ids                   []int32
	logprobs              int
}

// chatWith requests a reply whole and in chunks, checks that both are equal, and returns its
// choices.
func chatWith(t *testing.T, fake *roomtest.Backend, body string) []saying {
	t.Helper()
	w := roomtest.Post(serve(fake), "/v1/chat/completions", body)
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
	var reply roomtest.ChatReply
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	var whole []saying
	for _, c := range reply.Choices {
		m := c.Message
		s := saying{text: roomtest.Value(m.Content), thought: roomtest.Value(m.Reasoning),
			finish: roomtest.Value(c.FinishReason), ids: c.TokenIDs}
		if s.thought != roomtest.Value(m.ReasoningContent) {
			t.Errorf("reasoning %q, reasoning_content %q", s.thought, roomtest.Value(m.ReasoningContent))
		}
		for _, call := range m.ToolCalls {
			if len(call.ID) != api.CallID || call.Type != "function" || call.Index != nil {
				t.Errorf("a call: %+v", call)
			}
			s.calls = append(s.calls, call.Function.Name+*call.Function.Arguments)
		}
		if f := m.FunctionCall; f != nil {
			s.calls = append(s.calls, "old "+*f.Name+*f.Arguments)
		}
		if (m.Content == nil) != (s.text == "" && len(s.calls) > 0) {
			t.Errorf("content %v beside %d calls", m.Content, len(s.calls))
		}
		if c.Logprobs != nil {
			s.logprobs = len(c.Logprobs.Content)
		}
		whole = append(whole, s)
	}
	w = roomtest.Post(serve(fake), "/v1/chat/completions",
		strings.Replace(body, "{", `{"stream":true,`, 1))
	streamed := make([]saying, len(whole))
	for data, err := range control.Events(w.Body) {
		if err != nil {
			t.Fatal(err)
		}
		var chunk roomtest.ChatReply
		if err := json.Unmarshal(data, &chunk); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		for _, c := range chunk.Choices {
			add(t, &streamed[c.Index], c.Delta)
			s := &streamed[c.Index]
			s.finish += roomtest.Value(c.FinishReason)
			s.ids = append(s.ids, c.TokenIDs...)
			if c.Logprobs != nil {
				s.logprobs += len(c.Logprobs.Content)
			}
		}
	}
	if fmt.Sprint(streamed) != fmt.Sprint(whole) {
		t.Errorf("%s:\nin chunks %v\nwhole     %v", body, streamed, whole)
	}
	return whole
}

// add adds a delta as clients do, and checks its form.
func add(t *testing.T, s *saying, d roomtest.ChatMessage) {
	t.Helper()
	s.text += roomtest.Value(d.Content)
	s.thought += roomtest.Value(d.Reasoning)
	if roomtest.Value(d.Reasoning) != roomtest.Value(d.ReasoningContent) {
		t.Errorf("a delta of reasoning: %+v", d)
	}
	if f := d.FunctionCall; f != nil {
		if f.Name != nil {
			s.calls = append(s.calls, "old "+*f.Name)
		}
		s.calls[len(s.calls)-1] += *f.Arguments
	}
	for _, call := range d.ToolCalls {
		f := call.Function
		switch first := *call.Index == len(s.calls); {
		case f == nil || f.Arguments == nil:
			t.Errorf("a call's delta without a function: %+v", call)
		case first && (len(call.ID) != api.CallID || call.Type != "function" || f.Name == "" ||
			*f.Arguments != ""):
			t.Errorf("a call's first delta: %+v %+v", call, f)
		case !first && (call.ID != "" || call.Type != "" || f.Name != "" ||
			*call.Index != len(s.calls)-1):
			t.Errorf("a call's further delta: %+v %+v", call, f)
		case first:
			s.calls = append(s.calls, f.Name)
		default:
			s.calls[*call.Index] += *f.Arguments
		}
	}
}

// TestOutputBecomesTextReasoningAndCalls: the output of a model becomes text, reasoning and calls,
// whole and in chunks, wherever its tokens end.
func TestOutputBecomesTextReasoningAndCalls(t *testing.T) {
	for _, c := range []struct {
		name, says, fields string
		want               saying
	}{
		{"text", "hello", roomtest.TwoTools, saying{text: "hello", finish: "stop"}},
		{"a call", roomtest.LookCall, roomtest.TwoTools, saying{calls: []string{roomtest.Looked}, finish: "tool_calls"}},
		{"two calls", roomtest.LookCall + "\n" + roomtest.GoCall, roomtest.TwoTools, saying{calls: []string{roomtest.Looked, "go{}"}, finish: "tool_calls"}},
		{"text before", "I look.\n" + roomtest.LookCall, roomtest.TwoTools, saying{text: "I look.", calls: []string{roomtest.Looked}, finish: "tool_calls"}},
		{"calls and a limit", roomtest.GoCall + "\n and", roomtest.TwoTools + `,"max_tokens":59`, saying{text: "a", calls: []string{"go{}"}, finish: "length"}},
		{"a limit before the last brace", roomtest.GoCall, roomtest.TwoTools + `,"max_tokens":41`, saying{calls: []string{"go{"}, finish: "length"}},
		{"one call alone", roomtest.LookCall + "\n" + roomtest.GoCall, roomtest.TwoTools + `,"parallel_tool_calls":false`, saying{calls: []string{roomtest.Looked}, finish: "tool_calls"}},
		{"a thought", "<think>\nhm\n</think>\n\nyes", `"seed":1`, saying{thought: "hm", text: "yes", finish: "stop"}},
		{"a thought that is not wanted", "<think>\nhm\n</think>\n\nyes", `"reasoning":{"exclude":true}`, saying{text: "yes", finish: "stop"}},
		{"a thought and a call", "<think>\nhm\n</think>\n\n" + roomtest.GoCall, roomtest.TwoTools, saying{thought: "hm", calls: []string{"go{}"}, finish: "tool_calls"}},
		{"no tools", roomtest.GoCall, `"seed":1`, saying{text: roomtest.GoCall, finish: "stop"}},
		{"tools that may not be called", roomtest.GoCall, roomtest.TwoTools + `,"tool_choice":"none"`, saying{text: roomtest.GoCall, finish: "stop"}},
		{"a call in place of a form", roomtest.GoCall, roomtest.TwoTools + `,"response_format":{"type":"json_object"}`, saying{calls: []string{"go{}"}, finish: "tool_calls"}},
		{"a form", "<think>hm</think>{}", roomtest.TwoTools + `,"response_format":{"type":"json_object"}`, saying{thought: "hm", text: "{}", finish: "stop"}},
		{"functions", roomtest.LookCall + roomtest.GoCall, `"functions":[{"name":"look"},{"name":"go"}]`, saying{calls: []string{"old " + roomtest.Looked}, finish: "function_call"}},
		{"cut by its limit", roomtest.LookCall, roomtest.TwoTools + `,"max_tokens":50`, saying{calls: []string{`look{"z": "`}, finish: "length"}},
		{"cut before a call", "one two" + roomtest.LookCall, roomtest.TwoTools + `,"stop":["two"]`, saying{text: "one ", finish: "stop"}},
		{"not a call", "<tool_call>\n{\"nam", roomtest.TwoTools, saying{text: "<tool_call>\n{\"nam", finish: "stop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			got := chatWith(t, fake, roomtest.ChatBody(c.fields))[0]
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if r := fake.LastRun(); r.FinishReason == "" || fake.Model.OpenMatchers != 0 {
				t.Errorf("the history has %+v; %d matchers are open", r, fake.Model.OpenMatchers)
			}
		})
	}
}

// The parts are the same if tokens have several runes.
func TestCallsAreReadFromTokensOfSeveralRunes(t *testing.T) {
	all := []rune("<think>\nhm\n</think>\n\nSo:\n" + roomtest.LookCall + "\n" + roomtest.GoCall)
	want := saying{thought: "hm", text: "So:", calls: []string{roomtest.Looked, "go{}"},
		finish: "tool_calls"}
	for n := 2; n <= len(all); n += 3 {
		fake := roomtest.Speaking("")
		fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token,
			error] {
			return func(yield func(engine.Token, error) bool) {
				defer r.Done(engine.Stats{})
				for i := 0; i < len(all); i += n {
					tok := engine.Token{ID: 1, Text: string(all[i:min(i+n, len(all))])}
					if i+n >= len(all) {
						tok.Finish = engine.FinishStop
					}
					if !yield(tok, nil) {
						return
					}
				}
			}
		}
		if got := chatWith(t, fake, roomtest.ChatBody(roomtest.TwoTools))[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pieces of %d: %+v", n, got)
		}
	}
}

// If the model ended its answer and a call lacks only its last brace, the call gets it.
func TestMissingLastBraceIsAdded(t *testing.T) {
	for fields, want := range map[string]saying{
		`"seed":1`:        {calls: []string{`go{"a": "}"}`}, finish: "tool_calls"},
		`"max_tokens":29`: {calls: []string{`go{"a": "}"`}, finish: "length"},
		`"stop":["!"]`:    {text: `[TOOL_CALLS]go[ARGS]{"a": "}"`, finish: "stop"},
	} {
		fake := roomtest.Speaking(`[TOOL_CALLS]go[ARGS]{"a": "}"`)
		if want.finish != "tool_calls" {
			fake.Model.Output += "!"
		}
		fake.Model.TemplateSource, fake.Model.MoreSpecials = "[TOOL_CALLS]", []string{"[ARGS]"}
		if got := chatWith(t, fake, roomtest.ChatBody(roomtest.TwoTools,
			fields))[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", fields, got, want)
		}
	}
}

// An answer in a form may follow a thought. A call may take its place.
func TestFormedAnswerMayFollowThought(t *testing.T) {
	for _, c := range []struct{ writes, fields, want string }{
		{"", `"seed":1`, ""},
		{"", roomtest.TwoTools, ""},
		{"<think>", `"seed":1`, "answer"},
		{"<tool_call>", `"seed":1`, ""},
		{"<tool_call>", roomtest.TwoTools, "(calls | answer)"},
		{"<tool_call>", roomtest.TwoTools + `,"tool_choice":"none"`, ""},
	} {
		fake := roomtest.Speaking("{}")
		fake.Model.TemplateSource = c.writes
		chatWith(t, fake, roomtest.ChatBody(c.fields, `"response_format":{"type":"json_object"}`))
		g := fake.Model.Grammars[0]
		if g.JSON == nil || (g.Around != "") != (c.want != "") ||
			!strings.Contains(g.Around, c.want+"\n") && c.want != "" {
			t.Errorf("%s, %s: %+v", c.writes, c.fields, g)
		}
	}
}

// The first call ends the answer, whatever else came with the last token. Tokens that the engine
// computed ahead are not part of it.
func TestAnswerEndsWithFirstCall(t *testing.T) {
	const call = `<tool_call>{"name": "go", "arguments": {"z": "\"}}"}}</tool_call>`
	for _, all := range [][]string{
		{call, roomtest.GoCall},
		{call + "\n<tool_call>{\"na", roomtest.GoCall},
		{call + roomtest.GoCall, "more"},
		{`<tool_call>{"name": "go", "arguments": {"z": "\`, `"}}"`, `}`, `}`, "</tool_call>"},
	} {
		fake, left := roomtest.Speaking(""), false
		fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token,
			error] {
			return func(yield func(engine.Token, error) bool) {
				defer r.Done(engine.Stats{CompletionTokens: len(all)})
				for i, text := range all {
					if left = !yield(engine.Token{ID: int32(i), Text: text}, nil); left {
						return
					}
				}
			}
		}
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			roomtest.ChatBody(roomtest.TwoTools, `"parallel_tool_calls":false`, `"return_token_ids":true`))
		var reply roomtest.ChatReply
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		c := reply.Choices[0]
		m := c.Message
		if !left {
			t.Errorf("%q: left = false, want true", all)
		}
		if roomtest.Value(c.FinishReason) != "tool_calls" {
			t.Errorf(`%q: roomtest.Value(c.FinishReason) = %q, want "tool_calls"`,
				all, roomtest.Value(c.FinishReason))
		}
		if len(m.ToolCalls) != 1 {
			t.Fatalf("%q: len(m.ToolCalls) = %v, want 1", all, len(m.ToolCalls))
		}
		if *m.ToolCalls[0].Function.Arguments != `{"z": "\"}}"}` {
			t.Errorf("%q: *m.ToolCalls[0].Function.Arguments = %q, want %q",
				all, *m.ToolCalls[0].Function.Arguments, `{"z": "\"}}"}`)
		}
		if m.Content != nil {
			t.Errorf("%q: m.Content = %v, want nil", all, m.Content)
		}
		if reply.Usage.CompletionTokens != len(c.TokenIDs) {
			t.Errorf("%q: reply.Usage.CompletionTokens = %v, want %v",
				all, reply.Usage.CompletionTokens, len(c.TokenIDs))
		}
		if len(c.TokenIDs) == len(all) {
			t.Errorf("%q: len(c.TokenIDs) = %v", all, len(c.TokenIDs))
		}
	}
}

// The engine passes tokens that are markup on. When an answer is repeated, nothing reads its text,
// not even for stop texts.
func TestMarkupTokensPassTheEngine(t *testing.T) {
	fake := roomtest.Speaking("hello")
	fake.Model.MoreSpecials = []string{"<think>", "</think>"}
	s := serve(fake)
	roomtest.Post(s, "/v1/chat/completions", roomtest.ChatBody(`"stop":["<think>"]`))
	roomtest.Post(s, "/v1/completions", `{"model":"tandem","prompt":"x"}`)
	fake.LastRun()
	roomtest.Post(s, "/app/runs/1/verify", `{}`)
	for i, want := range [][]int32{{261, 262}, nil, nil} {
		if got := fake.Model.Requests[i].Special; !slices.Equal(got, want) {
			t.Errorf("request %d: special tokens %v, want %v", i, got, want)
		}
	}
	if r := fake.Model.Requests[2]; r.Stop != nil || r.Stopper != nil {
		t.Errorf("it is repeated up to %q", r.Stop)
	}
}

// Each choice is read by itself. Ids include tokens without text. Log-probabilities are only those
// of the content.
func TestEachChoiceHasItsOwnCalls(t *testing.T) {
	text := "<think>\nhm\n</think>\n\nSo: " + roomtest.GoCall
	got := chatWith(t, roomtest.Speaking(text), roomtest.ChatBody(roomtest.TwoTools, `"n":2`, `"logprobs":true`,
		`"return_token_ids":true`))
	if len(got) != 2 {
		t.Fatalf("%d choices", len(got))
	}
	for i, s := range got {
		if s.text != "So:" {
			t.Errorf(`choice %d: s.text = %q, want "So:"`, i, s.text)
		}
		if s.thought != "hm" {
			t.Errorf(`choice %d: s.thought = %q, want "hm"`, i, s.thought)
		}
		if !slices.Equal(s.calls, []string{"go{}"}) {
			t.Errorf("choice %d: s.calls = %v, want %v", i, s.calls, []string{"go{}"})
		}
		if s.logprobs != len("So:") {
			t.Errorf("choice %d: s.logprobs = %v, want %v", i, s.logprobs, len("So:"))
		}
		if len(s.ids) != len(text) {
			t.Errorf("choice %d: len(s.ids) = %v, want %v", i, len(s.ids), len(text))
		}
	}
}

// TestReasoningTokensAreCounted: a tag of one token does not count.
func TestReasoningTokensAreCounted(t *testing.T) {
	for _, exclude := range []bool{true, false} {
		fake := roomtest.Speaking("")
		fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
			for _, text := range []string{"<think>", "a", "", "bc", "</think>", "\n\n", "d"} {
				yield(text, nil)
			}
		})
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			roomtest.ChatBody(fmt.Sprintf(`"reasoning":{"exclude":%v}`, exclude)))
		var reply roomtest.ChatReply
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil ||
			reply.Usage.CompletionTokensDetails.ReasoningTokens != 3 ||
			reply.Usage.CompletionTokens != 7 {
			t.Errorf("%s: %v", w.Body, err)
		}
	}
}

// The template gets the tools, and a grammar makes the answer a call.
func TestToolChoiceHasGrammar(t *testing.T) {
	const look, goes = `{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}`,
		`{"type":"function","function":{"name":"go","strict":true}}`
	for _, c := range []struct {
		fields, tools string
		names         []string // in the grammar; nil for none
		several       bool
	}{
		{``, look + "," + goes, nil, false},
		{`"tool_choice":"auto"`, look + "," + goes, nil, false},
		{`"tool_choice":"none"`, "", nil, false},
		{`"tool_choice":"required"`, look + "," + goes, []string{"look", "go"}, true},
		{`"tool_choice":"any"`, look + "," + goes, []string{"look", "go"}, true},
		{`"tool_choice":"required","parallel_tool_calls":false`, look + "," + goes, []string{"look", "go"}, false},
		{`"tool_choice":{"type":"function","function":{"name":"go"}}`, look + "," + goes, []string{"go"}, false},
		{`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"go"}}]}}`, goes, nil, false},
		{`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"look"}}]}}`, look, []string{"look"}, true},
	} {
		fake := roomtest.Speaking(roomtest.LookCall)
		fields := strings.TrimSuffix(roomtest.TwoTools+","+c.fields, ",")
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			roomtest.ChatBody(fields, `"seed":1`))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", c.fields, w.Code, w.Body)
			continue
		}
		var vars struct{ Tools json.RawMessage }
		if err := json.Unmarshal([]byte(fake.Model.Vars[0]), &vars); err != nil ||
			strings.Trim(string(vars.Tools), "[]") != c.tools {
			t.Errorf("%s: the template gets %s, %v", c.fields, vars.Tools, err)
		}
		if (c.names == nil) != (len(fake.Model.Grammars) == 0) {
			t.Errorf("%s: grammars %v", c.fields, fake.Model.Grammars)
			continue
		}
		if c.names == nil {
			continue
		}
		lark := fake.Model.Grammars[0].Lark
		for _, name := range []string{"look", "go"} {
			if strings.Contains(lark, `\"`+name+`\"`) != slices.Contains(c.names, name) {
				t.Errorf("%s: %s", c.fields, lark)
			}
		}
		if several := strings.HasSuffix(strings.TrimSpace(lark), ")*"); several != c.several {
			t.Errorf("%s: several calls %v: %s", c.fields, several, lark)
		}
		if r := fake.Texts[1]; !strings.Contains(string(r.Replay), `"grammar":{"lark":`) {
			t.Errorf("%s: it is repeated by %s", c.fields, r.Replay)
		}
	}
	// If the model has no form for calls, the template handles them, and a call cannot be forced.
	fake := roomtest.Speaking(roomtest.GoCall)
	fake.Model.TemplateSource = ""
	if got := chatWith(t, fake, roomtest.ChatBody(roomtest.TwoTools))[0]; got.text != roomtest.GoCall {
		t.Errorf("without a form: %+v", got)
	}
	w := roomtest.Post(serve(fake), "/v1/chat/completions",
		roomtest.ChatBody(roomtest.TwoTools, `"tool_choice":"required"`))
	if e := roomtest.DecodeError(t, w); w.Code != 400 || *e.Param != "tool_choice" {
		t.Errorf("%d %+v", w.Code, e)
	}
	fake = roomtest.Speaking(roomtest.GoCall)
	w = roomtest.Post(serve(fake), "/v1/chat/completions",
		roomtest.ChatBody(strings.Replace(roomtest.TwoTools, `"z"`, `"impossible"`, 1), `"tool_choice":"required"`))
	if e := roomtest.DecodeError(t, w); w.Code != 400 || *e.Param != "tools" ||
		fake.Model.OpenMatchers != 0 {
		t.Errorf("%d %+v", w.Code, e)
	}
}

// BenchmarkCallStream measures the endpoint's own cost of one token of a call's arguments.
func BenchmarkCallStream(b *testing.B) {
	fake := roomtest.Speaking("")
	fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
		yield("<tool_call>\n{\"name\": \"go\", \"arguments\": {\"a\": \"", nil)
		for range b.N {
			if !yield(" token", nil) {
				return
			}
		}
	})
	srv := httptest.NewServer(serve(fake))
	defer srv.Close()
	b.ResetTimer()
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(roomtest.ChatBody(roomtest.TwoTools, `"stream":true`)))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Fatal(err)
	}
}
