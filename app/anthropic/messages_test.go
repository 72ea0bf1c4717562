package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/modeltest"
	"tandem/app/roomtest"
)

// TestMessageWithoutWordsHasAnEmptyText: programs read the first block of a message.
func TestMessageWithoutWordsHasAnEmptyText(t *testing.T) {
	fake := roomtest.Speaking("")
	if got := messageWith(t, fake, roomtest.MessageBody(`"top_k":1`)).String(); got != "text |max_tokens" {
		t.Errorf("the message is %q", got)
	}
}

// TestBlocksOfABegunAnswerAreOneText: nothing stands between them, because the model goes on from
// their text. An earlier answer and a tool's result stand apart.
func TestBlocksOfABegunAnswerAreOneText(t *testing.T) {
	const a, b = `{"type":"text","text":"I "}`, `{"type":"text","text":"thi"}`
	for answer, want := range map[string]string{
		`{"role":"assistant","content":[` + a + `,` + b + `]}`: "I thi",
		`{"role":"assistant","content":[` + a + `,{"type":"thinking","thinking":"hm"},` + b +
			`]}`: "I thi",
		`{"role":"assistant","content":"Yes."},{"role":"assistant","content":[` + a + `,` + b +
			`]}`: "Yes.\n\nI thi",
		`{"role":"assistant","content":[{"type":"compaction","content":"c"},` + a + `,` + b +
			`]}`: "c\n\nI thi",
	} {
		fake := roomtest.Speaking("nk so")
		w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"messages":[`+
			`{"role":"user","content":"x"},`+answer+`]}`)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", answer, w.Code, w.Body)
			continue
		}
		if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != "ux\na"+want {
			t.Errorf("%s: prompt %q, want %q at its end", answer, got, want)
		}
	}
}

func postMessages(t testing.TB, fake *roomtest.Backend, body string) *httptest.ResponseRecorder {
	t.Helper()
	return roomtest.Post(serve(fake), "/v1/messages", body)
}

// The template gets the fields of the request under its own names.
func TestMessageVarsReachTemplate(t *testing.T) {
	const (
		off = `,"enable_thinking":false,"thinking":false`
		ask = `{"role":"user","content":"x"}`
	)
	for _, c := range []struct{ name, body, want string }{
		{"a text", `"messages":[{"role":"user","content":"x"}]`, `"messages":[` + ask + `]` + off},
		{"blocks", `"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":""},{"type":"text","text":"b"}]}]`,
			`"messages":[{"role":"user","content":"a\n\nb"}]` + off},
		{"nothing said", `"messages":[{"role":"user","content":[]}]`, `"messages":[{"role":"user","content":""}]` + off},
		{"the system", `"system":"s","messages":[` + ask + `]`, `"messages":[{"role":"system","content":"s"},` + ask + `]` + off},
		{"its blocks", `"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=1a2b;"},{"type":"text","text":"You help.\n x-anthropic-billing-header: cch=3;\nGo on.","cache_control":{"type":"ephemeral"}}],"messages":[` +
			ask + `]`,
			`"messages":[{"role":"system","content":"You help.\nGo on."},` + ask + `]` + off},
		{"a system text whose lines all change", `"system":"x-anthropic-billing-header: cch=1","messages":[` + ask + `]`, `"messages":[` + ask + `]` + off},
		{"the system in front", `"system":"s","messages":[{"role":"system","content":"t"},` + ask + `]`, `"messages":[{"role":"system","content":"s\n\nt"},` + ask + `]` + off},
		{"the system amid", `"messages":[` + ask + `,{"role":"system","content":[{"type":"text","text":"s"}]},` + ask + `]`, `"messages":[` + ask + `,{"role":"system","content":"s"},` + ask + `]` + off},
		{"turns of one role", `"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"assistant","content":[{"type":"text","text":"d"}]},` +
			ask + `]`,
			`"messages":[{"role":"user","content":"a\n\nb"},{"role":"assistant","content":"c\n\nd"},` +
				ask + `]` + off},
		{"a thought", `"messages":[` + ask +
			`,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"VGFuZGVt"},{"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"y"},{"type":"server_tool_use","id":"1","name":"web_search","input":{}}]},` +
			ask + `]`,
			`"messages":[` + ask + `,{"role":"assistant","content":"y","reasoning_content":"hm"},` +
				ask + `]` + off},
		{"calls and results", `"messages":[` + ask +
			`,{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"look","input":{"z": 1, "a": {"y":2,"b":3}}},{"type":"tool_use","id":"t2","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]},{"type":"tool_result","tool_use_id":"t9"},{"type":"text","text":"so?"}]}]`,
			`"messages":[` + ask +
				`,{"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"look","arguments":{"z": 1, "a": {"y":2,"b":3}}}},{"id":"t2","type":"function","function":{"name":"go","arguments":{}}}]},` +
				`{"role":"tool","content":"one","tool_call_id":"t1","name":"look"},{"role":"tool","content":"Error: no\n\nway","tool_call_id":"t2","name":"go"},{"role":"tool","content":"","tool_call_id":"t9"},{"role":"user","content":"so?"}]` + off},
		{"tools", roomtest.AnthropicTools + `,"messages":[` + ask + `]`,
			`"messages":[` + ask +
				`],"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},{"type":"function","function":{"name":"go","description":"Goes.","parameters":{"type": "object"}}}]` + off},
		{"tools of others alone", `"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}],"messages":[` + ask + `]`, `"messages":[` + ask + `]` + off},
		{"tools that may not be called", roomtest.AnthropicTools + `,"tool_choice":{"type":"none"},"messages":[` + ask + `]`, `"messages":[` + ask + `]` + off},
		{"thinking", `"thinking":{"type":"enabled","budget_tokens":2048},"messages":[` + ask + `]`, `"messages":[` + ask + `],"enable_thinking":true,"thinking":true,"thinking_budget":2048`},
		{"thinking as it likes", `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages":[` + ask + `]`, `"messages":[` + ask + `],"enable_thinking":true,"thinking":true,"reasoning_effort":"high"`},
		{"thinking of a later kind", `"thinking":{"type":"between_tools"},"messages":[` + ask + `]`, `"messages":[` + ask + `],"enable_thinking":true,"thinking":true`},
		{"no thinking", `"thinking":{"type":"disabled"},"messages":[` + ask + `]`, `"messages":[` + ask + `]` + off},
		{"no thinking, with effort", `"output_config":{"effort":"low"},"messages":[` + ask + `]`, `"messages":[` + ask + `]` + off + `,"reasoning_effort":"low"`},
		{"thinking in other words", `"enable_thinking":true,"messages":[` + ask + `]`, `"messages":[` + ask + `],"enable_thinking":true,"thinking":true`},
		{"the template's variables", `"chat_template_kwargs":{"enable_thinking":true,"thinking":false,"x":1},"messages":[` + ask + `]`, `"messages":[` + ask + `],"enable_thinking":true,"thinking":false,"x":1`},
		{"fields without meaning here", `"metadata":{"user_id":"u"},"service_tier":"auto","context_management":{"edits":[]},"n":7,"stream_options":null,"messages":[` + ask + `]`, `"messages":[` + ask + `]` + off},
	} {
		fake := roomtest.Speaking("ok")
		w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,`+c.body+`}`)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
			continue
		}
		if got, want := fake.Model.Vars[0],
			"{"+c.want+`,"add_generation_prompt":true}`; got != want {
			t.Errorf("%s: the template gets\n%s\nwant\n%s", c.name, got, want)
		}
		if len(fake.Model.Requests) != 1 {
			t.Errorf("%s: %d continuations", c.name, len(fake.Model.Requests))
		}
	}
}

// The engine gets the sampling and the limits of the request.
func TestMessageParamsReachEngine(t *testing.T) {
	fake := roomtest.Speaking("ok")
	w := postMessages(t, fake,
		roomtest.MessageBody(`"temperature":0.5,"top_p":0.25,"top_k":7,"stop_sequences":["a","","b"],"thinking":{"type":"enabled","budget_tokens":5},"speculation":{"drafter":"none"}`))
	r := fake.Model.Requests[0]
	s := r.Sampling
	if w.Code != 200 {
		t.Errorf("w.Code = %v, want 200: %s", w.Code, w.Body)
	}
	if *r.MaxTokens != 400 {
		t.Errorf("*r.MaxTokens = %v, want 400", *r.MaxTokens)
	}
	if s.Temperature != 0.5 {
		t.Errorf("s.Temperature = %v, want 0.5", s.Temperature)
	}
	if s.TopP != 0.25 {
		t.Errorf("s.TopP = %v, want 0.25", s.TopP)
	}
	if s.TopK != 7 {
		t.Errorf("s.TopK = %v, want 7", s.TopK)
	}
	if !slices.Equal(r.Stop, []string{"a", "b"}) {
		t.Errorf("r.Stop = %v, want %v", r.Stop, []string{"a", "b"})
	}
	if *r.Seed != 1 {
		t.Errorf("*r.Seed = %v, want 1", *r.Seed)
	}
	if r.Speculation.Drafter != "none" {
		t.Errorf(`r.Speculation.Drafter = %q, want "none"`, r.Speculation.Drafter)
	}
	fake = roomtest.Speaking("{}")
	w = postMessages(t, fake, roomtest.MessageBody(`"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`))
	if g := fake.Model.Grammars; w.Code != 200 || len(g) != 1 ||
		!strings.Contains(string(g[0].JSON), `"type":"object"`) ||
		strings.Contains(string(g[0].JSON), "lenient") {
		t.Errorf("%d %s: %v", w.Code, w.Body, g)
	}
	for choice, want := range map[string]struct {
		names   []string
		several bool
	}{
		`{"type":"auto"}`: {},
		`{"type":"any"}`:  {[]string{"look", "go"}, true},
		`{"type":"any","disable_parallel_tool_use":true}`:              {[]string{"look", "go"}, false},
		`{"type":"tool","name":"go"}`:                                  {[]string{"go"}, false},
		`{"type":"tool","name":"go","disable_parallel_tool_use":true}`: {[]string{"go"}, false},
	} {
		fake := roomtest.Speaking(roomtest.GoCall)
		w := postMessages(t, fake, roomtest.MessageBody(roomtest.AnthropicTools, `"tool_choice":`+choice))
		if w.Code != 200 || (want.names == nil) != (len(fake.Model.Grammars) == 0) {
			t.Errorf("%s: %d %s under %v", choice, w.Code, w.Body, fake.Model.Grammars)
			continue
		}
		if want.names == nil {
			continue
		}
		lark := fake.Model.Grammars[0].Lark
		for _, name := range []string{"look", "go"} {
			if strings.Contains(lark, `\"`+name+`\"`) != slices.Contains(want.names, name) {
				t.Errorf("%s: %s", choice, lark)
			}
		}
		if several := strings.HasSuffix(strings.TrimSpace(lark), ")*"); several != want.several {
			t.Errorf("%s: several calls %v: %s", choice, several, lark)
		}
	}
}

// Each bad message is refused in words that name its field.
func TestBadMessagesAreRefused(t *testing.T) {
	deep := `"messages":[{"role":"user","content":"x"}]`
	for fields, want := range map[string]string{
		deep:                              "max_tokens is missing",
		deep + `,"max_tokens":-3`:         "max_tokens must be at least 0",
		`"max_tokens":1`:                  "messages must be a list of at least one message",
		`"max_tokens":1,"messages":[]`:    "messages must be a list of at least one message",
		`"max_tokens":1,"messages":["x"]`: "messages[0] must be an object",
		`"max_tokens":1,"messages":[{"content":"x"}]`:                                                                   "messages[0].role is missing",
		`"max_tokens":1,"messages":[{"role":"tool","content":"x"}]`:                                                     "messages[0].role must be user",
		`"max_tokens":1,"messages":[{"role":"user"}]`:                                                                   "messages[0].content is missing",
		`"max_tokens":1,"messages":[{"role":"user","content":7}]`:                                                       "messages[0].content must be a string or a list of parts",
		`"max_tokens":1,"messages":[{"role":"user","content":[{"title":"x"}]}]`:                                         "messages[0].content[0].type is missing",
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]`:                                       "messages[0].content[0].text is missing",
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]`:                          `messages[0].content[0].type "image" is not supported: this endpoint takes text only`,
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{}}]}]`:                       `"document" is not supported`,
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_use"}]}]`:                                   `messages[0].content[0].type cannot be "tool_use" here`,
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]`:                                "messages[0].content[0].tool_use_id is missing",
		`"max_tokens":1,"messages":[{"role":"user","content":[{"type":"search_result","content":[{"type":"image"}]}]}]`: `messages[0].content[0].content[0].type "image" is not supported`,
		`"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{}}]}]`:                   "messages[0].content[0].name is missing",
		`"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":"x"}]}]`:       "messages[0].content[0].input must be an object",
		`"max_tokens":1,"messages":[{"role":"user","content":["x",{"type":"image"}]}]`:                                  `"image" is not supported`,
		`"max_tokens":1,"messages":[{"role":"system","content":""}]`:                                                    "messages hold nothing",
		`"max_tokens":1,"system":[{"type":"image"}],` +
			deep: `system[0].type "image" is not supported`,
		`"max_tokens":1,"system":7,` +
			deep: "system must be a string or a list of parts",
		`"max_tokens":1,"tools":{},` +
			deep: "tools must be a list of objects",
		`"max_tokens":1,"tools":[7],` +
			deep: "tools[0] must be an object",
		`"max_tokens":1,"tools":[{"name":"f"}],` +
			deep: "tools[0].input_schema is missing",
		`"max_tokens":1,"tools":[{"input_schema":{}}],` +
			deep: "tools[0].name is missing",
		`"max_tokens":1,"tool_choice":{"type":"any"},` +
			deep: "tool_choice asks for a call, and tools offers nothing to call",
		`"max_tokens":1,"tool_choice":{"type":"tool"},` +
			deep: "tool_choice.name is missing",
		`"max_tokens":1,"tool_choice":{},` +
			deep: "tool_choice.type is missing",
		`"max_tokens":1,"tool_choice":{"type":"all"},` +
			deep: "tool_choice.type must be auto",
		`"max_tokens":1,` + roomtest.AnthropicTools + `,"tool_choice":{"type":"tool","name":"web_search"},` +
			deep: `tool_choice names "web_search", which runs on Anthropic's servers, not here: name a tool`,
		`"max_tokens":1,"output_config":{"format":{"type":"xml"}},` +
			deep: `output_config.format.type must be "json_schema"`,
		`"max_tokens":1,"output_config":{"format":{"type":"json_schema"}},` +
			deep: "output_config.format.schema is missing",
		`"max_tokens":1,"output_config":{"format":{"type":"json_schema","schema":{"required":["impossible"]}}},` +
			deep: "the fake refuses this",
		`"max_tokens":1,"thinking":{},` +
			deep: "thinking.type is missing",
		`"max_tokens":1,"thinking":{"type":"enabled","budget_tokens":"x"},` +
			deep: "thinking.budget_tokens must be a whole number",
		`"max_tokens":1,"stop_sequences":[7],` +
			deep: "stop_sequences must be a string or a list of strings",
		`"max_tokens":1,"temperature":-1,` +
			deep: "temperature must be at least 0",
		`"max_tokens":1,"messages":[{"role":"user","content":"forbidden"}]`: "no such talk",
		`"max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", 5000) +
			`"}]`: "prompt is too long: 5002 tokens > 4096 maximum",
		`"max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", 50_000) +
			`"}]`: "prompt is too long: at least 10001 tokens > 4096 maximum",
	} {
		fields = `{"model":"tandem",` + fields
		for _, stream := range []string{`,"stream":true}`, `}`} {
			fake := roomtest.Speaking("ok")
			w := postMessages(t, fake, fields+stream)
			if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 ||
				e.Error.Type != "invalid_request_error" ||
				!strings.Contains(e.Error.Message, want) {
				t.Errorf("%.300s: %d %s, want %s", fields, w.Code, w.Body, want)
			}
			if r := fake.LastRun(); r.FinishReason != control.FinishError ||
				r.Endpoint != "/v1/messages" || fake.Held != 0 || fake.Model.OpenMatchers != 0 {
				t.Errorf("%.300s: %+v, %d held, %d matchers",
					fields, r, fake.Held, fake.Model.OpenMatchers)
			}
		}
		if strings.Contains(fields, "max_tokens") && !strings.Contains(want, "max_tokens") &&
			!strings.Contains(want, "fake") && !strings.Contains(want, "5002") {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/messages/count_tokens",
				fields+"}")
			if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 ||
				!strings.Contains(e.Error.Message, want) {
				t.Errorf("counting %.300s: %d %s, want %s", fields, w.Code, w.Body, want)
			}
		}
	}
}

// TestMessageWithTooMuchIsRefused: too much of one thing is refused by its field.
func TestMessageWithTooMuchIsRefused(t *testing.T) {
	repeated := func(n int, item string) string { return strings.Repeat(item+",", n-1) + item }
	for fields, want := range map[string]string{
		`"tools":[` + repeated(10_000, `{"name":"f","input_schema":{}}`) +
			`]`: "tools may hold 2000 tools",
		`"stop_sequences":[` + repeated(10_000, `"s"`) +
			`]`: "stop_sequences may hold",
		`"system":[` + repeated(10_000, `{"type":"text","text":"s"}`) +
			`]`: "prompt is too long",
		`"messages":[` + repeated(5_000,
			`{"role":"user","content":"x"},{"role":"system","content":"be brief"}`) +
			`]`: "prompt is too long",
		`"messages":[` + repeated(10_000,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`) +
			`]`: "prompt is too long",
	} {
		body := roomtest.MessageBody(fields)
		if strings.HasPrefix(fields, `"messages"`) {
			body = `{"model":"tandem","max_tokens":9,` + fields + `}`
		}
		fake := roomtest.Speaking("ok")
		w := postMessages(t, fake, body)
		if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 || !strings.Contains(e.Error.Message, want) ||
			len(e.Error.Message) > 500 || fake.Held != 0 {
			t.Errorf("%.60s: %d %s, want %s", fields, w.Code, w.Body, want)
		}
	}
}

// The count equals the usage of the same request, and leaves no run.
func TestCountTokensMatchesUsage(t *testing.T) {
	for _, fields := range []string{
		`"system":"s"`, roomtest.AnthropicTools, `"thinking":{"type":"adaptive"}`,
		`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"I th"}]`,
		`"messages":[{"role":"user","content":"x"},{"role":"system","content":"s"}]`,
	} {
		body := roomtest.MessageBody(fields)
		if strings.HasPrefix(fields, `"messages"`) {
			body = `{"model":"tandem","max_tokens":9,` + fields + `}`
		}
		fake := roomtest.Speaking("ok")
		fake.Model.Template = func(vars []byte) (string, error) { return string(vars), nil }
		if strings.Contains(fields, "I th") {
			fake.Model.Template = modeltest.Template
		}
		s := serve(fake)
		w := roomtest.Post(s, "/v1/messages/count_tokens",
			strings.NewReplacer(`"max_tokens":400,`, "", `"max_tokens":9,`, "").Replace(body))
		var counted map[string]int
		err := json.Unmarshal(w.Body.Bytes(), &counted)
		if err != nil {
			t.Fatalf("%s: %v", fields, err)
		}
		if w.Code != 200 {
			t.Errorf("%s: w.Code = %v, want 200: %s", fields, w.Code, w.Body)
		}
		if len(counted) != 1 {
			t.Errorf("%s: len(counted) = %v, want 1", fields, len(counted))
		}
		if len(fake.Rows) != 0 {
			t.Errorf("%s: len(fake.Rows) = %v, want 0", fields, len(fake.Rows))
		}
		if len(fake.Model.Requests) != 0 {
			t.Errorf("%s: len(fake.Model.Requests) = %v, want 0",
				fields, len(fake.Model.Requests))
		}
		if fake.Held != 0 {
			t.Errorf("%s: fake.Held = %v, want 0", fields, fake.Held)
		}
		var reply roomtest.MessageReply
		w = roomtest.Post(s, "/v1/messages", body)
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", fields, w.Code, w.Body)
		}
		if u := reply.Usage; counted["input_tokens"] != u.Input+u.CacheRead || u.CacheRead == 0 ||
			u.Input == 0 {
			t.Errorf("%s: counted %v, then %+v", fields, counted, u)
		}
	}
	w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/messages/count_tokens",
		`{"model":"none","messages":[{"role":"user","content":"x"}]}`)
	if e := roomtest.DecodeAnthropic(t, w); w.Code != 404 || e.Error.Type != "not_found_error" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A template may refuse or ignore turns that the protocol allows. It then gets the same in other
// turns.
func TestTurnsFallBackToPlainerForm(t *testing.T) {
	const (
		called = `{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"y"},{"type":"text","text":"z"}]}`
		amid   = `{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"system","content":" be brief\n"},{"role":"user","content":"z"}`
	)
	for _, c := range []struct {
		name, messages, refused string // a pattern of roles
		want                    string
	}{
		{"results and words", called, "", "user:x|assistant:|tool:y|user:z"},
		{"results and words, plainly", called, "tool user", "user:x|assistant:|tool:y\n\nz"},
		{"the system amid", amid, "", "user:x|assistant:y|system: be brief\n|user:z"},
		{"the system amid, plainly", amid, "assistant system", "user:x|assistant:y|user:<system>\n be brief\n\n</system>\n\nz"},
		{"a template that ignores all but the first system message", `{"role":"system","content":"be brief"},` + amid, "pass over but once", "system:be brief|user:x|assistant:y|user:<system>\n be brief\n\n</system>\n\nz"},
		{"a template that ignores the system", amid, "pass over", "user:x|assistant:y|user:<system>\n be brief\n\n</system>\n\nz"},
	} {
		fake := roomtest.Speaking("ok")
		fake.Model.Template = func(vars []byte) (string, error) {
			var v struct {
				Messages []struct{ Role, Content string }
			}
			if err := json.Unmarshal(vars, &v); err != nil {
				return "", err
			}
			var roles, parts []string
			for _, m := range v.Messages {
				if strings.HasPrefix(c.refused, "pass over") && m.Role == "system" &&
					(c.refused == "pass over" || len(parts) > 0) {
					continue
				}
				roles, parts = append(roles, m.Role), append(parts, m.Role+":"+m.Content)
			}
			if c.refused != "" && strings.Contains(strings.Join(roles, " "), c.refused) {
				return "", control.Errorf(control.CodeInvalid, "roles must alternate")
			}
			return strings.Join(parts, "|"), nil
		}
		w := postMessages(t, fake, `{"model":"tandem","max_tokens":9,"messages":[`+c.messages+`]}`)
		if w.Code != 200 || fake.Model.Decode(fake.Model.Requests[0].Prompt) != c.want {
			t.Errorf("%s: %d %s\n%q", c.name, w.Code, w.Body,
				fake.Model.Decode(fake.Model.Requests[0].Prompt))
		}
	}
}

// TestBegunAnswerContinuesLastMessage: the answer continues where the last message ends.
func TestBegunAnswerContinuesLastMessage(t *testing.T) {
	fake := roomtest.Speaking("nk so")
	w := postMessages(t, fake,
		`{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"I thi"}]}`)
	if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); w.Code != 200 ||
		got != "ux\naI thi" || !strings.Contains(w.Body.String(), `"text":"nk so"`) {
		t.Errorf("%d %s after %q", w.Code, w.Body, got)
	}
	if strings.Contains(fake.Model.Vars[0], "add_generation_prompt") {
		t.Errorf("a new answer begins: %s", fake.Model.Vars[0])
	}
	fake.Model.Template = func([]byte) (string, error) { return "x", nil }
	w = postMessages(t, fake, `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"I"}]}`)
	if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 ||
		!strings.Contains(e.Error.Message, "leaves out an answer that was begun") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The template gets a part of an answer that a client sends back in the words of the model.
func TestToolLoopReturnsWhatModelSaid(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm\n</think>\n\nSo: " + roomtest.LookCall + roomtest.GoCall)
	w := postMessages(t, fake, roomtest.MessageBody(roomtest.AnthropicTools, `"thinking":{"type":"adaptive"}`))
	var reply struct {
		Content    json.RawMessage
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || reply.StopReason != "tool_use" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var blocks []struct{ Type, ID string }
	if err := json.Unmarshal(reply.Content, &blocks); err != nil || len(blocks) != 4 {
		t.Fatalf("%s", reply.Content)
	}
	fake.Model.Output = "done"
	second := fmt.Sprintf(`{"model":"tandem","max_tokens":9,%s,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"1"},{"type":"tool_result","tool_use_id":%q,"content":"2"}]}]}`,
		roomtest.AnthropicTools, reply.Content, blocks[2].ID, blocks[3].ID)
	w = postMessages(t, fake, second)
	want := fmt.Sprintf(`{"role":"assistant","content":"So:","tool_calls":[{"id":%q,"type":"function","function":{"name":"look","arguments":{"z": "é}", "a": [1]}}},{"id":%q,"type":"function","function":{"name":"go","arguments":{}}}],"reasoning_content":"hm"},{"role":"tool","content":"1","tool_call_id":%[1]q,"name":"look"},{"role":"tool","content":"2","tool_call_id":%q,"name":"go"}]`,
		blocks[2].ID, blocks[3].ID)
	if last := fake.Model.Vars[len(fake.Model.Vars)-1]; w.Code != 200 ||
		!slices.ContainsFunc(fake.Model.Vars,
			func(v string) bool { return strings.Contains(v, want) }) {
		t.Errorf("%d %s: the template gets\n%s\nwithout\n%s", w.Code, w.Body, last, want)
	}
}

func FuzzMessagesRequest(f *testing.F) {
	f.Add(`{"model":"tandem","max_tokens":9,"system":[{"type":"text","text":"x-anthropic-billing-header: a"}],"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"},{"type":"tool_use","id":"1","name":"look","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"y"}]},{"type":"text","text":"z"}]},{"role":"system","content":"s"}],` +
		roomtest.AnthropicTools + `}`)
	f.Add(`{"model":"tandem","max_tokens":9,"stream":true,"stop_sequences":["\ud800"],"thinking":{"type":"enabled","budget_tokens":2},"messages":[{"role":"assistant","content":"h"}],` +
		roomtest.AnthropicTools + `,"tool_choice":{"type":"tool","name":"go","disable_parallel_tool_use":true}}`)
	f.Add(`{"model":"tandem","max_tokens":9,"output_config":{"effort":"max","format":{"type":"json_schema","schema":{"a":[]}}},"messages":[{"role":"user","content":[]}],"chat_template_kwargs":{"a":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		fake := roomtest.Speaking("<think>a</think>b" + roomtest.LookCall)
		s := serve(fake)
		w := roomtest.Post(s, "/v1/messages", body)
		switch {
		case w.Code == 200:
		case w.Code >= 400 && w.Code < 500:
			roomtest.DecodeAnthropic(t, w)
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if text := w.Body.String(); w.Code == 200 && strings.Contains(text, `"api_error"`) {
			t.Fatalf("an error of our own in the stream: %s", text)
		}
		if r := fake.LastRun(); fake.Held != 0 || len(s.API.Active()) != 0 || r.FinishReason == "" ||
			fake.Model.OpenMatchers != 0 {
			t.Fatalf("%d models held, %d in flight, row %+v", fake.Held, len(s.API.Active()), r)
		}
		if c := roomtest.Post(s, "/v1/messages/count_tokens",
			body); c.Code >= 500 || w.Code == 200 && c.Code != 200 {
			t.Fatalf("counted: %d %s", c.Code, c.Body)
		}
	})
}

// A count that waits for a model ends when the server drains. A model of another kind has no count.
func TestCountTokensWaitEndsOnDrain(t *testing.T) {
	asked := make(chan struct{})
	s := serve(roomtest.NewBackend().Lend(func(ctx context.Context) (model.Model, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	go func() {
		<-asked
		s.Drain()
	}()
	const body = `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`
	w := roomtest.Post(s, "/v1/messages/count_tokens", body)
	if e := roomtest.DecodeAnthropic(t, w); w.Code != 529 || e.Error.Type != "overloaded_error" ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	fake := roomtest.NewBackend()
	fake.Model.Purpose = control.KindEmbedding
	w = roomtest.Post(serve(fake), "/v1/messages/count_tokens", body)
	if e := roomtest.DecodeAnthropic(t, w); w.Code != 400 ||
		!strings.Contains(e.Error.Message, "embeddings") || fake.Held != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
