package api_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"tandem/app/roomtest"
)

// TestBoundariesStandWhereTemplateEndsDifferently: the boundaries are where other prompts may go on
// differently. The template here writes a last message differently from an earlier one.
func TestBoundariesStandWhereTemplateEndsDifferently(t *testing.T) {
	template := func(vars []byte) (string, error) {
		var v struct {
			Messages []struct{ Role, Content string }
			Tools    []any
			Generate bool `json:"add_generation_prompt"`
		}
		if err := json.Unmarshal(vars, &v); err != nil {
			return "", err
		}
		text := ""
		if v.Tools != nil {
			text += "tools;"
		}
		user := false
		for i, m := range v.Messages {
			user = user || m.Role == "user"
			text += m.Role + ":" + m.Content
			if i == len(v.Messages)-1 {
				text += "!"
			}
			text += ";"
		}
		if !user {
			return "", errors.New("a conversation needs a user")
		}
		if v.Generate {
			text += "assistant:"
		}
		return text, nil
	}
	for body, want := range map[string][]string{
		`"messages":[{"role":"user","content":"a"}]`: {"user:a!;"},
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"tools":[{"type":"function","name":"f"}]`: {"tools;user:a;assistant:b",
			"tools;user:a;assistant:b;user:c!;"},
		// This template refuses a system message alone.
		`"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]`: {"system:s;user:a!;"},
	} {
		fake := roomtest.NewBackend()
		fake.Model.Template = template
		w := roomtest.Post(serve(fake), "/v1/chat/completions", `{"model":"tandem",`+body+`}`)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		r := fake.Model.Requests[0]
		var got []string
		for _, at := range r.Boundaries {
			got = append(got, fake.Model.Decode(r.Prompt[:at]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: boundaries after %q, want %q", body, got, want)
		}
	}
}
