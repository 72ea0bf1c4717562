package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/app/wire"
)

// trimmingTemplate prints messages as many templates do: it trims what they say, and drops what
// stands before the end of a thought.
func trimmingTemplate(vars []byte) (string, error) {
	var v struct {
		Messages []struct{ Role, Content string }
		Generate bool `json:"add_generation_prompt"`
	}
	if err := json.Unmarshal(vars, &v); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range v.Messages {
		text := m.Content
		if _, after, ok := strings.Cut(text, "</think>"); ok {
			text = after
		}
		fmt.Fprintf(&b, "<%s>%s</s>\n", m.Role, strings.TrimSpace(text))
	}
	if v.Generate {
		b.WriteString("<assistant>")
	}
	return b.String(), nil
}

// TestBegunAnswerGoesOnFromItsVeryText: a model continues the text that it sees. So the prompt ends
// in the client's own white space, whatever the template does with it.
func TestBegunAnswerGoesOnFromItsVeryText(t *testing.T) {
	routes := map[string]string{
		"messages":        `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":%s}]`,
		"messages, parts": `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":%s}]}]`,
		"chat":            `"continue_final_message":true,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":%s}]`,
		"chat, prefix":    `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":%s,"prefix":true}]`,
		"chat, partial":   `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[%s],"partial":true}]`,
	}
	for _, text := range []string{
		"func (c *conn) Close() error {\n\t", "\n  a  \n", "a", " ", "\n\t", "{", "\u00a0a\u2003",
		"é\r\n",
	} {
		for name, body := range routes {
			path := "/v1/messages"
			if strings.HasPrefix(name, "chat") {
				path = "/v1/chat/completions"
			}
			for _, template := range []func([]byte) (string, error){trimmingTemplate,
				roomtest.NewBackend().Model.Template} {
				fake := roomtest.Speaking("ok")
				fake.Model.Template = template
				w := roomtest.Post(serve(fake), path,
					`{"model":"tandem",`+fmt.Sprintf(body, wire.MustJSON(text))+`}`)
				if w.Code != 200 {
					t.Errorf("%s, %q: %d %s", name, text, w.Code, w.Body)
					continue
				}
				got := fake.Model.Decode(fake.Model.Requests[0].Prompt)
				if got != "ux\na"+text && got != "<user>x</s>\n<assistant>"+text {
					t.Errorf("%s, %q: the prompt is %q", name, text, got)
				}
			}
		}
	}
}

// TestBegunThoughtGoesOnAsTheTemplateWritesIt: this template takes the text apart at the end of a
// thought.
func TestBegunThoughtGoesOnAsTheTemplateWritesIt(t *testing.T) {
	fake := roomtest.Speaking("ok")
	fake.Model.Template = trimmingTemplate
	w := roomtest.Post(serve(fake), "/v1/messages", `{"model":"tandem","max_tokens":9,"messages":[`+
		`{"role":"user","content":"x"},{"role":"assistant","content":"hm</think>\n\nSo \n"}]}`)
	if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); w.Code != 200 ||
		got != "<user>x</s>\n<assistant>So \n" {
		t.Errorf("%d %q", w.Code, got)
	}
}

// TestChatBeginsNewAnswerUnlessItIsToGoOn: clients of these routes end a history with an answer and
// mean it to be whole.
func TestChatBeginsNewAnswerUnlessItIsToGoOn(t *testing.T) {
	for path, more := range map[string]string{
		"/v1/chat/completions":         `"continue_final_message":false,`,
		"/v1/chat/completions?x":       ``,
		"/v1/chat/completions?last":    `"continue_final_message":true,`,
		"/v1/chat/completions?nothing": `"continue_final_message":null,`,
		"/api/chat":                    `"stream":false,`,
	} {
		last := `{"role":"assistant","content":"a","prefix":false}`
		if strings.HasSuffix(path, "last") {
			last += `,{"role":"user","content":"y"}`
		}
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(serve(fake), path,
			`{"model":"tandem",`+more+`"messages":[{"role":"user","content":"x"},`+last+`]}`)
		if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], `"add_generation_prompt":true`) {
			t.Errorf("%s: %d, the template gets %s", path, w.Code, fake.Model.Vars[0])
		}
	}
}
