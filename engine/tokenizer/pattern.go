package tokenizer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// Time limits of a split pattern without a scanner of its own. regexp2
// backtracks, and a pattern of a hostile or careless file can take exponential
// time. Ordinary patterns take microseconds a match.
const (
	matchTimeout = 2 * time.Second
	splitTimeout = 20 * time.Second // of one text, all its matches together
)

// span is a part of a text; match tells a match of the pattern from what lies between.
type span struct {
	start, end int
	match      bool
}

// A matcher covers a text that is not empty with spans, in order. Past until a
// pattern finds no more matches.
type matcher interface {
	spans(text string, until time.Time) []span
}

// literalMatcher finds a fixed text.
type literalMatcher string

func (m literalMatcher) spans(text string, _ time.Time) []span {
	var out []span
	prev := 0
	for {
		i := strings.Index(text[prev:], string(m))
		if i < 0 {
			break
		}
		if i > 0 {
			out = append(out, span{prev, prev + i, false})
		}
		end := prev + i + len(m)
		out = append(out, span{prev + i, end, true})
		prev = end
	}
	if prev < len(text) {
		out = append(out, span{prev, len(text), false})
	}
	return out
}

// runeMatcher matches single characters.
type runeMatcher func(r rune) bool

func (m runeMatcher) spans(text string, _ time.Time) []span {
	var out []span
	prev := 0
	for i, r := range text {
		if !m(r) {
			continue
		}
		if prev < i {
			out = append(out, span{prev, i, false})
		}
		prev = i + utf8.RuneLen(r)
		out = append(out, span{i, prev, true})
	}
	if prev < len(text) {
		out = append(out, span{prev, len(text), false})
	}
	return out
}

// regexMatcher matches by a pattern. It is safe for concurrent use.
type regexMatcher struct{ re *regexp2.Regexp }

func newRegexMatcher(where, pattern string) (regexMatcher, error) {
	if err := checkPattern(where, pattern); err != nil {
		return regexMatcher{}, err
	}
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return regexMatcher{}, unsupported(where, "the pattern "+pattern+" ("+err.Error()+")")
	}
	re.MatchTimeout = matchTimeout
	return regexMatcher{re}, nil
}

func (m regexMatcher) spans(text string, until time.Time) []span {
	var out []span
	runes, at := 0, 0 // the same position, in runes and in bytes
	advance := func(to int) int {
		for ; runes < to; runes++ {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
		}
		return at
	}
	prev := 0
	var match *regexp2.Match
	for time.Now().Before(until) {
		var err error
		if match == nil {
			match, err = m.re.FindStringMatch(text)
		} else {
			match, err = m.re.FindNextMatch(match)
		}
		if match == nil || err != nil {
			break
		}
		start := advance(match.Index)
		end := advance(match.Index + match.Length)
		if prev != start {
			out = append(out, span{prev, start, false})
		}
		out = append(out, span{start, end, true})
		prev = end
	}
	if prev != len(text) {
		out = append(out, span{prev, len(text), false})
	}
	return out
}

// checkPattern refuses what regexp2 (.NET's syntax) and the reference's
// Oniguruma read differently. Letters after a backslash are limited to those
// with one meaning in both; what neither accepts is left to the compiler.
func checkPattern(where, pattern string) error {
	if len(pattern) > maxPattern {
		return tooLarge(where, "the pattern has %d bytes; the limit is %d", len(pattern), maxPattern)
	}
	refuse := func(what string) error { return unsupported(where, what+" in the pattern "+pattern) }
	inSet := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\':
			i++
			if i == len(pattern) {
				return refuse("a trailing backslash")
			}
			e := pattern[i]
			isAlnum := e >= '0' && e <= '9' || e >= 'A' && e <= 'Z' || e >= 'a' && e <= 'z'
			if isAlnum && !strings.ContainsRune("sSdDpPrntfux", rune(e)) {
				return refuse(`\` + string(e))
			}
		case inSet:
			switch {
			case c == '[' || strings.HasPrefix(rest, "&&"):
				return refuse("a set within a set")
			case c == '-' && strings.HasPrefix(rest, "-["):
				return refuse("a set within a set")
			case c == ']':
				inSet = false
			}
		case c == '[':
			inSet = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return refuse("an unescaped ] that opens a set")
			}
		case c == '^' || c == '$':
			return refuse("the anchor " + string(c))
		case strings.HasPrefix(rest, "{,"):
			return refuse("{,n}")
		case strings.HasPrefix(rest, "(?"):
			ok := false
			for _, group := range [...]string{"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"} {
				ok = ok || strings.HasPrefix(rest, group)
			}
			if !ok {
				return refuse("the group " + rest[:min(len(rest), 4)])
			}
			i++ // past the question mark
		}
	}
	return nil
}
