package api_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/modeltest"
	"tandem/app/responses"
	"tandem/app/roomtest"
)

var updatePrompts = flag.Bool("update", false, "write the prompts into testdata")

// TestPromptsAreAsRecorded plays the conversations in testdata/prompts. It compares the variables
// of the model's template, and the prompt that the template returns. A file is a list of
// conversations in this form:
//
//	== title
//	path
//	body
//	path
//	body
//	--
//	recorded
//
// A title names the model's template in brackets, see recordedModel. $RESPONSE and $CALL stand for
// the ids of the last response and of the last call. $ID stands for the common part of the ids of
// the response's items.
func TestPromptsAreAsRecorded(t *testing.T) {
	roomtest.PlayRecordings(t, "testdata/prompts/*.txt", *updatePrompts,
		func(t *testing.T, title, requests string) string {
			return recordPrompts(t, title, strings.Split(requests, "\n"))
		})
}

// recordedModel returns a backend whose model has the template that a title names.
func recordedModel(title string) *roomtest.Backend {
	fake := roomtest.Speaking("ok")
	switch m := &fake.Model; {
	case strings.Contains(title, "(bare)"):
		m.Template = nil
	case strings.Contains(title, "(thinking)"):
		m.TemplateSource += " message.thinking"
	case strings.Contains(title, "(alternating)"):
		m.Template = alternatingTemplate
	case strings.Contains(title, "(deaf)"):
		m.Template = deafTemplate
	case strings.Contains(title, "(calling)"):
		m.Output = "<think>\nhm\n</think>\n\nSo: " + roomtest.LookCall
	}
	return fake
}

// rolesOf returns the roles of a template's messages.
func rolesOf(vars []byte) (roles []string, err error) {
	var v struct {
		Messages []struct{ Role string }
	}
	err = json.Unmarshal(vars, &v)
	for _, m := range v.Messages {
		roles = append(roles, m.Role)
	}
	return roles, err
}

// alternatingTemplate refuses a role twice in a row, and a system message that is not the first. It
// also refuses a user's message after a tool's result.
func alternatingTemplate(vars []byte) (string, error) {
	roles, err := rolesOf(vars)
	if err != nil {
		return "", err
	}
	for i, role := range roles {
		if i == 0 {
			continue
		}
		before := roles[i-1]
		if role == before && role != "tool" || role == "system" || role == "user" &&
			before == "tool" {
			return "", control.Errorf(control.CodeInvalid, "Roles must alternate.")
		}
	}
	return modeltest.Template(vars)
}

// deafTemplate leaves out system messages after the first message.
func deafTemplate(vars []byte) (string, error) {
	text, err := modeltest.Template(vars)
	first, rest, _ := strings.Cut(text, "\n")
	var heard []string
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "s") {
			heard = append(heard, line)
		}
	}
	return first + "\n" + strings.Join(heard, "\n"), err
}

// The parts of a record that differ each time.
var (
	madeID     = regexp.MustCompile(`((?:_|"id":"|"tool_call_id":"))[A-Z2-7]{9}\b`)
	madeText   = regexp.MustCompile(`[A-Z2-7]{26}\d*`)
	responseID = regexp.MustCompile(`"id":"(resp_[A-Z2-7]{26})"`)
	callID     = regexp.MustCompile(`"(?:call_)?id":"((?:call_)?[A-Z2-7]{9})"`)
)

// recordPrompts plays a conversation. It returns what the template and the engine got for each
// request, or the error.
func recordPrompts(t *testing.T, title string, requests []string) string {
	fake := recordedModel(title)
	s := serve(fake)
	var out strings.Builder
	response, call := "", ""
	for ; len(requests) >= 2; requests = requests[2:] {
		items := strings.TrimPrefix(response, responses.ResponsePrefix)
		known := strings.NewReplacer("$RESPONSE", response, "$ID", items, "$CALL", call)
		body := known.Replace(requests[1])
		vars, asked := len(fake.Model.Vars), len(fake.Model.Requests)
		r, w := roomtest.Request(requests[0], body), httptest.NewRecorder()
		s.ServeHTTP(w, r)
		for _, v := range fake.Model.Vars[vars:] {
			fmt.Fprintf(&out, "vars %s\n", v)
		}
		for _, q := range fake.Model.Requests[asked:] {
			fmt.Fprintf(&out, "prompt %q\n", fake.Model.Decode(q.Prompt))
			fmt.Fprintf(&out, "%d tokens, boundaries %v\n", len(q.Prompt), q.Boundaries)
		}
		for _, g := range fake.Model.Grammars {
			fmt.Fprintf(&out, "grammar %q\n", string(g.JSON)+g.Regex+g.Lark+g.Around)
		}
		fake.Model.Grammars = nil
		if w.Code != 200 || len(fake.Model.Requests) == asked {
			fmt.Fprintf(&out, "%d %s\n", w.Code, strings.TrimSpace(w.Body.String()))
		}
		if m := responseID.FindStringSubmatch(w.Body.String()); m != nil {
			response = m[1]
		}
		if m := callID.FindStringSubmatch(w.Body.String()); m != nil {
			call = m[1]
		}
	}
	if fake.Held != 0 {
		t.Errorf("%d models were not released", fake.Held)
	}
	text := madeText.ReplaceAllString(out.String(), "MADE")
	return strings.TrimRight(madeID.ReplaceAllString(text, "${1}MADE"), "\n")
}
