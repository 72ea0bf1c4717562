package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestTooMuchOfOneThingIsRefused: a well-formed request with too much of one thing is refused by
// its field. No model is asked for anything, and the request takes no more memory than its own
// size.
func TestTooMuchOfOneThingIsRefused(t *testing.T) {
	repeated := func(n int, item string) string { return strings.Repeat(item+",", n-1) + item }
	numbered := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, ",")
	}
	const chat, text = "/v1/chat/completions", "/v1/completions"
	message := func(fields string) string {
		return `{"model":"tandem","messages":[{"role":"user","content":"x"}],` + fields + `}`
	}
	prompt := func(fields string) string { return `{"model":"tandem","prompt":"x",` + fields + `}` }
	for name, c := range map[string]struct{ path, body, param string }{
		"stop texts":         {chat, message(`"stop":[` + repeated(10_000, `"s"`) + `]`), "stop"},
		"stop texts of text": {text, prompt(`"stop":[` + repeated(10_000, `"s"`) + `]`), "stop"},
		"a long stop text":   {text, prompt(`"stop":"` + strings.Repeat("s", 1<<20) + `"`), "stop"},
		"tools": {chat, message(`"tools":[` +
			numbered(50_000, `{"type":"function","function":{"name":"f%d"}}`) + `]`), "tools"},
		"functions": {chat, message(`"functions":[` + numbered(100_000, `{"name":"f%d"}`) +
			`]`), "functions"},
		"allowed tools": {chat,
			message(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` +
				numbered(50_000, `{"type":"function","function":{"name":"f%d"}}`) + `]}}`),
			"tool_choice.allowed_tools.tools"},
		"answers": {chat, message(`"n":1000000`), "n"},
		"prompts": {text, `{"model":"tandem","prompt":[` + repeated(100_000, `"x"`) + `]}`,
			"prompt"},
		"lists of ids": {text, `{"model":"tandem","prompt":[` + repeated(100_000, `[1]`) + `]}`,
			"prompt"},
		"ids": {text, `{"model":"tandem","prompt":[` + repeated(1_000_000, `1`) + `]}`, "prompt"},
		"a long prompt": {text, `{"model":"tandem","prompt":"` + strings.Repeat("x", 20<<20) +
			`"}`, "prompt"},
		"a long message": {chat, `{"model":"tandem","messages":[{"role":"user","content":"` +
			strings.Repeat("x", 20<<20) + `"}]}`, "messages"},
		"messages": {chat, `{"model":"tandem","messages":[` +
			repeated(50_000, `{"role":"user","content":"x"}`) + `]}`, "messages"},
		"short messages": {chat, `{"model":"tandem","messages":[` +
			repeated(10_000, `{"role":"user","content":"x"}`) + `]}`, "messages"},
		"parts": {chat, `{"model":"tandem","messages":[{"role":"user","content":[` +
			repeated(50_000, `{"type":"text","text":"x"}`) + `]}]}`, "messages[0].content"},
		"a number": {text, prompt(`"max_tokens":1` + strings.Repeat("0", 1<<20)), "max_tokens"},
		"a small number": {text, prompt(`"temperature":0.` + strings.Repeat("0", 1<<20) +
			`1e-99999999`), ""},
		"a prediction": {chat, message(`"prediction":{"type":"content","content":"` +
			strings.Repeat("x", 20<<20) + `"}`), "prediction.content"},
		"ever more": {chat, message(`"temperature":1e` + strings.Repeat("9", 1<<20)),
			"temperature"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := roomtest.NewBackend()
			s := serve(fake)
			w := roomtest.Post(s, c.path, c.body)
			if c.param == "" {
				if w.Code != http.StatusOK {
					t.Errorf("%d %.300s", w.Code, w.Body)
				}
				return
			}
			e := roomtest.DecodeError(t, w)
			if w.Code != http.StatusBadRequest || e.Param == nil || *e.Param != c.param ||
				len(e.Message) > 500 {
				t.Errorf("%d %+v, want %s", w.Code, e, c.param)
			}
			if fake.Held != 0 || len(s.API.Active()) != 0 || s.API.BytesTaken() != 0 {
				t.Errorf("%d models are held, %d runs in flight, %d places taken",
					fake.Held, len(s.API.Active()), s.API.BytesTaken())
			}
		})
	}
}
