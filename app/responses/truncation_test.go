package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/modeltest"
	"tandem/app/roomtest"
)

// TestTruncationLeavesOutTheEarliestTurns: with truncation auto, a conversation that does not fit loses
// whole turns at its beginning, until there is room for the answer. The answer and the run say how many, and
// its count is that of what is left. Without it the request is refused.
func TestTruncationLeavesOutTheEarliestTurns(t *testing.T) {
	say := func(role string, n int) string {
		return fmt.Sprintf(`{"role":%q,"content":%q}`, role, strings.Repeat(role[:1], n))
	}
	call := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
	}
	result := func(id string, n int) string {
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, strings.Repeat("r", n))
	}
	lines := func(list ...string) string { return strings.Join(list, "\n") + "\n" }
	u, a, r := strings.Repeat("u", 50), strings.Repeat("a", 50), strings.Repeat("r", 50)
	for _, c := range []struct {
		input  []string
		want   string // the prompt; empty if it is refused all the same
		left   string // messages left out, of all
		fields string
	}{
		{[]string{say("user", 900), say("user", 2)}, lines("uuu"), "1 of 2", ``},
		{[]string{say("developer", 3), say("user", 100), say("assistant", 100), say("user", 2)}, lines("sddd", "uuu"), "2 of 4", ``},
		{[]string{say("user", 50), say("assistant", 50), say("user", 50), say("assistant", 50), say("user", 3)},
			lines("u"+u, "a"+a, "uuuu"), "2 of 5", ``},
		{[]string{say("user", 100), call("x"), result("x", 100), say("user", 2)}, lines("uuu"), "3 of 4", ``},
		{[]string{say("user", 5), call("x"), result("x", 150), call("y"), result("y", 50)}, lines("uuuuuu", "a", "t"+r), "2 of 5", ``},
		{[]string{say("user", 5), call("x"), call("y"), result("x", 150), result("y", 50)}, "", "", ``},
		{[]string{say("user", 9), say("user", 400)}, "", "", ``},
		{[]string{say("user", 50), say("assistant", 50), say("user", 50), say("assistant", 50), say("user", 3)},
			lines("u"+u, "a"+a, "uuuu"), "2 of 5", `,"max_output_tokens":20`},
		{[]string{say("user", 60), say("user", 90), say("user", 70)}, lines("u" + strings.Repeat("u", 70)), "2 of 3", ``},
		{[]string{say("user", 60), say("user", 90), say("user", 70)},
			lines("u"+strings.Repeat("u", 90), "u"+strings.Repeat("u", 70)), "1 of 3", `,"max_output_tokens":20`},
		{[]string{say("user", 60), say("user", 90), say("user", 70)}, lines("u" + strings.Repeat("u", 70)), "2 of 3", `,"max_output_tokens":900`},
		{[]string{say("user", 50), say("assistant", 50), say("user", 50)}, lines("u"+u, "a"+a, "u"+u), "", ``}, // fits
		{[]string{say("developer", 3), say("user", 9), say("user", 190)}, lines("sddd", "u"+strings.Repeat("u", 190)), "1 of 3", ``},
	} {
		body := roomtest.ResponseBody(`"input":[` + strings.Join(c.input, ",") + `]` + c.fields)
		auto := strings.Replace(body, `"input"`, `"truncation":"auto","input"`, 1)
		for _, stream := range []bool{false, true} {
			fake := roomtest.Speaking("x")
			fake.Model.Context = 200
			s := serve(fake)
			if stream {
				auto = strings.Replace(auto, `"input"`, `"stream":true,"input"`, 1)
			}
			w := roomtest.Post(s, "/v1/responses", auto)
			if c.want == "" {
				if w.Code == 200 && !stream || !strings.Contains(w.Body.String(), "maximum context length is 200 tokens") ||
					!strings.Contains(w.Body.String(), "Please shorten the last turn, which is too long even without earlier turns.") {
					t.Errorf("%s: %d %s", auto, w.Code, w.Body)
				}
				continue
			}
			text := strings.ReplaceAll(w.Body.String(), " ", "")
			if w.Code != 200 || !strings.Contains(text, `"truncation":"auto"`) ||
				strings.Contains(text, `"left_out":"`+strings.ReplaceAll(c.left, " ", "")+"messageshadtobeleftout") != (c.left != "") {
				t.Errorf("%s: %d %s", auto, w.Code, w.Body)
				continue
			}
			if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != c.want {
				t.Errorf("%s: the prompt is %q, want %q", auto, got, c.want)
			}
			if left := fake.LastRun().LeftOut; strings.Contains(left, c.left+" messages") != (c.left != "") {
				t.Errorf("%s: the run says %q", auto, left)
			}
			var n struct {
				Tokens int `json:"input_tokens"`
			}
			counted := roomtest.Post(s, "/v1/responses/input_tokens", auto)
			if err := json.Unmarshal(counted.Body.Bytes(), &n); err != nil || n.Tokens != len(c.want) {
				t.Errorf("%s: %d tokens are counted, want %d: %s", auto, n.Tokens, len(c.want), counted.Body)
			}
		}
		fake := roomtest.Speaking("x")
		fake.Model.Context = 200
		w := roomtest.Post(serve(fake), "/v1/responses", body)
		if refused := w.Code == 400; refused != (c.left != "" || c.want == "") {
			t.Errorf("without truncation: %s: %d %s", body, w.Code, w.Body)
		}
	}
}

// TestTruncationKeepsWhatTheSystemSays: also where the template has no place for it after the beginning, so
// that the user quotes it.
func TestTruncationKeepsWhatTheSystemSays(t *testing.T) {
	long := strings.Repeat("u", 150)
	for _, c := range []struct{ input, want string }{
		{`{"role":"user","content":"` + long + `"},{"role":"developer","content":"Never delete"},{"role":"assistant","content":"a"},{"role":"user","content":"v"}`,
			"sNever delete\nuv\n"},
		{`{"role":"user","content":"` + long + `"},{"role":"assistant","content":"a"},{"role":"system","content":"Never delete"},{"role":"user","content":"v"}`,
			"sNever delete\nuv\n"},
		{`{"role":"developer","content":"d"},{"role":"user","content":"` + long + `"},{"role":"assistant","content":"a"},{"role":"developer","content":"Never delete"},{"role":"user","content":"v"}`,
			"sd\nu<system>\nNever delete\n</system>\n\nv\n"},
	} {
		fake := roomtest.Speaking("x")
		fake.Model.Context = 100
		fake.Model.Template = func(vars []byte) (string, error) {
			if strings.Count(string(vars), `"role":"system"`) > 1 || strings.Contains(string(vars), `},{"role":"system"`) {
				return "", control.Errorf(control.CodeInvalid, "The system speaks first.")
			}
			return modeltest.Template(vars)
		}
		w := roomtest.Post(serve(fake), "/v1/responses", roomtest.ResponseBody(`"truncation":"auto","input":[`+c.input+`]`))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", c.input, w.Code, w.Body)
		} else if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != c.want {
			t.Errorf("%s: the prompt is %q, want %q", c.input, got, c.want)
		}
	}
}
