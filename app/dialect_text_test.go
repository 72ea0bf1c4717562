package app

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/app/dialect"
	"tandem/app/jsonschema"
)

// patchRules are those of a patch, as agents send them, with shorter lines.
const patchRules = `start: begin_patch hunk{1,2} end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: add_hunk | delete_hunk
add_hunk: "*** Add File: " filename LF add_line{1,3}
delete_hunk: "*** Delete File: " filename LF
filename: /(.{1,8})/
add_line: "+" /(.{0,9})/ LF -> line
%import common.LF // of Lark's library
# the end`

// A call of a tool that takes a text by rules has a text by these rules, in every family. It is read as
// it was written, with its quotes, line ends and backslashes.
func TestCallGrammarHoldsTheTextOfATool(t *testing.T) {
	formats := []struct{ rules, example string }{
		{jsonschema.LarkRegex(`a{3}b`), "aaab"},
		{jsonschema.LarkRegex(`^(?P<day>mon|tue) \d\d?$`), "mon 12"},
		{jsonschema.LarkRegex(`x"[^a-z]{3}\\"y`), "x\"\n\"\\\\\"y"},
		{jsonschema.LarkRegex(`<(/|p)[a-z<>/=]{0,12}\n?[a-z]>`), "</parameter\nx>"},
		{jsonschema.LarkRegex(`(?i)a[[:digit:]]{2}(?x: [b-d&&[^c]] \n ")(?m:$)`), "A12D\n\""},
		{"start: /[^a-c\\]]{2}[[:upper:]]\\/(?x: \\\\ # a comment\n \" )/s", "\n\"B/\\\""},
		{`start: "say \"" WORD "\"\n" | "\\" "a".."c"` + "\nWORD: /[a-z \\t]{1,5}/", "say \"a\tb\"\n"},
		{"start: item{1,3}\nitem: \"<\" /[^<>]/ \">\" NL\n%import common.LF -> NL", "<\x01>\n<\\>\n"},
		{patchRules, "*** Begin Patch\n*** Add File: a\\b.txt\n+say \"hi\"\n+\n*** End Patch\n"},
	}
	for name, w := range writers {
		tokens, end, v := w.vocabulary(t)
		for _, format := range formats {
			tools := []dialect.Tool{testTools[1], {Name: "ap", Text: format.rules,
				Parameters: dialect.TextParameters("By\nrules")}}
			rules, err := w.dialect().Grammar(tools, dialect.Choice{Tool: "ap", Prompt: w.prompt})
			if err != nil {
				t.Fatalf("%s: %s: %v", name, format.rules, err)
			}
			follows := func(lark, text string) bool {
				m := matcher(t, v, lark)
				defer m.Close()
				for _, id := range w.encode(tokens, text) {
					if !slices.Contains(follow(t, m), id) {
						return false
					}
					if err := m.Accept(id); err != nil {
						t.Fatal(err)
					}
				}
				return slices.Contains(follow(t, m), end)
			}
			if !follows(format.rules, format.example) || follows(format.rules, format.example+"#") {
				t.Fatalf("%s: the example does not follow %s", name, format.rules)
			}
			for i := range 2 {
				m := matcher(t, v, rules.Lark)
				text := w.walk(t, m, tokens, rand.New(rand.NewPCG(5, uint64(i))))
				m.Close()
				if input, ok := w.input(tools, text); !ok || !follows(format.rules, input) {
					t.Errorf("%s: %q calls with %q, %t, which is not by %s", name, text, input, ok, format.rules)
				}
			}
		}
	}
}

// input returns the text that the only call in an answer has.
func (w writer) input(tools []dialect.Tool, text string) (string, bool) {
	p := w.dialect().Parser(dialect.Options{Tools: tools, Calls: true, Prompt: w.prompt})
	arguments, calls := "", 0
	for _, part := range append(p.Push(text), p.Flush()...) {
		switch part.Kind {
		case dialect.Call:
			calls++
		case dialect.Arguments:
			arguments += part.Text
		case dialect.Text:
			calls += len(part.Text)
		}
	}
	var v struct{ Input *string }
	d := json.NewDecoder(strings.NewReader(arguments))
	d.DisallowUnknownFields()
	if calls != 1 || d.Decode(&v) != nil || v.Input == nil {
		return arguments, false
	}
	return *v.Input, true
}
