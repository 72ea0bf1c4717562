package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
)

// keepingThoughts prints each message as role:content, with its thought in round brackets and its
// calls in square ones.
func keepingThoughts(vars []byte) (string, error) { return printThoughts(vars, true) }

// droppingThoughts is keepingThoughts without the thoughts.
func droppingThoughts(vars []byte) (string, error) { return printThoughts(vars, false) }

func printThoughts(vars []byte, keep bool) (string, error) {
	var v struct {
		Messages []struct {
			Role, Content    string
			ReasoningContent string `json:"reasoning_content"`
			Calls            []struct {
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Generate bool `json:"add_generation_prompt"`
	}
	if err := json.Unmarshal(vars, &v); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range v.Messages {
		fmt.Fprintf(&b, "%c:", m.Role[0])
		if keep && m.ReasoningContent != "" {
			fmt.Fprintf(&b, "(%s)", m.ReasoningContent)
		}
		b.WriteString(m.Content)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "[%s]", c.Function.Name)
		}
		b.WriteString(" ")
	}
	return b.String(), nil
}

// A putBackTurn is a request and what the model says to it.
type putBackTurn struct {
	path, body string
	says       string
	key        string // of the client; empty = none
	model      string // that answers; empty = the same
}

// A talker sends turns to one server.
type talker struct {
	*roomtest.Backend
	thoughts roomtest.Thoughts
	server   *roomtest.Served
}

func newTalker(template func([]byte) (string, error)) *talker {
	k := &talker{Backend: roomtest.Speaking("")}
	k.Model.Template, k.Keyed = template, true
	k.To.Thoughts = &k.thoughts
	k.server = serve(k.Backend)
	return k
}

// prompt sends a turn and returns the prompt that the model got.
func (k *talker) prompt(t *testing.T, turn putBackTurn) string {
	t.Helper()
	if k.Model.Output = turn.says; turn.model != "" {
		k.Model.Name = turn.model
	}
	r := roomtest.Request(turn.path, turn.body)
	if turn.key != "" {
		r.Header.Set("Authorization", "Bearer "+turn.key)
	}
	w := httptest.NewRecorder()
	k.server.ServeHTTP(w, r)
	if w.Code != http.StatusOK || bytes.Contains(w.Body.Bytes(), []byte(`"error":{`)) {
		t.Fatalf("%s: %d %s", turn.body, w.Code, w.Body)
	}
	return strings.TrimSpace(k.Model.Decode(k.Model.Requests[len(k.Model.Requests)-1].Prompt))
}

const (
	thinks        = "<think>\npondering\n</think>\n\n"
	putCalls      = thinks + "I look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"z\": 1, \"a\": [2]}}\n</tool_call>\n<tool_call>\n{\"name\": \"go\", \"arguments\": {}}\n</tool_call>"
	chats         = "/v1/chat/completions"
	messages      = "/v1/messages"
	responsesPath = "/v1/responses"
)

// chatOf is a chat with messages written as JSON objects.
func chatOf(list string, fields ...string) string {
	return `{"model":"tandem","messages":[` + list + `]` + strings.Join(append([]string{""}, fields...), ",") + `}`
}

// TestDroppedThoughtIsPutBack sends the turns of a conversation. The last prompt has the thoughts
// that the client left out, if the whole conversation before them is the same.
func TestDroppedThoughtIsPutBack(t *testing.T) {
	const (
		ask    = `{"role":"user","content":"x"}`
		answer = `{"role":"assistant","content":"yes"}`
		more   = `{"role":"user","content":"y"}`
		system = `{"role":"system","content":"s"}`
		calls  = `{"role":"assistant","content":"I look.","tool_calls":[{"id":"one","type":"function","function":{"name":"look","arguments":"{\"a\":[2.0],\"z\":1}"}},{"id":"two","type":"function","function":{"name":"go","arguments":""}}]}`
		first  = `{"role":"tool","tool_call_id":"one","content":"1"}`
		second = `{"role":"tool","tool_call_id":"two","content":"2"}`
		ann    = `{"role":"user","content":"x","name":"ann"}`
		bob    = `{"role":"user","content":"x","name":"bob"}`
	)
	asked := putBackTurn{path: chats, body: chatOf(ask), says: thinks + "yes"}
	called := putBackTurn{path: chats, body: chatOf(ask, roomtest.TwoTools), says: putCalls}
	again := func(body string) putBackTurn { return putBackTurn{path: chats, body: body, says: "."} }
	for _, c := range []struct {
		name  string
		turns []putBackTurn
		want  string // the last prompt
	}{
		{"the same conversation", []putBackTurn{asked, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"a stream", []putBackTurn{{path: chats, body: chatOf(ask, `"stream":true`), says: thinks + "yes"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"white space around the answer", []putBackTurn{{path: chats, body: chatOf(ask), says: thinks + "\n yes\n"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"a thought that the client excluded", []putBackTurn{{path: chats, body: chatOf(ask, `"reasoning":{"exclude":true}`), says: thinks + "yes"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"an empty thought from the client", []putBackTurn{asked, again(chatOf(ask + `,{"role":"assistant","content":"yes","reasoning_content":""},` + more))}, "u:x a:(pondering)yes u:y"},
		{"a thought from the client", []putBackTurn{asked, again(chatOf(ask + `,{"role":"assistant","content":"yes","reasoning_content":"mine"},` + more))}, "u:x a:(mine)yes u:y"},
		{"a changed question", []putBackTurn{asked, again(chatOf(more + "," + answer + "," + more))}, "u:y a:yes u:y"},
		{"a changed answer", []putBackTurn{asked, again(chatOf(ask + `,{"role":"assistant","content":"yes."},` + more))}, "u:x a:yes. u:y"},
		{"another role", []putBackTurn{asked, again(chatOf(`{"role":"system","content":"x"},` + answer + "," + more))}, "s:x a:yes u:y"},
		{"another beginning", []putBackTurn{asked, again(chatOf(system + "," + ask + "," + answer + "," + more))}, "s:s u:x a:yes u:y"},
		{"tools that were not there", []putBackTurn{asked, again(chatOf(ask+","+answer+","+more, roomtest.TwoTools))}, "u:x a:yes u:y"},
		{"another key", []putBackTurn{{path: chats, body: chatOf(ask), says: thinks + "yes", key: roomtest.Key}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:yes u:y"},
		{"no key, then one", []putBackTurn{asked, {path: chats, body: chatOf(ask + "," + answer + "," + more), says: ".", key: roomtest.Key}}, "u:x a:yes u:y"},
		{"another model", []putBackTurn{asked, {path: chats, body: chatOf(ask + "," + answer + "," + more), says: ".", model: "acme/other"}}, "u:x a:yes u:y"},
		{"no thought", []putBackTurn{{path: chats, body: chatOf(ask), says: "yes"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:yes u:y"},
		{"calls, written otherwise", []putBackTurn{called, again(chatOf(ask+","+calls+","+first+","+second, roomtest.TwoTools))}, "u:x a:(pondering)I look.[look][go] t:1 t:2"},
		{"another call", []putBackTurn{called, again(chatOf(ask+","+strings.ReplaceAll(calls, `\"z\":1`, `\"z\":2`)+","+first+","+second, roomtest.TwoTools))}, "u:x a:I look.[look][go] t:1 t:2"},
		{"the same large number", []putBackTurn{{path: chats, body: chatOf(ask, roomtest.TwoTools), says: strings.Replace(putCalls, `"z": 1`, `"z": 9007199254740993`, 1)}, again(chatOf(ask+","+strings.ReplaceAll(calls, `\"z\":1`, `\"z\":9007199254740993`)+","+first+","+second, roomtest.TwoTools))}, "u:x a:(pondering)I look.[look][go] t:1 t:2"},
		{"another large number", []putBackTurn{{path: chats, body: chatOf(ask, roomtest.TwoTools), says: strings.Replace(putCalls, `"z": 1`, `"z": 9007199254740993`, 1)}, again(chatOf(ask+","+strings.ReplaceAll(calls, `\"z\":1`, `\"z\":9007199254740992`)+","+first+","+second, roomtest.TwoTools))}, "u:x a:I look.[look][go] t:1 t:2"},
		{"the same name", []putBackTurn{{path: chats, body: chatOf(ann), says: thinks + "yes"}, again(chatOf(ann + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"another name", []putBackTurn{{path: chats, body: chatOf(ann), says: thinks + "yes"}, again(chatOf(bob + "," + answer + "," + more))}, "u:x a:yes u:y"},
		{"results in the order of the calls, then otherwise", []putBackTurn{
			{path: chats, body: chatOf(ask+","+calls+","+first+","+second, roomtest.TwoTools), says: thinks + "yes"},
			again(chatOf(ask+","+calls+`,{"role":"tool","tool_call_id":"two","content":"1"},{"role":"tool","tool_call_id":"one","content":"2"},`+answer+","+more, roomtest.TwoTools)),
		}, "u:x a:I look.[look][go] t:1 t:2 a:yes u:y"},
		{"two answers to one question, the first", []putBackTurn{asked, {path: chats, body: chatOf(ask), says: "<think>\nother\n</think>\n\nno"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(pondering)yes u:y"},
		{"two answers to one question, the second", []putBackTurn{asked, {path: chats, body: chatOf(ask), says: "<think>\nother\n</think>\n\nno"}, again(chatOf(ask + `,{"role":"assistant","content":"no"},` + more))}, "u:x a:(other)no u:y"},
		{"two thoughts before one answer", []putBackTurn{asked, {path: chats, body: chatOf(ask), says: "<think>\nlater\n</think>\n\nyes"}, again(chatOf(ask + "," + answer + "," + more))}, "u:x a:(later)yes u:y"},
		{"several turns", []putBackTurn{asked, {path: chats, body: chatOf(ask + "," + answer + "," + more), says: "<think>\nand\n</think>\n\nso"}, again(chatOf(ask + "," + answer + "," + more + `,{"role":"assistant","content":"so"},` + ask))}, "u:x a:(pondering)yes u:y a:(and)so u:x"},
		{"a thought from the client, then none", []putBackTurn{asked, {path: chats, body: chatOf(ask + `,{"role":"assistant","content":"yes","reasoning":"mine"},` + more), says: "<think>\nand\n</think>\n\nso"}, again(chatOf(ask + `,{"role":"assistant","content":"yes","reasoning":"mine"},` + more + `,{"role":"assistant","content":"so"},` + ask))}, "u:x a:(mine)yes u:y a:(and)so u:x"},
		{"an answer that goes on", []putBackTurn{asked, {path: chats, body: chatOf(ask+","+answer, `"continue_final_message":true`), says: " sir"}, again(chatOf(ask + `,{"role":"assistant","content":"yes sir"},` + more))}, "u:x a:(pondering)yes sir u:y"},
		{"messages", []putBackTurn{
			{path: messages, body: `{"model":"tandem","max_tokens":900,"messages":[` + ask + `],` + roomtest.AnthropicTools + `}`, says: putCalls},
			{path: messages, body: `{"model":"tandem","max_tokens":900,"messages":[` + ask + `,{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"one","name":"look","input":{"a":[2],"z":1}},{"type":"tool_use","id":"two","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"one","content":"1"},{"type":"tool_result","tool_use_id":"two","content":"2"}]}],` + roomtest.AnthropicTools + `}`, says: "."},
		}, "u:x a:(pondering)I look.[look][go] t:1 t:2"},
		{"responses", []putBackTurn{
			{path: responsesPath, body: `{"model":"tandem","input":[` + ask + `]}`, says: thinks + "yes"},
			{path: responsesPath, body: `{"model":"tandem","input":[` + ask + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]},` + more + `]}`, says: "."},
		}, "u:x a:(pondering)yes u:y"},
		{"Ollama", []putBackTurn{
			{path: "/api/chat", body: chatOf(ask, `"stream":false`), says: thinks + "yes"},
			{path: "/api/chat", body: chatOf(ask+","+answer+","+more, `"stream":false`), says: "."},
		}, "u:x a:(pondering)yes u:y"},
		{"a chat, then messages", []putBackTurn{asked, {path: messages, body: `{"model":"tandem","max_tokens":9,"messages":[` + ask + "," + answer + "," + more + `]}`, says: "."}}, "u:x a:(pondering)yes u:y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTalker(keepingThoughts)
			got := ""
			for _, turn := range c.turns {
				got = k.prompt(t, turn)
			}
			if got != c.want {
				t.Errorf("the prompt is %q, want %q", got, c.want)
			}
			for _, kept := range k.thoughts.Kept {
				if bytes.Contains(kept.Sealed, []byte("pondering")) {
					t.Errorf("a thought is not sealed: %q", kept.Sealed)
				}
			}
		})
	}
}

// TestRunSaysWhatWasPutBack: a run says how many thoughts are in its prompt that the client had left
// out. The count of a prompt has them too, also where only a short answer leaves room for them. Where
// the template drops thoughts, or the setting is off, there are none.
func TestRunSaysWhatWasPutBack(t *testing.T) {
	const (
		first = `{"role":"user","content":"x"}`
		// the closing tag is no token of its own here, so it counts
		tokens = len("well, let me see\n</think>")
		both   = first + `,{"role":"assistant","content":"yes"},{"role":"user","content":"y"}`
	)
	for _, c := range []struct {
		name     string
		template func([]byte) (string, error)
		off      bool
		context  int
		fields   string // of the request, more
		want     int    // thoughts
		more     int    // tokens that the count has and the prompt has not
	}{
		{"a template that keeps them", keepingThoughts, false, 4096, "", 1, 0},
		{"one that drops them", droppingThoughts, false, 4096, "", 0, 0},
		{"the setting is off", keepingThoughts, true, 4096, "", 0, 0},
		{"no room for the answer", keepingThoughts, false, 40, "", 0, len("(well, let me see)")},
		{"room for a long answer is missing", keepingThoughts, false, 40, `"max_tokens":900`, 0,
			len("(well, let me see)")},
		{"room for a short answer", keepingThoughts, false, 40, `"max_tokens":2`, 1, 0},
		{"no room for the thoughts", keepingThoughts, false, 30, `"max_tokens":2`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTalker(c.template)
			k.thoughts.Off, k.Model.Context = c.off, 4096
			k.prompt(t, putBackTurn{path: chats, body: chatOf(first),
				says: "<think>\nwell, let me see\n</think>\n\nyes"})
			k.Model.Context = c.context
			body := chatOf(both)
			if c.fields != "" {
				body = chatOf(both, c.fields)
			}
			prompt := k.prompt(t, putBackTurn{path: chats, body: body, says: "."})
			run := k.LastRun()
			if got := strings.Contains(prompt, "(well, let me see)"); got != (c.want > 0) ||
				run.PutBackThoughts != c.want || (run.PutBackTokens == tokens) != got {
				t.Errorf("the prompt is %q, the run says %d of %d tokens", prompt,
					run.PutBackThoughts, run.PutBackTokens)
			}
			// a client that does not say how long its answer may be is told of the longest prompt
			for _, body := range []string{chatOf(both), body} {
				more := 0
				if body == chatOf(both) {
					more = c.more
				}
				w := roomtest.Post(k.server, "/v1/messages/count_tokens", body)
				var counted struct {
					N int `json:"input_tokens"`
				}
				if err := json.Unmarshal(w.Body.Bytes(), &counted); err != nil ||
					counted.N != run.PromptTokens+more {
					t.Errorf("%s: %s: %v, the prompt has %d tokens, want %d more", body, w.Body, err,
						run.PromptTokens, more)
				}
			}
			r, err := control.NewReport(run)
			if err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(r.Facts); strings.Contains(said, "{thoughts a thought of 25 tokens was put back") != (c.want > 0) {
				t.Errorf("the report says %s", said)
			}
		})
	}
}

// A run that was cut off goes on after its own prompt, whichever thoughts are kept today.
func TestResumedRunKeepsItsPrompt(t *testing.T) {
	const (
		first  = `{"role":"user","content":"x"}`
		both   = first + `,{"role":"assistant","content":"yes"},{"role":"user","content":"y"}`
		plain  = "u:x a:yes u:y "
		filled = "u:x a:(pondering)yes u:y "
	)
	for _, c := range []struct {
		name    string
		kept    bool   // a thought, today
		prompt  string // of the run
		left    string // of its answer
		putBack int    // into the run's prompt
	}{
		{"the thought is gone", false, filled, "so", 1},
		{"the thought came later", true, plain, "so", 0},
		{"nothing changed", true, filled, "so", 1},
		{"its answer had not begun", false, filled, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTalker(keepingThoughts)
			if k.prompt(t, putBackTurn{path: chats, body: chatOf(first), says: thinks + "yes"}); !c.kept {
				k.thoughts.Kept = nil
			}
			replay := fmt.Sprintf(`{"seed":7,"owner":0,"put_back":{"thoughts":%d,"tokens":%d}}`,
				c.putBack, 9*c.putBack)
			k.Rows = append(k.Rows, control.Run{ID: 2, Endpoint: chats, EndedAt: roomtest.Ended,
				FinishReason: control.FinishInterrupted})
			k.Texts[2] = control.RunText{Run: 2, Model: k.Model.Name, Request: []byte(chatOf(both)),
				Replay: []byte(replay), Prompt: len(c.prompt),
				Tail: api.TokenBytes([]int32(c.prompt + c.left))}
			k.Model.Output = "so be it"
			w := roomtest.Post(k.server, "/app/runs/2/resume", `{}`)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"so be it"`) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			got := k.Model.Requests[len(k.Model.Requests)-1]
			if prompt, left := string(got.Prompt), k.Model.Decode(got.Generated); prompt != c.prompt ||
				left != c.left {
				t.Errorf("%q goes on after %q, want %q after %q", left, prompt, c.left, c.prompt)
			}
			for i, at := range got.Boundaries {
				if at > len(c.prompt) || i > 0 && at <= got.Boundaries[i-1] {
					t.Errorf("the boundaries are %v in a prompt of %d", got.Boundaries, len(c.prompt))
				}
			}
			if run := k.LastRun(); run.PutBackThoughts != c.putBack || run.PutBackTokens != 9*c.putBack ||
				run.PromptTokens != len(c.prompt) {
				t.Errorf("the run says %+v", run)
			}
		})
	}
}

// An answer ends although its thought cannot be kept in time. The log says so.
func TestAnswerDoesNotWaitForItsThought(t *testing.T) {
	fake, thoughts := roomtest.Speaking(thinks+"yes"), roomtest.Thoughts{Hold: make(chan struct{})}
	defer close(thoughts.Hold)
	fake.Model.Template = keepingThoughts
	fake.To.Thoughts = &thoughts
	var log strings.Builder
	fake.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := serve(fake)
	start := time.Now()
	w := roomtest.Post(s, chats, chatOf(`{"role":"user","content":"x"}`))
	if took := time.Since(start); w.Code != http.StatusOK || took > 10*time.Second {
		t.Errorf("%d %s after %v", w.Code, w.Body, took)
	}
	if !strings.Contains(log.String(), "a thought is not kept") ||
		!strings.Contains(log.String(), "takes longer than 1s") {
		t.Errorf("the log has %s", log.String())
	}
}
