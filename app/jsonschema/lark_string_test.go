package jsonschema

import (
	"strings"
	"testing"
)

// Rules of a text become rules of that text inside a JSON string.
func TestRulesOfATextAreEscapedForAJSONString(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{`start: "a" /b+/`, `start: "a" /(?:b+)/`},
		{`start: "a\n\"\\" # "x /y`, `start: "a\\n\\\"\\\\" `},
		{`start: "\x41\x0a" // "x /y`, `start: "A\\n" // "x /y`},
		{`start: "A\n"i`, `start: /(?:(?i:A)(?:\x{5C}n))/`},
		{`start: "a".."c" ("!" .. "#")~2..3`, `start: /(?:[a-c])/ (/(?:\x{5C}\x{22}|[\x{21}\x{23}])/)~2..3`},
		{`start: /^[^a-z]$/`, `start: /(?:(?:` + controls + `|\x{5C}\x{22}|\x{5C}\x{5C}|[\x{20}-\x{21}\x{23}-\x{5B}\x{5D}-\x{60}\x{7B}-\x{10FFFF}]))/`},
		{`start: /a\/"/i`, `start: /(?:(?i:a)(?i:\x{2F})(?:\x{5C}\x{22}))/`},
		{`start: /\p{P}/`, `start: /(?:\x{5C}\x{22}|\x{5C}\x{5C}|[[\p{P}]&&[^\x{0}-\x{1F}"\\]])/`},
		{"%import common.LF\nstart: LF", "LF: /(?:\\x{5C}n)/\n\nstart: LF"},
		{"%import common.LF -> NL\nstart: NL", "NL: /(?:\\x{5C}n)/\n\nstart: NL"},
		{"%import common (INT, CR)\nstart: INT CR", "%import common.INT\nCR: /(?:\\x{5C}r)/\n\nstart: INT CR"},
		{"%llguidance {\"no_forcing\": true}\nstart: \"\\t\"", "%llguidance {\"no_forcing\": true}\nstart: \"\\\\t\""},
	} {
		if got, err := LarkString(c.rules); err != nil || got != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.rules, got, err, c.want)
		}
	}
	for rules, want := range map[string]string{
		`start: ~"a"`: "~", `start: %json {"type": "string"}`: "%json", `start: <[7]>`: "special tokens",
		`start: /a(?=b)/`: "look-ahead", `start: "b".."a"`: "range", `start: "a" .. `: "range",
		`start: %regex {"substring_words": "a b"}`: "%regex",
	} {
		if got, err := LarkString(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", rules, got, err)
		}
	}
}

// controls are the escapes of the control characters.
var controls = func() string {
	var list []string
	for c := range ' ' {
		inner := quoted(string(c))
		list = append(list, `\x{5C}`+inner[2:len(inner)-1])
	}
	return strings.Join(list, "|")
}()
