package terminal

import (
	"bytes"
	"testing"
)

func TestAnswerIsPrintedInItsForm(t *testing.T) {
	parts := []Part{{Thought: "hm"}, {Text: "**a"}, {Text: "** b\x1b", TokenIDs: []int32{1}}}
	summary := struct {
		Tokens int `json:"tokens"`
	}{3}
	const object = `{"text":"**a","token_ids":null}` + "\n" + `{"text":"** b\u001b","token_ids":[1]}` + "\n"
	for _, c := range []struct {
		name       string
		form       AnswerForm
		shown, cut bool // on a terminal; with an error
		parts      []Part
		want       string
	}{
		{"in a pipe", AnswerForm{}, false, false, parts, "**a** b\x1b\n"},
		{"Markdown in a pipe", AnswerForm{Markdown: true}, false, false, parts, "**a** b\x1b\n"},
		{"on a terminal", AnswerForm{}, true, false, parts, "**a** b\ufffd\n"},
		{"Markdown on a terminal", AnswerForm{Markdown: true}, true, false, parts, "{b a} b\ufffd\n"},
		{"JSON", AnswerForm{JSON: true}, false, false, parts, object + `{"tokens":3}` + "\n"},
		{"JSON on a terminal", AnswerForm{JSON: true, Markdown: true}, true, false, parts, object + `{"tokens":3}` + "\n"},
		{"JSON that is cut", AnswerForm{JSON: true}, false, true, parts, object},
		{"a cut line", AnswerForm{}, false, true, parts, "**a** b\x1b\n"},
		{"a cut after a line", AnswerForm{}, false, true, []Part{{Text: "a\n"}, {Thought: "b"}}, "a\n"},
		{"nothing, cut", AnswerForm{}, false, true, nil, ""},
		{"nothing", AnswerForm{}, false, false, nil, "\n"},
	} {
		var out bytes.Buffer
		p := &Program{Stdout: &out, Stderr: &bytes.Buffer{}, Shown: c.shown, Getenv: func(string) string { return "" }}
		a := p.NewAnswerPrinter(c.form)
		for _, x := range c.parts {
			if err := a.Add(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.End(summary, c.cut); err != nil {
			t.Fatal(err)
		}
		if got := named.Replace(out.String()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
