package jsonschema

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// A pattern keeps its meaning in the form that Go and llguidance share.
func TestPatternIsReadAsECMAScript(t *testing.T) {
	v := newVocabulary(t)
	for _, c := range []struct{ pattern, match, others string }{
		{`^[\w-.]+$`, "a-b.c", "a b"},
		{`^[a-\d]$`, "-", "b"},
		{`^\u00e9\x41\u{1F600}\ud83d\ude00$`, "éA😀😀", "e"},
		{`^[\u0000-\uffff]$`, "é", "ab"},
		{`^a{2,3}b{2}c{1,}$`, "aabbc", "abbc"},
		{`^a{,2}{$`, "a{,2}{", "aa{"},
		{`^\/\-\_\.$`, "/-_.", "a"},
		{`^(?<year>\d{4})-(?:0[1-9])$`, "2026-01", "2026-13"},
		{`^(?P<name>a)|^b$`, "b", "cb"},
		{`(?i)^abc$`, "aBC", "abd"},
		{`^[^]]$`, "a]", "]"},
		{`^\s\S\D\W$`, "\u00a0ab!", "aab!"},
		{`^[&&[~~-]$`, "&", "a"},
		{`^\cA\t\v\0$`, "\x01\t\v\x00", "A"},
		{`^\p{L}\p{Script=Greek}$`, "éα", "éa"},
		{`^a*?b+?c??$`, "aab", "c"},
		{`\Aab\Z`, "ab", "abc"},
		{`^(|a)$`, "", "b"},
		{`^x/y#z $`, "x/y#z ", "x/yz"},
	} {
		p, err := readPattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		re, err := regexp.Compile(p.String())
		if err != nil || !re.MatchString(c.match) || re.MatchString(c.others) {
			t.Errorf("%s is %s: %v", c.pattern, p, err)
		}
		again, err := readPattern(p.String())
		if err != nil && !strings.Contains(p.String(), "(?") || err == nil && again.String() != p.String() {
			t.Errorf("%s is %s, and then %s: %v", c.pattern, p, again, err)
		}
		schema, err := json.Marshal(map[string]string{"type": "string", "pattern": c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts(t, v, string(schema), Options{Strict: true}) {
			var s string
			if err := json.Unmarshal([]byte(text), &s); err != nil || !re.MatchString(s) {
				t.Errorf("%s admits %s: %v", c.pattern, text, err)
			}
		}
	}
}

// An error says what no grammar can express.
func TestPatternThatNoGrammarFollowsIsNamed(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a)`: "look-ahead", `(?!a)`: "look-ahead", `(?<=a)`: "look-behind", `(?<!a)`: "look-behind",
		`(a)\1`: "reference back", `\k<a>`: "reference back", `\ba`: "word boundary",
		`a$b`: "$ at the end", `(^a)*`: "^ must be", `(`: "closing", `)`: "without a (", `[a`: "closing",
		`*`: "nothing to repeat", `a**`: "quantifier", `a{3,2}`: "order", `[b-a]`: "order",
		`\`: "backslash", `\y`: `\y`, `\u12`: `\u`, `\u{41`: `\u`, `\ud800`: `\u`, `\p{x y}`: "property",
		`(?#a)`: "unknown kind", `a{99999999999}`: "too often", `^*`: "anchor",
		strings.Repeat("(", 1000): "deep",
	} {
		if _, err := readPattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", pattern, err, want)
		}
	}
}

func TestWordsOfAPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		`^a$`: "a", `^(a|b)$`: "a b", `^a$|^b$`: "a b", `^[a-c]$`: "a b c", `^a{1,2}$`: "a aa",
		`^(?:a|b)c?$`: "a ac b bc", `(^a$)`: "a", `(?i)^k$`: "K k \u212a", `^x(a$|b$)`: "xa xb",
		`[^\s\S]`: "", `a`: "-", `^a`: "-", `^a|^b$`: "-", `^a*$`: "-", `^\d{4}$`: "-",
	} {
		p, err := readPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		words, ok := p.words(manyWords)
		if got := strings.Join(words, " "); ok != (want != "-") || ok && got != want {
			t.Errorf("%s: %q, %v, want %q", pattern, got, ok, want)
		}
	}
}
