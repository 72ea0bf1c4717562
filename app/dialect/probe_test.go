package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFormFitsAWholeConversation: a text beside calls gets a message of its own only where the
// template takes that over two steps and a next turn.
func TestFormFitsAWholeConversation(t *testing.T) {
	type message struct {
		Role    string
		Content string
		Calls   []struct{ Function struct{ Arguments any } } `json:"tool_calls"`
	}
	// A template prints a call without the text beside it. Raises says which messages it refuses.
	template := func(raises func(list []message) bool) func(vars []byte) (string, error) {
		return func(vars []byte) (string, error) {
			var v struct{ Messages []message }
			if err := json.Unmarshal(vars, &v); err != nil {
				return "", err
			}
			if raises(v.Messages) {
				return "", errors.New("roles must alternate")
			}
			var b strings.Builder
			for _, m := range v.Messages {
				if m.Calls != nil {
					fmt.Fprint(&b, probeTool, m.Calls[0].Function.Arguments)
				} else {
					b.WriteString(m.Content)
				}
			}
			return b.String(), nil
		}
	}
	turns := func(counts func(m message) bool) func([]message) bool {
		return func(list []message) bool {
			n := 0
			for _, m := range list {
				if counts(m) {
					if (m.Role == "user") != (n%2 == 0) {
						return true
					}
					n++
				}
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		raises func([]message) bool
		apart  bool
	}{
		"no rule": {func([]message) bool { return false }, true},
		"roles alternate": {turns(func(m message) bool {
			return m.Role == "user" || m.Role == "assistant" && m.Calls == nil
		}), false},
		"an answer before each user": {func(list []message) bool {
			for i, m := range list[1:] {
				if m.Role == "user" && (list[i].Role != "assistant" || list[i].Calls != nil) {
					return true
				}
			}
			return false
		}, true},
		"no answer after a result but the last": {func(list []message) bool {
			for i, m := range list[1 : len(list)-1] {
				if m.Role == "assistant" && m.Calls == nil && list[i].Role == "tool" && list[i+2].Role != "user" {
					return true
				}
			}
			return false
		}, false},
	} {
		d := Detect("[TOOL_CALLS]", special())
		if got := d.FindHistory(true, template(c.raises)); got.SeparateText != c.apart {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestArgumentsAreJSONWhereATemplatePrintsThem: a template that prints arguments as they are gets
// JSON, and not an object, which is printed in Python's form.
func TestArgumentsAreJSONWhereATemplatePrintsThem(t *testing.T) {
	for name, c := range map[string]struct {
		object, text string // how the template prints arguments
		want         bool   // as text
	}{
		"as they are":      {"{'key': '" + probeValue + "'}", `{"key":"` + probeValue + `"}`, true},
		"as JSON":          {`{"key": "` + probeValue + `"}`, `"{\"key\":\"` + probeValue + `\"}"`, false},
		"as Python":        {"f(key='" + probeValue + "')", "", false},
		"as Python always": {"{'key': '" + probeValue + "'}", "'{\"key\":\"" + probeValue + "\"}'", true},
		"without quotes":   {"key=" + probeValue, "", false},
	} {
		render := func(vars []byte) (string, error) {
			if strings.Contains(string(vars), `{\"key\"`) {
				return probeTool + probeText + c.text, nil
			}
			return probeTool + probeText + c.object, nil
		}
		d := Detect("[TOOL_CALLS]", special())
		if got := d.FindHistory(true, render); got.TextArguments != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestBrokenArgumentsGoWhereATemplatePrintsThem: a template that prints a string, as it is or as JSON, gets
// arguments that are no object. Others fail, print nothing, or print a part.
func TestBrokenArgumentsGoWhereATemplatePrintsThem(t *testing.T) {
	const sent = `{"key":"` + probeValue
	for name, c := range map[string]struct {
		printed string
		err     error
		want    bool
	}{
		"as it is":  {sent, nil, true},
		"as JSON":   {`"{\"key\":\"` + probeValue + `"`, nil, true},
		"fails":     {sent, errors.New("items of a string"), false},
		"nothing":   {"", nil, false},
		"its value": {probeValue, nil, false},
	} {
		render := func(vars []byte) (string, error) {
			if strings.Contains(string(vars), `{\"key\":\"`+probeValue+`"`) {
				return probeTool + probeText + c.printed, c.err
			}
			return probeTool + probeText + `{"key": "` + probeValue + `"}`, nil
		}
		d := Detect("[TOOL_CALLS]", special())
		if got := d.FindHistory(true, render); got.AnyArguments != c.want || got.TextArguments {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTypeNullIsLeftOutWhereATemplateFailsOnIt: only a template with tools that fails on nullable
// parameters, and takes others, gets none.
func TestTypeNullIsLeftOutWhereATemplateFailsOnIt(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(vars string) bool
		want  bool
	}{
		"never":         {func(string) bool { return false }, false},
		"on null":       {func(vars string) bool { return strings.Contains(vars, `"null"`) }, true},
		"on lists":      {func(vars string) bool { return strings.Contains(vars, `"type":[`) }, true},
		"on text, too":  {func(vars string) bool { return strings.Contains(vars, `"null"`) || strings.Contains(vars, probeText) }, true},
		"always":        {func(string) bool { return true }, false},
		"on every tool": {func(vars string) bool { return strings.Contains(vars, `"tools"`) }, false},
	} {
		render := func(vars []byte) (string, error) {
			if c.fails(string(vars)) {
				return "", errors.New("recursion limit exceeded")
			}
			return probeTool + probeText + probeValue, nil
		}
		d := Detect("<tool_call>", special())
		if got := d.FindHistory(true, render); got.WithoutNull != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if d.FindHistory(false, render).WithoutNull {
			t.Errorf("%s: a template without tools", name)
		}
	}
}
