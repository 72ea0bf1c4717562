package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// The next user message follows as the template writes it, without what the text already has.
func TestBranchFollowsTemplate(t *testing.T) {
	for _, c := range []struct {
		name, kind, template, body string
		want                       string // after a to z
		object                     string
	}{
		{"an answer", "answer", "<%s>", `{"prompt":"more"}`, "><more>", "chat.completion"},
		{"an answer that was closed", "answer", "<%sz", `{"prompt":"more"}`, "<morez", "chat.completion"},
		{"a message", "prompt", "(%sxyz", `{"prompt":"more"}`, "(morexyz", "chat.completion"},
		{"the system's message", "prompt", "system only (%sxyz", `{"prompt":"more"}`, "system only (morexyz", "chat.completion"},
		{"as it is", "prompt", "(%s)", `{"prompt":"more","raw":true}`, "more", "text_completion"},
		{"on and on", "prompt", "(%s)", `{"raw":true}`, "", "text_completion"},
		{"without a template", "answer", "", `{"prompt":"more"}`, "more", "text_completion"},
	} {
		fake := roomtest.Lettered(c.kind)
		fake.Model.Template = nil
		if c.template != "" {
			fake.Model.Template = func(vars []byte) (string, error) {
				var v struct {
					Messages []struct{ Role, Content string }
				}
				err := json.Unmarshal(vars, &v)
				text := ""
				for _, m := range v.Messages {
					text += strings.Replace(c.template, "%s", m.Content, 1)
				}
				if strings.HasPrefix(c.template, "system only") && v.Messages[0].Role != "system" {
					return "", control.Errorf(control.CodeInvalid, "roles must alternate")
				}
				return text, err
			}
		}
		w := roomtest.Post(serve(fake), "/app/checkpoints/abc/branch", c.body)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(),
			`"object":"`+c.object+`"`) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
			continue
		}
		got := fake.Model.Decode(fake.Model.Requests[0].Prompt)
		if want := "abcdefghijklmnopqrstuvwxyz" + c.want; got != want {
			t.Errorf("%s: the prompt is %q, want %q", c.name, got, want)
		}
	}
	s := serve(roomtest.Lettered("prompt"))
	roomtest.WantError(t, roomtest.Post(s, "/app/checkpoints/abc/branch", `{"prompt":"more"}`),
		http.StatusBadRequest, control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s, "/app/checkpoints/abc/branch",
		`{}`), http.StatusBadRequest,
		control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s, "/app/checkpoints/x/branch", `{"prompt":"more"}`),
		http.StatusNotFound, control.CodeNoCheckpoint)
}

// The prompt decides the name of a branch's answer. The form of its stream is known earlier.
func TestBranchStreamHasFormOfItsRoute(t *testing.T) {
	for raw, object := range map[bool]string{true: "text_completion",
		false: "chat.completion.chunk"} {
		fake := roomtest.Lettered(control.KindAnswer)
		fake.Model.Context = 4096
		w := roomtest.Post(serve(fake), "/app/checkpoints/abc/branch",
			fmt.Sprintf(`{"prompt":"x","raw":%v,"stream":true}`, raw))
		for data, err := range control.Events(w.Body) {
			var chunk struct{ Object string }
			if err != nil || json.Unmarshal(data, &chunk) != nil || chunk.Object != object {
				t.Fatalf("raw %v: %s, %v", raw, data, err)
			}
		}
	}
}
