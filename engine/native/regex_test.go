package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// follows reports whether a text may be written by a grammar, to its end.
func follows(t *testing.T, m *Matcher, text string) bool {
	t.Helper()
	written := 0
	defer func() {
		if err := m.Rollback(written); err != nil {
			t.Fatal(err)
		}
	}()
	bits := make([]uint32, m.Words())
	may := func(id int32) bool {
		if err := m.Mask(bits); err != nil {
			t.Fatal(err)
		}
		return bits[id/32]>>(id%32)&1 != 0
	}
	for _, b := range []byte(text) {
		if !may(int32(b)) {
			return false
		}
		if err := m.Accept(int32(b)); err != nil {
			t.Fatal(err)
		}
		written++
	}
	return may(endToken)
}

// A regular expression means what Rust's regex crate says, for the whole text. Within a JSON string it means
// the same texts, each in its shortest spelling.
func TestRegexIsReadAsRusts(t *testing.T) {
	v := newVocabulary(t)
	for _, c := range []struct{ regex, match, others string }{ // texts, a space apart; ␣ is a space
		{`abc|d`, "abc d", "ab abcd cd"},
		{`(?i)abc`, "abc aBC ABC", "ab abd"},
		{`(?i:abc)d`, "aBCd", "abcD"},
		{`a(?i)b(?-i)c`, "abc aBc", "Abc abC"},
		{`(?i)straße|k`, "STRAẞE K K", "strasse"},
		{`(?s).{3}`, "a\nb \n\n\n", "ab abcd"},
		{`.{3}`, "abc äöü", "a\nb ab"},
		{`(?R).`, "a", "\n \r"},
		{`(?m)^a$`, "a", "aa a\n"},
		{`(?mR)^a$`, "a", "a\r\n"},
		{`^(?:a|b)$`, "a b", "ab"},
		{`^a$|^b`, "a b", "ab"},
		{`\Aab\z`, "ab", "ab\n abc"},
		{`(?x) a  b # a comment with a / and a "` + "\n" + `  \ c`, "ab␣c", "abc"},
		{`(?x)[ a b ]{2}`, "ab ba", "a"},
		{`(?U)a+b`, "ab aab", "b"},
		{`a+?b*?c??`, "a aabbc", "b"},
		{`(a+)?b`, "b aab", "a"},
		{`(?:a+)?b(?:(?:c?)?){2}`, "b aabcc", "a bccc"},
		{`[[:digit:]]{2}`, "12 90", "g] :] 1 ٣٣"},
		{`[[:^alpha:]_]`, "1 _ \n", "a"},
		{`[[:space:][:punct:]]`, "\t \" \\ !", "a"},
		{`[a-f&&[^c]]`, "a b d", "c g &"},
		{`[a&&b]|x`, "x", "a b & ]"},
		{`[\w--\d]`, "a _ é", "1 - !"},
		{`[a-g~~d-k]`, "a h", "d g ~"},
		{`[]a]`, "] a", "[ b"},
		{`[^]a]`, "b [ \\ \"", "] a"},
		{`[a\]\-^"\\]`, "a ] - ^ \" \\", "b"},
		{`\d`, "1 ٣", "a"},
		{`(?-u)\d`, "1", "٣ a"},
		{`\w\W\s\S\D`, "é!\u00a0xa", "a!\u00a0x1"},
		{`\p{Greek}\pL\P{L}`, "αb1", "aα1 αbc"},
		{`\p{Script=Cyrillic}\p{gc=Nd}`, "ж1", "a1"},
		{`\p{Alphabetic}\p{Lowercase}`, "Aa", "aA"},
		{`\p{Cc}`, "\x01 \n", "a"},
		{`\p{Quotation_Mark}`, "\" «", "a \\"},
		{`\x41\x{1F600}\u{e9}\u00e9\U0001F600`, "A😀éé😀", "A"},
		{`\a\f\t\n\r\v\x00`, "\a\f\t\n\r\v\x00", "a"},
		{`(?P<year>\d{4})-(?<month>0[1-9])`, "2026-01", "2026-13"},
		{`a(?P<stop>b)`, "ab", "a"},
		{`a{2,3}b{2}c{1,}d{0}`, "aabbc aaabbcc", "abbc aabbcd"},
		{`x/y\/z#`, "x/y/z#", "x/y"},
		{`"[^"\\]{1,3}"\\`, "\"a\"\\ \"\n\x7f\x01\"\\", "\"\"\\ \"\\\"\\"},
		{"a\n", "a\n", "a"},
		{`\.\*\{`, ".*{", "a*{ ..{"},
		{`(|a)b`, "b ab", "a"},
	} {
		m, inJSON := newMatcher(t, v, Grammar{Regex: c.regex}), newMatcher(t, v, Grammar{Lark: fmt.Sprintf(
			`start: "\"" TEXT "\"" // %%regex {"regex": "b"} "`+"\n"+`TEXT: %%regex {"regex_in_json": %s}`, quote(t, c.regex))})
		for _, texts := range []struct {
			all  string
			want bool
		}{{c.match, true}, {c.others, false}} {
			for text := range strings.SplitSeq(texts.all, " ") {
				text = strings.ReplaceAll(text, "␣", " ")
				if got := follows(t, m, text); got != texts.want {
					t.Errorf("%s: %q: %t", c.regex, text, got)
				}
				if got := follows(t, inJSON, quote(t, text)); got != texts.want {
					t.Errorf("%s: %q in JSON: %t", c.regex, text, got)
				}
			}
		}
	}
	m := newMatcher(t, v, Grammar{Lark: `start: %regex {"regex_in_json": "[\n\"\u0001a]"}`})
	for text, want := range map[string]bool{`\n`: true, `\"`: true, `\u0001`: true, "a": true,
		`\u000a`: false, `\u0022`: false, `\u0061`: false, "\n": false, `"`: false} {
		if got := follows(t, m, text); got != want {
			t.Errorf("a character may be written as %s: %t", text, got)
		}
	}
}

// An empty expression does not comment out the rules around it.
func TestEmptyRegexMatchesNothingMore(t *testing.T) {
	m := newMatcher(t, newVocabulary(t), Grammar{Lark: `start: "a" %regex {"regex": ""} "b"`})
	for text, want := range map[string]bool{"ab": true, "a": false} {
		if got := follows(t, m, text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// quote returns a text as JSON.
func quote(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// What no grammar can follow is named, in the words of its client.
func TestRegexThatNoGrammarFollowsIsNamed(t *testing.T) {
	v := newVocabulary(t)
	for regex, want := range map[string]string{
		`(?=a)b`: "look-around", `(?<!a)b`: "look-around", `\bab\b`: "word boundary", `a\B`: "word boundary",
		`(a)\1`: "backreferences", `a^b`: "^ must be at the beginning", `a$b`: "^ must be at the beginning",
		`(^a)*`: "^ must be at the beginning", `(`: "unclosed group", `a)`: "unopened group",
		`[a`: "unclosed character class",
		`*`:  "missing expression", `a{3,2}`: "invalid repetition", `[b-a]`: "invalid character class range",
		`\y`:          "unrecognized escape",
		`\p{Klingon}`: "Unicode property not found", `[^\s\S]`: "no text matches it", `a[a&&b]+`: "no text matches it",
		`(?-u:\xFF)`: "UTF-8", `(?z)`: "unrecognized flag", `\Z`: "unrecognized escape",
		strings.Repeat("(", 1000) + strings.Repeat(")", 1000): "nest",
	} {
		m, err := v.Matcher(t.Context(), Grammar{Regex: regex})
		if err == nil {
			m.Close()
		}
		e, ok := errors.AsType[*GrammarError](err)
		if !ok || e.Kind != KindSyntax || !strings.Contains(e.Message, want) ||
			!strings.HasPrefix(e.Message, "the regular expression "+regex[:min(len(regex), 100)]) {
			t.Errorf("%.40s: %v, want %s", regex, err, want)
		}
	}
}
