package api_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestMessageWithoutContentIsRefused: its words may be in a field that nothing reads. The error names the place.
// An answer may have calls or a thought in place of content, and some programs send one of nothing but its role.
// Ollama's library for Python leaves an empty content out of every message.
func TestMessageWithoutContentIsRefused(t *testing.T) {
	const call = `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`
	chats := []string{"/v1/chat/completions", "/api/chat"}
	responses := []string{"/v1/responses", "/v1/responses/input_tokens"}
	messages := []string{"/v1/messages", "/v1/messages/count_tokens"}
	strict := append(append(chats[:1:1], responses...), messages...)
	all := append(chats[1:2:2], strict...)
	for _, c := range []struct {
		message string
		paths   []string
		refused bool
	}{
		{`{"role":"user","text":"hi"}`, all, true},
		{`{"role":"user"}`, strict, true},
		{`{"role":"user","content":null}`, strict, true},
		{`{"role":"user","parts":[{"text":"hi"}]}`, all, true},
		{`{"role":"user","Content":"hi"}`, all, true},
		{`{"role":"system","text":"hi"}`, all, true},
		{`{"role":"developer","prompt":"hi"}`, append(chats[:1:1], responses...), true},
		{`{"role":"tool","tool_call_id":"c","output":"hi"}`, chats, true},
		{`{"role":"tool","tool_call_id":"c","content":null}`, chats[:1], true},
		{`{"role":"function","name":"f","text":"1"}`, chats, true},
		{`{"role":"assistant","text":"hi"}`, all, true},
		{`{"role":"assistant","content":null,"parts":[{"text":"hi"}]}`, all, true},
		{`{"role":"assistant"}`, append(responses[:1:1], messages...), true},
		{`{"type":"message","role":"user","text":"hi"}`, responses, true},
		{`{"type":"message","role":"assistant","status":"completed","id":"msg_1"}`, responses, true},

		{`{"role":"user","content":""}`, append(append([]string{}, chats...), responses...), false},
		{`{"role":"user","content":[]}`, append(append([]string{}, chats...), responses...), false},
		{`{"role":"function","name":"f","content":null}`, chats, false},
		{`{"role":"assistant","content":null,` + call + `}`, chats, false},
		{`{"role":"assistant",` + call + `}`, chats, false},
		{`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, chats, false},
		{`{"role":"assistant","content":null,"reasoning_content":"hm"}`, chats, false},
		{`{"role":"assistant","reasoning":"hm"}`, chats, false},
		{`{"role":"assistant","content":null,"refusal":"no"}`, chats, false},
		{`{"role":"assistant"}`, chats, false}, // Cline's
		{`{"role":"assistant","content":null,"refusal":null,"annotations":[],"audio":null,"tool_calls":[],"function_call":null}`, chats, false},
		{`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`, chats, false},
		{`{"role":"tool","tool_call_id":"c","content":""}`, chats, false},
		{`{"role":"user","images":["aGk="]}`, chats[1:], false},
		{`{"role":"user"}`, chats[1:], false},
		{`{"role":"user","content":null,"images":null}`, chats[1:], false},
		{`{"role":"system"}`, chats[1:], false},
		{`{"role":"tool","tool_name":"run"}`, chats[1:], false},
		{`{"role":"tool","tool_call_id":"c","content":null}`, chats[1:], false},
		{`{"role":"tool","tool_name":"run","output":"hi"}`, chats[1:], true},
	} {
		for _, path := range c.paths {
			list, at := `[{"role":"user","content":"x"},`+c.message+`,{"role":"user","content":"y"}]`, "messages[1]"
			key := `"messages":`
			if strings.HasPrefix(path, "/v1/responses") {
				key, at = `"input":`, "input[1]"
			}
			limit := `"stream":false,`
			if strings.HasPrefix(path, "/v1/messages") {
				limit = `"max_tokens":9,`
			}
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, `{"model":"tandem",`+limit+key+list+`}`)
			fault := " is missing."
			if strings.Contains(c.message, `"content":null`) {
				fault = " must not be null."
			}
			refused := w.Code == 400 && strings.Contains(w.Body.String(), at+".content"+fault)
			if refused != c.refused || !refused && w.Code != 200 {
				t.Errorf("%s %s: %d %s", path, c.message, w.Code, w.Body)
			}
		}
	}
}

// TestRefusalIsTheTextOfAnAnswer: OpenAI's models answer with one in place of content.
func TestRefusalIsTheTextOfAnAnswer(t *testing.T) {
	seen := seenMessages(t, "/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"},`+
		`{"role":"assistant","content":null,"refusal":"I can't."},{"role":"user","content":"y"}]}`)
	if len(seen) != 3 || seen[1].Content != "I can't." {
		t.Errorf("the template gets %+v", seen)
	}
}
