package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Short grammars that could take all time or all memory are refused or bounded. Each call ends
// within seconds, and the vocabulary stays usable.
func TestHostileGrammarsAreRefusedOrBounded(t *testing.T) {
	list := func(n int, sep string, item func(i int) string) string {
		var parts []string
		for i := range n {
			parts = append(parts, item(i))
		}
		return strings.Join(parts, sep)
	}
	schema := func(text string) Grammar { return Grammar{JSON: json.RawMessage(text)} }
	nested := `{"type":"integer"}`
	for range 14 {
		nested = `{"anyOf":[` + nested + `,{"type":"array","items":` + nested + `}]}`
	}
	twice := func(n int) string { // each definition refers twice to the next
		return `{"$ref":"#/$defs/d0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},`+
				`"b":{"$ref":"#/$defs/d%[2]d"}},"required":["a","b"]}`, i, i+1)
		}) + fmt.Sprintf(`,"d%d":{"type":"integer"}}}`, n)
	}
	doubled := func(name string) Grammar { // each of 40 rules refers twice to the next
		rules := list(40, "\n", func(i int) string {
			return fmt.Sprintf("%s%d: %[1]s%[3]d %[1]s%[3]d", name, i, i+1)
		})
		return Grammar{Lark: fmt.Sprintf("start: %s0\n%s\n%[1]s40: \"x\"\n", name, rules)}
	}
	v := newVocabulary(t)
	for name, c := range map[string]struct {
		grammar Grammar
		text    string // the matcher accepts this as far as the grammar allows
		refused bool
	}{
		"repeats of repeats": {Grammar{Regex: "((a{1000}){1000}){1000}"},
			strings.Repeat("a", 50), false},
		"a billion":      {Grammar{Regex: "a{1000000000}"}, strings.Repeat("a", 50), false},
		"stars in stars": {Grammar{Regex: "((a|a)*)*b"}, strings.Repeat("a", 100), false},
		"two ways each":  {Grammar{Regex: "(x+x+)+y"}, strings.Repeat("x", 100), false},
		"a thousand stars": {Grammar{Regex: strings.Repeat("a*", 1000) + "b"},
			strings.Repeat("a", 100), false},
		"all that was before": {Grammar{Regex: "(.*a.{30}|.*b.{31}|.*c.{29}){5}"},
			strings.Repeat("abcacb", 20), false},
		"many letters": {Grammar{Regex: `(\p{L}|\p{N}|\p{S}){1,1000}`}, "abc", false},
		"brackets": {Grammar{Regex: strings.Repeat("(", 10_000) + "a" +
			strings.Repeat(")", 10_000)}, "", true},
		"rules in brackets": {Grammar{Lark: "start: " + strings.Repeat("(", 20_000) + `"a"` +
			strings.Repeat(")", 20_000)}, "", true},
		"rules of two":     {doubled("a"), "xxx", false},
		"terminals of two": {doubled("A"), "", true},
		"a rule of itself": {Grammar{Lark: "start: a\na: a"}, "", false},
		"many ways to read": {Grammar{Lark: "start: e\ne: e e e | e e | \"a\" | "},
			strings.Repeat("a", 20), false},
		"a deep schema in rules": {Grammar{Lark: "start: %json " + deep(5000)}, "", true},
		"schemas in rules": {Grammar{Lark: "start: " + strings.Repeat("%json {} ", 10_000)},
			"", true},
		"a remainder after a text": {Grammar{Lark: `start: "%json {" ":" %json {"multipleOf":10000019}`},
			"", true},
		"a remainder after many": {Grammar{Lark: "start: " +
			strings.Repeat(`%json {"type":"null"} `, 200) + `%json {"multipleOf":10000019}`}, "",
			true},
		"half schemas in rules": {Grammar{Lark: "start: " +
			strings.Repeat(`%json {"a":`, 90_000)}, "", true},
		"a schema that explodes": {schema(nested), "", true},
		"definitions of two":     {schema(twice(500)), `{"a": {"a": `, false},
		"choices of choices": {schema(`{"type":"object","allOf":[` +
			list(30, ",", func(i int) string {
				return fmt.Sprintf(`{"anyOf":[{"properties":{"a%d":{}}},{"properties":{"b%[1]d":{}}}]}`,
					i)
			}) + `]}`), "", true},
		"a circle": {schema(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`),
			"", false},
		"all of itself": {schema(`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`), "", true},
		"a billion items": {schema(`{"type":"array","items":{"type":"array","items":{"type":"integer"},"minItems":1000000000},"minItems":1000000000}`),
			"[[1,2", false},
		"a billion letters": {schema(`{"type":"string","minLength":1000000000}`), `"abc`, false},
		"a pattern": {schema(`{"type":"string","pattern":"^((a|aa)+)+$","minLength":3000}`),
			`"aaaa`, false},
		"patterns of names": {schema(`{"type":"object","patternProperties":{"^(a{500}){500}$":{"type":"integer"}}}`),
			`{"a`, false},
		"a wide range": {schema(`{"type":"number","minimum":1.23456789012345e-300,"maximum":1.7e308}`),
			"", true},
		"many names": {schema(`{"properties":{` +
			list(30_000, ",", func(i int) string {
				return fmt.Sprintf(`"p%d":{"type":"integer"}`, i)
			}) + `}}`), "", true},
		"a large remainder":   {schema(`{"type":"integer","multipleOf":10000019}`), "", true},
		"a remainder of twos": {schema(`{"type":"integer","multipleOf":2147483648}`), "", true},
		"a remainder, spelled out": {schema(`{"type":"integer","multiple\u004ff":10000019}`), "",
			true},
		"a remainder far down": {schema(`{"anyOf":[{"items":{"$ref":"#/$defs/a"}}],"$defs":{"a":{"multipleOf":10000019}}}`),
			"", true},
		"a remainder with a point": {schema(`{"type":"number","multipleOf":10000.019}`), "", true},
		"remainders together": {schema(`{"allOf":[{"multipleOf":9973},{"multipleOf":9967},{"multipleOf":9949}]}`),
			"", true},
		"remainders of five and two": {schema(`{"allOf":[{"multipleOf":78125},{"multipleOf":3},{"multipleOf":128}]}`),
			"", true},
		"a remainder in rules": {Grammar{Lark: `start: %json {"multipleOf":10000019}`}, "", true},
		"a remainder after another": {Grammar{Lark: "// %json [\nstart: \"%json\" %json {\"type\":\"null\"} %json {\"multipleOf\":10000019}"},
			"", true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := v.Matcher(t.Context(), c.grammar)
			if _, ok := errors.AsType[*GrammarError](err); err != nil && !ok ||
				(err != nil) != c.refused {
				t.Errorf("refused with %v, want %t", err, c.refused)
			}
			if err != nil {
				return
			}
			defer m.Close()
			bits := make([]uint32, m.Words())
			for _, b := range []byte(c.text) {
				if m.Mask(bits) != nil || m.Accept(int32(b)) != nil {
					break // a limit
				}
			}
		})
	}
	if got := spell(allowed(t, newMatcher(t, v, Grammar{Regex: "ok"}))); got != "o" {
		t.Errorf("then %q may follow", got)
	}
}

func TestUsualMultiplesAreAcceptedAndHold(t *testing.T) {
	v := newVocabulary(t)
	for _, text := range []string{
		`{"type":"integer","multipleOf":5}`,
		`{"type":"integer","multipleOf":1000000}`,
		`{"type":"number","multipleOf":0.01}`,
		`{"type":"integer","multipleOf":86400}`,
		`{"type":"integer","multipleOf":65536}`,
		`{"type":"object","properties":{"a":{"type":"number","multipleOf":0.001},
			"b":{"type":"integer","multipleOf":100},"c":{"type":"integer","multipleOf":7},
			"multipleOf":{"type":"integer"}}}`,
	} {
		m, err := v.Matcher(t.Context(), Grammar{JSON: json.RawMessage(text)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m.Close()
	}
	fives := `{"type":"integer","multipleOf":5,"minimum":1,"maximum":99}`
	m := newMatcher(t, v, Grammar{JSON: json.RawMessage(fives)})
	push(t, m, "3")
	if got := spell(allowed(t, m)); got != "0 5" {
		t.Errorf("after 3 %q may follow, want 0 or 5", got)
	}
}
