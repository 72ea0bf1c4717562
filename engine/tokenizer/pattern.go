package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// maxLoops limits the unbounded quantifiers (*, +, {n,}) in one alternative of
// a split pattern without a scanner of its own. regexp2 backtracks: a group that
// repeats can take exponential time and is refused, and each loop multiplies
// the work by the length of a match. The form is limited at Load, not the time
// of a match: ids would depend on the machine's load.
const maxLoops = 2

// span is a part of a text; match tells a match of the pattern from what lies between.
type span struct {
	start, end int
	match      bool
}

// A matcher covers a text that is not empty with spans, in order.
type matcher interface {
	spans(text string) []span
}

// literalMatcher finds a fixed text.
type literalMatcher string

func (m literalMatcher) spans(text string) []span {
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

func (m runeMatcher) spans(text string) []span {
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
	return regexMatcher{re}, nil
}

func (m regexMatcher) spans(text string) []span {
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
	// Errors are timeouts only, and there is none.
	match, _ := m.re.FindStringMatch(text)
	for ; match != nil; match, _ = m.re.FindNextMatch(match) {
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
	depth, loops := 0, 0 // of groups; of this alternative of the whole pattern
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
		case c == '|' && depth == 0:
			loops = 0
		case c == '*' || c == '+' || c == '{' && unbounded(rest):
			if loops++; loops > maxLoops {
				return refuse("more than two unbounded quantifiers in an alternative")
			}
		case c == ')':
			depth--
			if after := pattern[i+1:]; after != "" && strings.ContainsRune("*+{", rune(after[0])) {
				return refuse("a group that repeats")
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
			depth++
			i++ // past the question mark
		case c == '(':
			depth++
		}
	}
	return nil
}

// unbounded reports whether a pattern goes on with {n,}.
func unbounded(pattern string) bool {
	rest := strings.TrimLeft(pattern[1:], "0123456789")
	return len(rest) < len(pattern)-1 && strings.HasPrefix(rest, ",}")
}
