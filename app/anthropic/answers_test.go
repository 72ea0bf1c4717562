package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// messageWith requests a reply whole and in events, checks that both are equal, and returns it.
func messageWith(t *testing.T, fake *roomtest.Backend, body string) roomtest.MessageReply {
	t.Helper()
	var whole roomtest.MessageReply
	w := postMessages(t, fake, body)
	if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || w.Code != 200 ||
		w.Header().Get("Request-Id") == "" || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d %v %s", body, w.Code, w.Header(), w.Body)
	}
	w = postMessages(t, fake, strings.Replace(body, "{", `{"stream":true,`, 1))
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" ||
		w.Header().Get("Request-Id") == "" {
		t.Fatalf("%s: %d %v", body, w.Code, w.Header())
	}
	streamed := roomtest.JoinMessage(t, roomtest.ReadMessageEvents(t, w.Body.String()))
	for how, r := range map[string]*roomtest.MessageReply{"whole": &whole, "in events": &streamed} {
		if !strings.HasPrefix(r.ID, "msg_") {
			t.Errorf(`%s %s: r.ID = %q, want it to start with "msg_"`, body, how, r.ID)
		}
		if r.Type != "message" {
			t.Errorf(`%s %s: r.Type = %q, want "message"`, body, how, r.Type)
		}
		if r.Role != "assistant" {
			t.Errorf(`%s %s: r.Role = %q, want "assistant"`, body, how, r.Role)
		}
		if r.Model != "acme/coder" {
			t.Errorf(`%s %s: r.Model = %q, want "acme/coder"`, body, how, r.Model)
		}
		if r.Content == nil {
			t.Errorf("%s %s: r.Content is nil", body, how)
		}
		if r.Timings == nil {
			t.Fatalf("%s %s: r.Timings is nil", body, how)
		}
		if r.Timings.RunID == 0 {
			t.Errorf("%s %s: r.Timings.RunID is 0", body, how)
		}
		for i, b := range r.Content {
			if (b.Type == "thinking") != (b.Signature != "") ||
				(b.Type == "tool_use") != (len(b.ID) == api.CallID) {
				t.Errorf("%s %s: a block %+v", body, how, b)
			}
			r.Content[i].ID = ""
		}
	}
	if fmt.Sprint(whole, whole.Usage) != fmt.Sprint(streamed, streamed.Usage) {
		t.Errorf("%s:\nin events %v %+v\nwhole     %v %+v",
			body, streamed, streamed.Usage, whole, whole.Usage)
	}
	return whole
}

// TestMessageHasTextThoughtAndCallBlocks: the output of a model becomes blocks, whole and in
// events, wherever its tokens end.
func TestMessageHasTextThoughtAndCallBlocks(t *testing.T) {
	const thinks = `"thinking":{"type":"adaptive"}`
	for _, c := range []struct{ name, says, fields, want string }{
		{"text", "hello", roomtest.AnthropicTools, "text hello|end_turn"},
		{"nothing but a call", roomtest.LookCall, roomtest.AnthropicTools, `tool_use look{"z": "é}", "a": [1]}|tool_use`},
		{"text and calls", "I look.\n" + roomtest.LookCall + "\n" + roomtest.GoCall, roomtest.AnthropicTools, `text I look.|tool_use look{"z": "é}", "a": [1]}|tool_use go{}|tool_use`},
		{"one call alone", roomtest.LookCall + roomtest.GoCall, roomtest.AnthropicTools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, `tool_use look{"z": "é}", "a": [1]}|tool_use`},
		{"a thought", "<think>\nhm\n</think>\n\nyes", thinks, "thinking hm|text yes|end_turn"},
		{"a thought that the request did not ask for", "<think>\nhm\n</think>\n\nyes", `"top_k":1`, "thinking hm|text yes|end_turn"},
		{"a thought that is not shown", "<think>\nhm\n</think>\n\nyes", `"thinking":{"type":"adaptive","display":"omitted"}`, "text yes|end_turn"},
		{"a thought, text and a call", "<think>\nhm\n</think>\n\nSo: " + roomtest.GoCall, roomtest.AnthropicTools + "," + thinks, "thinking hm|text So:|tool_use go{}|tool_use"},
		{"a thought alone", "<think>\nhm", thinks, "thinking hm|end_turn"},
		{"no tools", roomtest.GoCall, `"top_k":1`, "text " + roomtest.GoCall + "|end_turn"},
		{"tools that may not be called", roomtest.GoCall, roomtest.AnthropicTools + `,"tool_choice":{"type":"none"}`, "text " + roomtest.GoCall + "|end_turn"},
		{"a stop text", "one two three", `"stop_sequences":["two"]`, "text one |stop_sequence|two"},
		{"a stop text in a call", roomtest.LookCall + "[1]", roomtest.AnthropicTools + `,"stop_sequences":["[1]"]`, "tool_use " + roomtest.Looked + "|stop_sequence|[1]"},
		{"its limit", "hello", `"max_tokens":3`, "text hel|max_tokens"},
		{"its limit in a call", roomtest.LookCall, roomtest.AnthropicTools + `,"max_tokens":50`, "text " + roomtest.LookCall[:49] + "|max_tokens"},
		{"its limit before an argument", roomtest.LookCall, roomtest.AnthropicTools + `,"max_tokens":44`, "text " + roomtest.LookCall[:44] + "|max_tokens"},
		{"its limit after an argument", roomtest.LookCall, roomtest.AnthropicTools + `,"max_tokens":56`, "text " + roomtest.LookCall[:56] + "|max_tokens"},
		{"no room", "hello", `"max_tokens":0`, "text |max_tokens"},
		{"the context's end", strings.Repeat("a", 5000), `"max_tokens":5000`, "text " + strings.Repeat("a", 4093) + "|model_context_window_exceeded"},
		{"the limit at the context's end", strings.Repeat("a", 5000), `"max_tokens":4093`, "text " + strings.Repeat("a", 4093) + "|max_tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			fields := roomtest.MessageBody(c.fields)
			if strings.Contains(c.fields, "max_tokens") {
				fields = strings.Replace(fields, `"max_tokens":400,`, "", 1)
			}
			got := messageWith(t, fake, fields)
			if got.String() != c.want {
				t.Errorf("got  %.200s\nwant %.200s", got, c.want)
			}
			u := got.Usage
			if u.Input+u.CacheRead != 3 {
				t.Errorf("u.Input+u.CacheRead is %v, want %v", u.Input+u.CacheRead, 3)
			}
			if u.CacheRead != 1 {
				t.Errorf("u.CacheRead = %v, want 1", u.CacheRead)
			}
			if u.CacheCreated != 0 {
				t.Errorf("u.CacheCreated = %v, want 0", u.CacheCreated)
			}
			if u.Output > len(c.says) {
				t.Errorf("u.Output = %v, want at most %v", u.Output, len(c.says))
			}
			if c.name == "text" && u.Output != 5 {
				t.Errorf("u.Output = %v, want 5", u.Output)
			}
			r := fake.LastRun()
			if r.FinishReason == "" {
				t.Error("r.FinishReason is empty")
			}
			if r.Endpoint != "/v1/messages" {
				t.Errorf(`r.Endpoint = %q, want "/v1/messages"`, r.Endpoint)
			}
			if r.CompletionTokens != u.Output {
				t.Errorf("r.CompletionTokens = %v, want %v", r.CompletionTokens, u.Output)
			}
			if fake.Model.OpenMatchers != 0 {
				t.Errorf("fake.Model.OpenMatchers = %v, want 0", fake.Model.OpenMatchers)
			}
			if fake.Held != 0 {
				t.Errorf("fake.Held = %v, want 0", fake.Held)
			}
		})
	}
}

// The events have the documented order, whatever the length of the tokens.
func TestMessageEventsComeInOrder(t *testing.T) {
	all := []rune("<think>\nhm\n</think>\n\nSo:\n" + roomtest.LookCall + "\n" + roomtest.GoCall)
	const thought = "content_block_start content_block_delta content_block_delta content_block_stop "
	const other = "content_block_start content_block_delta content_block_stop "
	want := "message_start " + thought + other + other + other + "message_delta message_stop"
	for n := 1; n <= len(all); n += 4 {
		fake := roomtest.Speaking("")
		fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token,
			error] {
			return func(yield func(engine.Token, error) bool) {
				defer r.Done(engine.Stats{PromptTokens: len(r.Prompt)})
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
		body := roomtest.MessageBody(roomtest.AnthropicTools, `"thinking":{"type":"adaptive"}`)
		if got := messageWith(t, fake,
			body); got.String() != `thinking hm|text So:|tool_use look{"z": "é}", "a": [1]}|tool_use go{}|tool_use` {
			t.Errorf("pieces of %d: %v", n, got)
		}
		w := postMessages(t, fake, strings.Replace(body, "{", `{"stream":true,`, 1))
		var order []string
		for _, e := range roomtest.ReadMessageEvents(t, w.Body.String()) {
			if last := len(order) - 1; last < 0 || e.Type != "content_block_delta" ||
				order[last] != e.Type || e.Delta.Signature != "" {
				order = append(order, e.Type)
			}
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("pieces of %d:\n%s\nwant\n%s", n, got, want)
		}
	}
}

// A client gets pings while nothing is sent, before the message begins and within it. An error
// after a ping comes in the stream.
func TestMessagePingsFillSilence(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fake := roomtest.Speaking("")
			fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
				time.Sleep(8 * time.Second) // a long prefill
				yield("a", nil)
				time.Sleep(3 * time.Second)
				if fails {
					yield("", &engine.Error{Code: engine.CodeClosed,
						Message: "the model was unloaded; send the request again"})
					return
				}
				yield("b", nil)
			})
			w := roomtest.NewWriter()
			r := roomtest.Request("/v1/messages", roomtest.MessageBody(`"stream":true`))
			serve(fake).ServeHTTP(w, r)
			var got []string
			for _, e := range w.Events {
				at, text, _ := strings.Cut(e, ": ")
				for _, event := range roomtest.ReadMessageEvents(t, text) {
					got = append(got, at+" "+event.Type)
				}
			}
			want := "2s ping|7s ping|8s message_start|8s content_block_start|8s content_block_delta|10s ping|11s "
			if fails {
				want += "error"
			} else {
				want += "content_block_delta|11s content_block_stop|11s message_delta|11s message_stop"
			}
			if strings.Join(got, "|") != want || w.Status != 200 {
				t.Errorf("fails %t: %d %q\nwant %q", fails, w.Status, got, want)
			}
			if last := w.Events[len(w.Events)-1]; fails &&
				!strings.HasSuffix(last,
					`data: {"type":"error","error":{"type":"overloaded_error","message":"the model was unloaded; send the request again"}}`) {
				t.Errorf("a message that fails ends with %s", last)
			}
		})
	}
}

// An error before the first byte is a whole response with its own status. It says when to try again.
func TestMessageErrorBeforeFirstByteHasStatus(t *testing.T) {
	fake := roomtest.Speaking("")
	fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
		yield("", &engine.Error{Code: engine.CodeQueueFull, Message: "the queue is full"})
	})
	for _, fields := range []string{`"stream":true`, `"stream":false`} {
		w := postMessages(t, fake, roomtest.MessageBody(fields))
		if e := roomtest.DecodeAnthropic(t, w); w.Code != 529 || e.Error.Type != "overloaded_error" ||
			w.Header().Get("Retry-After") != "1" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
}

// A run of this endpoint is cancelled, kept, verified and resumed as a chat's run is.
func TestMessageRunIsCancelledKeptAndResumed(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm\n</think>\n\nSo: " + roomtest.GoCall)
	body := roomtest.MessageBody(roomtest.AnthropicTools, `"thinking":{"type":"adaptive"}`)
	s := serve(fake)
	if w := roomtest.Post(s, "/v1/messages", body); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w := roomtest.Post(s, "/app/runs/1/verify", `{}`)
	var v control.Replayed
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Tokens == 0 ||
		v.Same != v.Tokens {
		t.Errorf("computed again: %d %s", w.Code, w.Body)
	}
	// The boundaries are at the messages.
	if got := fake.Model.Requests[0]; len(got.Boundaries) == 0 || got.Special == nil &&
		len(fake.Model.Special()) > 0 {
		t.Errorf("asked for %+v", got)
	}

	fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/messages", EndedAt: roomtest.Ended,
		FinishReason: "interrupted"}}
	prompt, _ := fake.Model.Encode("ux\n", false)
	left, _ := fake.Model.Encode("<think>\nh", false)
	fake.Left = slices.Concat(prompt, left)
	fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: fake.Model.Name,
		Request: []byte(body), Prompt: len(prompt), Replay: []byte(`{"seed":77}`)}}
	fake.Model.Requests = nil
	w = roomtest.Post(s, "/app/runs/1/resume", `{"stream":true}`)
	if got := roomtest.JoinMessage(t, roomtest.ReadMessageEvents(t,
		w.Body.String())); got.String() != "thinking hm|text So:|tool_use go{}|tool_use" ||
		!slices.Equal(fake.Model.Requests[0].Generated, left) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if r := fake.LastRun(); r.Resumes != 1 || r.Endpoint != "/v1/messages" {
		t.Errorf("its row is %+v", r)
	}

	for _, stream := range []bool{false, true} {
		fake := roomtest.Speaking("")
		s := serve(fake)
		fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
			yield("a", nil)
			s.API.CancelRun("1")
			<-ctx.Done()
			yield("", ctx.Err())
		})
		w := roomtest.Post(s, "/v1/messages",
			roomtest.MessageBody(fmt.Sprintf(`"stream":%v`, stream)))
		var got roomtest.MessageReply
		if stream {
			got = roomtest.JoinMessage(t, roomtest.ReadMessageEvents(t, w.Body.String()))
		} else if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if got.String() != "text a|max_tokens" || w.Code != http.StatusOK || !got.Timings.Stopped {
			t.Errorf("stream %t: %d %s", stream, w.Code, w.Body)
		}
		if r := fake.LastRun(); r.FinishReason != control.FinishCancel {
			t.Errorf("stream %t: its row is %+v", stream, r)
		}
	}
}

// TestMessageThoughtEndsAtBudget: a thought ends at its budget.
func TestMessageThoughtEndsAtBudget(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm, well\n</think>\n\nyes")
	fake.Model.Continuation = "so be it"
	got := messageWith(t, fake, roomtest.MessageBody(`"thinking":{"type":"enabled","budget_tokens":3}`))
	if got.String() != "thinking hm|text so be it|end_turn" || got.Usage.Details.Thinking != 3 {
		t.Errorf("%v %+v", got, got.Usage)
	}
}
