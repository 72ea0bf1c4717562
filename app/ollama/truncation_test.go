package ollama_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestOllamaChatLeavesOutTheEarliestTurns: /api/chat does so unless truncate is false. A prompt of
// /api/generate is one turn, and is refused.
func TestOllamaChatLeavesOutTheEarliestTurns(t *testing.T) {
	const turns = `{"role":"user","content":"%[1]s"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},` +
		`{"role":"tool","tool_name":"f","content":"%[1]s"},{"role":"assistant","content":"done"},{"role":"user","content":"hi"}`
	long := strings.Repeat("x", 100)
	for fields, want := range map[string]string{
		``: "sbe kind\nuhi\n", `"truncate":true,`: "sbe kind\nuhi\n", `"truncate":null,`: "sbe kind\nuhi\n",
		`"stream":false,`: "sbe kind\nuhi\n", `"truncate":false,`: "", `"truncate":false,"stream":false,`: "",
	} {
		fake := roomtest.Speaking("x")
		fake.Model.Context = 200
		w := roomtest.Post(serve(fake), "/api/chat", `{"model":"tandem",`+fields+
			`"messages":[{"role":"system","content":"be kind"},`+fmt.Sprintf(turns, long)+`]}`)
		if want == "" {
			if text := roomtest.DecodeOllama(t, w); w.Code != 400 || !strings.Contains(text, "maximum context length") {
				t.Errorf("%s: %d %s", fields, w.Code, w.Body)
			}
			continue
		}
		lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if told := `"left_out":"4 of 6 messages had to be left out, the oldest first`; strings.Count(w.Body.String(), `"left_out"`) != 1 ||
			!strings.Contains(lines[len(lines)-1], told) {
			t.Errorf("%s: the end of the answer does not say what is left out: %s", fields, w.Body)
		}
		if w.Code != 200 || fake.Model.Decode(fake.Model.Requests[0].Prompt) != want ||
			!strings.HasPrefix(fake.LastRun().LeftOut, "4 of 6 messages had to be left out") {
			t.Errorf("%s: %d %s, %q", fields, w.Code, w.Body, fake.LastRun().LeftOut)
		}
	}
	for _, fields := range []string{``, `"truncate":true,`, `"truncate":false,`} {
		fake := roomtest.Speaking("x")
		fake.Model.Context = 64
		w := roomtest.Post(serve(fake), "/api/generate", `{"model":"tandem",`+fields+`"system":"s","prompt":"`+long+`"}`)
		if text := roomtest.DecodeOllama(t, w); w.Code != 400 || !strings.Contains(text, "maximum context length") {
			t.Errorf("generate %s: %d %s", fields, w.Code, w.Body)
		}
	}
}
