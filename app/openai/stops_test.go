package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// A stop text ends the answer's text, up to its last byte. It ends nothing else that the model
// writes.
func TestStopTextEndsTheAnswerOnly(t *testing.T) {
	const thought = "<think>\nEND here\n</think>\n\n"
	saysEND := strings.Replace(roomtest.GoCall, "{}", `{"z": "END"}`, 1)
	for _, c := range []struct {
		name, says, fields string
		want               saying
		all                string // the text of all its tokens
	}{
		{"after a thought", thought + "yes END no", `"stop":"END"`, saying{thought: "END here", text: "yes ", finish: "stop"}, thought + "yes END"},
		{"after an excluded thought", thought + "yes END no", `"stop":"END","reasoning":{"exclude":true}`, saying{text: "yes ", finish: "stop"}, thought + "yes END"},
		{"only in the thought", thought + "yes", `"stop":["here","END"]`, saying{thought: "END here", text: "yes", finish: "stop"}, thought + "yes"},
		{"the beginning of a thought", thought + "yes", `"stop":["</think>","<think>"]`, saying{finish: "stop"}, "<think>"},
		{"the end of a thought", thought + "yes", `"stop":["</think>","yes"]`, saying{thought: "END here\n", finish: "stop"}, "<think>\nEND here\n</think>"},
		{"the end of a thought and more", thought + "yes", `"stop":["</think>\n\n"]`, saying{thought: "END here\n", finish: "stop"}, thought},
		{"the newlines of a thought", thought + "yes", `"stop":["\n"]`, saying{thought: "END here", text: "yes", finish: "stop"}, thought + "yes"},
		{"over the end of a thought", "<think>EN</think>D", `"stop":"END"`, saying{thought: "EN", text: "D", finish: "stop"}, "<think>EN</think>D"},
		{"a thought that is none", "a <think>END", `"stop":["END"]`, saying{text: "a <think>", finish: "stop"}, "a <think>END"},
		{"in a call", "So.\n" + saysEND + "\n" + roomtest.GoCall, roomtest.TwoTools + `,"stop":["END","}","tool_call"]`, saying{text: "So.", calls: []string{`go{"z": "END"}`, "go{}"}, finish: "tool_calls"}, "So.\n" + saysEND + "\n" + roomtest.GoCall},
		{"after a call", roomtest.GoCall + "\nbut END", roomtest.TwoTools + `,"stop":"END"`, saying{text: "but ", calls: []string{"go{}"}, finish: "stop"}, roomtest.GoCall + "\nbut END"},
		{"on both sides of a call", "EN" + roomtest.GoCall + "D", roomtest.TwoTools + `,"stop":"END"`, saying{text: "END", calls: []string{"go{}"}, finish: "tool_calls"}, "EN" + roomtest.GoCall + "D"},
		{"the line before a call", "So.\n" + roomtest.GoCall, roomtest.TwoTools + `,"stop":["\n"]`, saying{text: "So.", calls: []string{"go{}"}, finish: "tool_calls"}, "So.\n" + roomtest.GoCall},
		{"a line", "So.\nMore", roomtest.TwoTools + `,"stop":["\n"]`, saying{text: "So.", finish: "stop"}, "So.\nM"},
		{"a line where no call can be", "So.\nMore", `"stop":["\n"]`, saying{text: "So.", finish: "stop"}, "So.\n"},
		{"the beginning of a call", "So.\n" + roomtest.GoCall, roomtest.TwoTools + `,"stop":["<tool_call>"]`, saying{text: "So.\n", finish: "stop"}, "So.\n<tool_call>"},
		{"the end of a call", roomtest.GoCall + "\n" + saysEND, roomtest.TwoTools + `,"stop":["</tool_call>"]`, saying{calls: []string{"go{}"}, finish: "tool_calls"}, roomtest.GoCall},
		{"the beginning of the second", roomtest.GoCall + "\n" + saysEND, roomtest.TwoTools + `,"stop":["\n<tool_call>"]`, saying{calls: []string{"go{}"}, finish: "tool_calls"}, roomtest.GoCall + "\n<tool_call>"},
		{"a text and the mark of a call", "EN" + roomtest.GoCall, roomtest.TwoTools + `,"stop":["END","<tool_call>"]`, saying{text: "EN", finish: "stop"}, "EN<tool_call>"},
		{"a text before it", "a END b" + roomtest.GoCall, roomtest.TwoTools + `,"stop":["<tool_call>","END"]`, saying{text: "a ", finish: "stop"}, "a END"},
		{"the beginning of a mark", "a <tool_ca", roomtest.TwoTools + `,"stop":["<tool_call>"]`, saying{text: "a <tool_ca", finish: "stop"}, "a <tool_ca"},
		{"a mark without a call", "a <tool_ca", roomtest.TwoTools + `,"stop":["<tool"]`, saying{text: "a ", finish: "stop"}, "a <tool_ca"},
		{"the same at the limit", "a <tool_call> b", roomtest.TwoTools + `,"stop":["<tool"],"max_tokens":12`, saying{text: "a", finish: "length"}, "a <tool_call"},
		{"the beginning of one", "a EN", roomtest.TwoTools + `,"stop":"END"`, saying{text: "a EN", finish: "stop"}, "a EN"},
		{"the beginning at the limit", "a END", roomtest.TwoTools + `,"stop":"END","max_tokens":4`, saying{text: "a EN", finish: "length"}, "a EN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			got := chatWith(t, fake, roomtest.ChatBody(c.fields, `"return_token_ids":true`))[0]
			if text := fake.Model.Decode(got.ids); text != c.all {
				t.Errorf("its tokens are %q, want %q", text, c.all)
			}
			if got.ids = nil; fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			w := roomtest.Post(serve(fake), "/app/runs/1/verify", `{}`)
			var v control.Replayed
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Same != len(c.all) ||
				v.Tokens != len(c.all) {
				t.Errorf("computed again: %d %s, %v", w.Code, w.Body, err)
			}
		})
	}
}

// A stop text also matches the markup of a call, where calls are not JSON. It does not match a
// call's arguments.
func TestStopTextMatchesXMLMarkup(t *testing.T) {
	const says = "So:\n<tool_call>\n<function=look>\n<parameter=z>\nEND\n</parameter>\n</function>\n</tool_call>"
	for _, stop := range []string{"<tool_call>", "<function=", "<function=look>", "<parameter=z>",
		"</parameter>", "</function>\n", "</tool_call>", "END"} {
		fake := roomtest.Speaking(says)
		fake.Model.TemplateSource = "<tool_call> <function="
		want := says // a call's text is no text of the answer
		if before, _, _ := strings.Cut(says, stop); stop != "END" {
			want = before + stop
		}
		got := chatWith(t, fake, roomtest.ChatBody(roomtest.TwoTools,
			fmt.Sprintf(`"stop":%q,"return_token_ids":true`, stop)))[0]
		if text := fake.Model.Decode(got.ids); text != want {
			t.Errorf("%q: its tokens are %q, want %q", stop, text, want)
		}
	}
}

// A stop text counts after a thought, also if the prompt began the thought or the server ended it.
func TestStopTextCountsAfterThought(t *testing.T) {
	for _, c := range []struct {
		name, says, later, fields string
		opened                    bool // by the prompt
		want                      saying
		all                       string
	}{
		{"begun by the prompt", "hm END\n</think>\n\nyes END no", "", `"stop":"END"`, true, saying{thought: "hm END", text: "yes ", finish: "stop"}, "hm END\n</think>\n\nyes END"},
		{"closed", "<think>\nEND, well", "so END be it", `"stop":["END"],"thinking_budget":4`, false, saying{thought: "END", text: "so ", finish: "stop"}, "<think>\nEND" + closed + "so END"},
		{"closed at a stop text", "<think>\nEND, well", "so END be it", `"stop":["END","</think>"],"thinking_budget":4`, false, saying{thought: "END\n", finish: "stop"}, "<think>\nEND\n</think>"},
		{"begun and closed", "END, well", "so END be it", `"stop":["END"],"thinking_budget":3`, true, saying{thought: "END", text: "so ", finish: "stop"}, "END" + closed + "so END"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := roomtest.Speaking(c.says)
			fake.Model.Continuation = c.later
			if c.opened {
				fake.Model.Template = func([]byte) (string, error) { return "x<think>\n", nil }
			}
			got := chatWith(t, fake, roomtest.ChatBody(c.fields, `"return_token_ids":true`))[0]
			if text := fake.Model.Decode(got.ids); text != c.all {
				t.Errorf("its tokens are %q, want %q", text, c.all)
			}
			if got.ids = nil; fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// An answer that was cut off anywhere ends where it would have ended without the cut.
func TestResumedAnswerStopsAtSameText(t *testing.T) {
	const all = "<think>\nEND here\n</think>\n\nyes END"
	for at := range len(all) {
		fake := roomtest.Speaking(all + " no")
		fake.Rows = []control.Run{{ID: 1, Endpoint: "/v1/chat/completions", EndedAt: roomtest.Ended,
			FinishReason: "interrupted"}}
		body := roomtest.ChatBody(roomtest.TwoTools, `"stop":["END","think"]`)
		fake.Texts = map[int64]control.RunText{1: {Run: 1, Model: fake.Model.Name,
			Request: []byte(body), Prompt: 3, Replay: []byte(`{"seed":77}`)}}
		fake.Left = []int32("ux\n" + all[:at])
		w := roomtest.Post(serve(fake), "/app/runs/1/resume",
			`{"return_token_ids":true}`)
		var reply roomtest.ChatReply
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK ||
			len(reply.Choices) != 1 {
			t.Fatalf("cut after %d: %d %s, %v", at, w.Code, w.Body, err)
		}
		c := reply.Choices[0]
		if m := c.Message; roomtest.Value(m.Content) != "yes " || roomtest.Value(m.Reasoning) != "END here" ||
			roomtest.Value(c.FinishReason) != "stop" || !slices.Equal(c.TokenIDs, []int32(all)) {
			t.Errorf("cut after %d: %s", at, w.Body)
		}
	}
}
