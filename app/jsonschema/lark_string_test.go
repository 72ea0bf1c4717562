package jsonschema

import (
	"strings"
	"testing"
)

// Rules of a text become rules of that text inside a JSON string.
func TestRulesOfATextAreEscapedForAJSONString(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{`start: "a" /b+/`, `start: "a" ` + inJSON(`b+`)},
		{`start: "a\n\"\\" # "x /y`, `start: "a\\n\\\"\\\\" `},
		{`start: "\x41\x0a" // "x /y`, `start: "A\\n" // "x /y`},
		{`start: "A.\n"i`, `start: ` + inJSON(`(?i)A\.`+"\n")},
		{`start: "a".."c" ("!" .. "#")~2..3`, `start: ` + inJSON(`[\x{61}-\x{63}]`) + ` (` + inJSON(`[\x{21}-\x{23}]`) + `)~2..3`},
		{`start: /a\/"/i /[[:digit:]]/`, `start: ` + inJSON(`(?i)a\/"`) + ` ` + inJSON(`[[:digit:]]`)},
		{"start: /a # \"\nb/x \"c\"", `start: ` + inJSON("(?x)a # \"\nb") + ` "c"`},
		{"start: /a\\/ \"b\"\n", "start: /a\\/ \"b\"\n"}, // without an end
		{LarkRegex(`a"[b\n]`), `start: ` + inJSON(`a"[b\n]`)},
		{"%import common.LF\nstart: LF", "LF: " + inJSON(`\n`) + "\n\nstart: LF"},
		{"%import common.LF -> NL\nstart: NL", "NL: " + inJSON(`\n`) + "\n\nstart: NL"},
		{"%import common (INT, CR)\nstart: INT CR", "%import common.INT\nCR: " + inJSON(`\r`) + "\n\nstart: INT CR"},
		{"%llguidance {\"no_forcing\": true}\nstart: \"\\t\"", "%llguidance {\"no_forcing\": true}\nstart: \"\\\\t\""},
	} {
		if got, err := LarkString(c.rules); err != nil || got != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.rules, got, err, c.want)
		}
	}
	for rules, want := range map[string]string{
		`start: ~"a"`: "~", `start: %json {"type": "string"}`: "%json", `start: <[7]>`: "special tokens",
		`start: "b".."a"`: "range", `start: "a" .. `: "range",
		`start: %regex {"substring_words": "a b"}`: "%regex",
	} {
		if got, err := LarkString(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", rules, got, err)
		}
	}
}

// inJSON returns the expression that stands for a regular expression inside a JSON string.
func inJSON(source string) string { return `%regex {"regex_in_json": ` + quoted(source) + "}" }

func TestRegexIsFoundWhereItIsAllOfTheRules(t *testing.T) {
	for rules, want := range map[string]string{
		"start: /a\\/[b]/i": `/a\/[b]/i`, LarkRegex("a\n/\"}"): `%regex {"regex": "a\n/\"}"}`,
		`start: /a/ /b/`: "", `start: /a/ | "b"`: "", "start: /a/\nB: /b/": "", `x: /a/`: "", `start: // a`: "",
		`start: %regex {"regex": "a"} | "b"`: "", `start: %regex {"substring_chars": "ab"}`: "",
	} {
		if got, ok := Regex(rules); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", rules, got, ok)
		}
	}
}
