package native

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// An error has one line. It repeats no grammar and names no option of llguidance, but says in which
// rule the fault lies.
func TestErrorTellsTheFaultWithoutTheGrammar(t *testing.T) {
	v := newVocabulary(t)
	schema := func(text string) Grammar { return Grammar{JSON: json.RawMessage(text)} }
	for _, c := range []struct {
		grammar        Grammar
		says, at, rule string
	}{
		{schema(`{"oneOf":[{"minimum":1},{"maximum":2}]}`), "use anyOf", "", ""},
		{schema(`{"type":"string","pattern":"(?!a)"}`), "look-ahead", "", ""},
		{schema(`{"properties":{"a":{}},"minProperties":1}`), "require them", "", ""},
		{schema(`{"patternProperties":{"^a":{},"a":{}}}`), "names ^a and a match", "", ""},
		{schema(`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"type":"object"}]}}}`), "stand beside", "", ""},
		{schema(`{"$ref":"other.json"}`), "#/$defs/NAME", "", ""},
		{schema(`{"type":"object","properties":{"a":false},"required":["a"]}`),
			"no value fits the schema", "", ""},
		{schema(`{"const":1e400}`), "too long", "", ""},
		{Grammar{Regex: "(a"}, "(a cannot be followed: unclosed group", "", ""},
		{Grammar{Lark: "start: nothing"}, "nothing", "line 1", "start"},
		{Grammar{Lark: "start: a\na \"x\""}, "Expected token", "line 2, column 3", ""},
		{Grammar{Lark: "start: a | b\na: \"a\"\nb: %json {\"type\":\"text\"}"}, "text", "line 3", "b"},
		{Grammar{Lark: "start: call_0\ncall_0: \"<\" %json {\"oneOf\":[{\"minimum\":1},{\"maximum\":2}]}"},
			"use anyOf", "line 2", "call_0"},
	} {
		m, err := v.Matcher(t.Context(), c.grammar)
		if err == nil {
			m.Close()
		}
		e, ok := errors.AsType[*GrammarError](err)
		if !ok || !strings.Contains(e.Message, c.says) || !strings.HasPrefix(e.At, c.at) ||
			e.Rule != c.rule {
			t.Errorf("%+v: %#v", c.grammar, err)
			continue
		}
		for _, word := range []string{"\n", "coerce_one_of", "failed to compile", "start:", "%json",
			"referencing"} {
			if strings.Contains(e.Message, word) {
				t.Errorf("%+v: %q has %q", c.grammar, e.Message, word)
			}
		}
	}
	m := newMatcher(t, v, Grammar{Lark: `start: "x" /[a&&b]/`})
	push(t, m, "x")
	err := m.Mask(make([]uint32, m.Words()))
	if err == nil || !strings.Contains(err.Error(), "admits no text") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a text that cannot go on: %v", err)
	}
	long := explain(KindSyntax, strings.Repeat("é", 1000))
	if len(long.Message) > maxMessage+3 {
		t.Errorf("%d bytes", len(long.Message))
	}
}
