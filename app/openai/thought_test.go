package openai_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

const closed = "\n</think>\n\n"

// What a request says about thinking reaches the template under the template's names. Names that
// the request sets itself are kept.
func TestThinkingVarsReachTemplate(t *testing.T) {
	for fields, want := range map[string]string{
		`"reasoning_effort":"low"`:                         `"enable_thinking":true,"thinking":true,"reasoning_effort":"low"`,
		`"reasoning_effort":"none"`:                        `"enable_thinking":false,"thinking":false`,
		`"reasoning":{"effort":"high"}`:                    `"enable_thinking":true,"thinking":true,"reasoning_effort":"high"`,
		`"reasoning":{"enabled":false}`:                    `"enable_thinking":false,"thinking":false`,
		`"enable_thinking":false`:                          `"enable_thinking":false,"thinking":false`,
		`"chat_template_kwargs":{"enable_thinking":false}`: `"enable_thinking":false`,
		`"chat_template_kwargs": {"enable_thinking": true, "x": 1} ,"reasoning_effort":"none"`:     `"enable_thinking":true,"x":1,"thinking":false`,
		`"chat_template_kwargs":{ },"reasoning_effort":"max"`:                                      `"enable_thinking":true,"thinking":true,"reasoning_effort":"max"`,
		`"reasoning":{"max_tokens":7}`:                                                             `"thinking_budget":7`,
		`"thinking_budget":0`:                                                                      `"thinking_budget":0`,
		`"thinking_token_budget":5`:                                                                `"thinking_budget":5`,
		`"thinking_budget_tokens":-1`:                                                              ``,
		`"reasoning":{"effort":"medium","exclude":true},"chat_template_kwargs":{"thinking":false}`: `"thinking":false,"enable_thinking":true,"reasoning_effort":"medium"`,
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/v1/chat/completions", roomtest.ChatBody(fields))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", fields, w.Code, w.Body)
			continue
		}
		_, got, _ := strings.Cut(fake.Model.Vars[0], `"}]`)
		got, _, _ = strings.Cut(strings.TrimPrefix(got, ","), `"add_generation_prompt"`)
		if got = strings.TrimSuffix(got, ","); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
}

// TestThoughtIsClosedAtBudget: a thought that has used up its tokens is closed. The engine then
// goes on as if the model had closed it.
func TestThoughtIsClosedAtBudget(t *testing.T) {
	for _, c := range []struct {
		name, says, later, fields string
		opened                    bool // by the prompt
		want                      saying
		requests                  int
		all                       string
	}{
		{"a short thought", "<think>\nhm\n</think>\n\nyes", "no", `"thinking_budget":20`, false, saying{thought: "hm", text: "yes", finish: "stop"}, 1, "<think>\nhm\n</think>\n\nyes"},
		{"a long one", "<think>\nhm, well\n</think>\n\nyes", "so be it", `"thinking_budget":3`, false, saying{thought: "hm", text: "so be it", finish: "stop"}, 2, "<think>\nhm" + closed + "so be it"},
		{"none", "<think>\nhm\n</think>\n\nyes", "so be it", `"reasoning":{"max_tokens":0}`, false, saying{text: "so be it", finish: "stop"}, 2, "<think>" + closed + "so be it"},
		{"none, in the prompt", "hm\n</think>\n\nyes", "so be it", `"thinking_token_budget":0`, true, saying{text: "so be it", finish: "stop"}, 1, closed + "so be it"},
		{"in the prompt", "hm, well\n</think>\n\nyes", "so be it", `"thinking_budget_tokens":2`, true, saying{thought: "hm", text: "so be it", finish: "stop"}, 2, "hm" + closed + "so be it"},
		{"without room", "<think>\nhm, well\n</think>\n\nyes", "so be it", `"thinking_budget":3,"max_tokens":15`, false, saying{thought: "hm", finish: "length"}, 1, "<think>\nhm"},
		{"the last room", "<think>\nhm, well\n</think>\n\nyes", "so be it", `"thinking_budget":3,"max_tokens":22`, false, saying{thought: "hm", text: "s", finish: "length"}, 2, "<think>\nhm" + closed + "s"},
		{"room for no more", "<think>\nhm, well\n</think>\n\nyes", "so be it", `"thinking_budget":3,"max_tokens":21`, false, saying{thought: "hm", finish: "length"}, 2, "<think>\nhm" + closed},
		{"again and again", "<think>\nhm\n</think>\n\nyes", "<think>hm</think>yes", `"thinking_budget":1`, false, saying{thought: "hm", text: "yes", finish: "stop"}, 1 + api.MaxClosed, ""},
		{"and a call", "<think>\nhm, well", roomtest.GoCall, `"thinking_budget":3,` + roomtest.TwoTools + `,"tool_choice":"required"`, false, saying{thought: "hm", calls: []string{"go{}"}, finish: "tool_calls"}, 2, "<think>\nhm" + closed + roomtest.GoCall},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			fake.Model.Continuation = c.later
			if c.opened {
				fake.Model.Template = func([]byte) (string, error) { return "x<think>\n", nil }
			}
			body := roomtest.ChatBody(c.fields, `"return_token_ids":true`, `"logprobs":true`)
			got := chatWith(t, fake, body)[0]
			ids := got.ids
			if got.logprobs != len(got.text) {
				t.Errorf("%q is said, with log-probabilities of %d tokens", got.text, got.logprobs)
			}
			if got.ids, got.logprobs = nil, 0; c.all != "" &&
				(got.text != c.want.text || got.thought != c.want.thought ||
					got.finish != c.want.finish || !slices.Equal(got.calls, c.want.calls)) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if text := fake.Model.Decode(ids); c.all != "" && text != c.all {
				t.Errorf("its tokens are %q", text)
			}
			if n := len(fake.Model.Requests); n != 2*c.requests || fake.Model.OpenMatchers != 0 {
				t.Errorf("%d requests of the engine, want twice %d; %d matchers are open",
					n, c.requests, fake.Model.OpenMatchers)
			}
			r := fake.LastRun()
			if r.CompletionTokens != len(ids) || r.FinishReason == "" {
				t.Errorf("the history has %+v", r)
			}
			// The answer is what the model says in the second request.
			if text := api.BytesTokens(fake.Texts[2].Tail); !slices.Equal(text[fake.Texts[2].Prompt:], ids) {
				t.Errorf("%q is kept", fake.Model.Decode(text))
			}
			w := roomtest.Post(serve(fake), "/app/runs/2/verify", `{}`)
			var v control.Replayed
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Same != len(ids) ||
				v.Tokens != len(ids) || v.Now != "" {
				t.Errorf("computed again: %d %s, %v", w.Code, w.Body, err)
			}
			if c.requests == 2 && c.want.finish == "stop" {
				fake.Model.Continuation = "?"
				w := roomtest.Post(serve(fake), "/app/runs/2/verify", `{}`)
				if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Now != "?" {
					t.Errorf("another answer: %d %s, %v", w.Code, w.Body, err)
				}
				fake.Model.Output = "!" + fake.Model.Output[1:]
				w = roomtest.Post(serve(fake), "/app/runs/2/verify", `{}`)
				if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Now != "!" ||
					v.Same != 0 {
					t.Errorf("another thought: %d %s, %v", w.Code, w.Body, err)
				}
			}
		})
	}
}

// Tokens that the server inserts do not count as reasoning.
func TestClosingTokensAreNoReasoning(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm, well\n</think>\n\nyes")
	fake.Model.Continuation = "so be it"
	w := roomtest.Post(serve(fake), "/v1/chat/completions",
		roomtest.ChatBody(`"thinking_budget":3`))
	var reply roomtest.ChatReply
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil ||
		reply.Usage.CompletionTokensDetails.ReasoningTokens != 3 ||
		reply.Usage.CompletionTokens != len("<think>\nhm"+closed+"so be it") {
		t.Errorf("%s: %v", w.Body, err)
	}
}

// TestResumedAnswerIsReadFromItsBeginning: an answer that was cut off is read from its beginning,
// and its thought is closed where it would have been. Kept tokens after that are not computed
// again.
func TestResumedAnswerIsReadFromItsBeginning(t *testing.T) {
	const before, whole = "<think>\nhm" + closed, "<think>\nhm" + closed + "I" + roomtest.GoCall
	for at := range len(whole) {
		said := whole[:at]
		fake := roomtest.Speaking("<think>\nhm, well")
		fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/chat/completions", EndedAt: roomtest.Ended,
			FinishReason: "interrupted"}}
		body := roomtest.ChatBody(roomtest.TwoTools, `"reasoning":{"max_tokens":3}`)
		fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: fake.Model.Name,
			Request: []byte(body), Prompt: 3, Replay: []byte(`{"seed":77}`)}}
		fake.Left, fake.Model.Continuation = []int32("ux\n"+said), whole[max(at, len(before)):]
		for n, stream := range []string{`{"return_token_ids":true}`, `{"stream":true}`} {
			fake.Model.Requests = nil
			w := roomtest.Post(serve(fake), "/app/runs/1/resume", stream)
			text := w.Body.String()
			for _, want := range []string{`"name":"go"`, `"finish_reason":"tool_calls"`,
				`"content":"I`} {
				if w.Code != http.StatusOK || !strings.Contains(text, want) {
					t.Errorf("%q: %d %s, without %s", said, w.Code, text, want)
				}
			}
			if ids := string(wire.AppendInts(nil, []int32(whole))); n == 0 &&
				!strings.Contains(text, ids) {
				t.Errorf("%q: %s, want the tokens %s", said, text, ids)
			}
			list := fake.Model.Requests
			if first := list[0]; fake.Model.Decode(first.Generated) != said {
				t.Errorf("%q: it continues after %q", said, fake.Model.Decode(first.Generated))
			}
			if last := fake.Model.Decode(list[len(list)-1].Generated); last != whole[:max(at,
				len(before))] {
				t.Errorf("%q: it continues last after %q", said, last)
			}
			if want := 1 + min(1, max(0, len(before)-at)); len(list) != want {
				t.Errorf("%q: %d requests of the engine, want %d", said, len(list), want)
			}
			kept := fake.Texts[fake.LastRun().ID]
			var how api.Replay
			if err := json.Unmarshal(kept.Replay, &how); err != nil ||
				!slices.Equal(how.Closed, []api.Span{{At: len("<think>\nhm"), N: len(closed)}}) {
				t.Errorf("%q: the replay is %s", said, kept.Replay)
			}
		}
	}
}

// A client may send thoughts back under the name that it got. They reach the template under the
// template's name.
func TestThoughtsReturnToTemplate(t *testing.T) {
	const call = `"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`
	for _, c := range []struct{ writes, message, want string }{
		{"", `"content":"y","reasoning":"hm"`, `"content":"y","reasoning_content":"hm"}`},
		{"", `"content":"y","reasoning_content":"hm","reasoning":"hm","thinking":"hm"`, `"content":"y","reasoning_content":"hm"}`},
		{"", `"content":"y","reasoning_content":null,"thinking":"hm"`, `"content":"y","reasoning_content":"hm"}`},
		{"message.thinking", `"content":"y","reasoning":"hm","name":"z"`, `"content":"y","thinking":"hm","name":"z"}`},
		{"message.reasoning", `"reasoning_content":"hm",` + call, `"tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":{}}}],"reasoning":"hm"}`},
		{"message.thinking", `"reasoning_content":"hm",` + call, `"tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":{}}}],"thinking":"hm"}`},
		{"message.thinking", `"content":"y","reasoning_content":"hm",` + call, `"content":"y","tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":{}}}]}`},
	} {
		fake := roomtest.NewBackend()
		fake.Model.TemplateSource, fake.Model.Context = c.writes, 4096
		w := roomtest.Post(serve(fake), "/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"user","content":"x"},{"role":"assistant",`+c.message+`},{"role":"user","content":"z"}]}`)
		if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], c.want) ||
			strings.Count(fake.Model.Vars[0], "hm") != strings.Count(c.want, "hm") {
			t.Errorf("%s: %d %s", c.message, w.Code, fake.Model.Vars)
		}
	}
}
