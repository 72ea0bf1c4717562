package tokenizer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// maxLoops limits the unbounded quantifiers (*, +, {n,}) in one alternative of a split pattern. It
// holds for patterns without a scanner of their own. regexp2 backtracks. A group that repeats can
// take exponential time and is refused. Each loop multiplies the work by the length of a match.
const maxLoops = 2

// These limit the time that a text may spend in split patterns. The form alone does not limit it.
// Two loops are cubic in the text. Each of several alternatives in a row, (?:aa|a)(?:aa|a)...,
// doubles the time.
//
// A count of steps would be the same on every machine, but regexp2 counts none. So its clock is
// used: one goroutine for all patterns. It ticks ten times a second while they run and for a few
// seconds after. A process that is stopped for seconds reaches the limit.
//
// Ordinary patterns need 0.3 microseconds a byte. Past the limits Encode fails, so ids never depend
// on how busy the machine is.
const (
	matchTime = 3 * time.Second       // of one match
	textTime  = 3 * time.Second       // of all matches in a text, plus byteTime a byte
	byteTime  = 10 * time.Microsecond // for each byte of the text
)

// A meter limits the time that one Encode spends in split patterns.
type meter struct {
	until time.Time
	err   error // set after that time; then no text is split
}

func newMeter(text string) *meter {
	return &meter{until: time.Now().Add(textTime + time.Duration(len(text))*byteTime)}
}

// spent reports whether the time is up.
func (m *meter) spent() bool {
	if m.err == nil && time.Now().After(m.until) {
		m.fail()
	}
	return m.err != nil
}

func (m *meter) fail() {
	m.err = &Error{CodeTooSlow, "pre_tokenizer Split",
		"the pattern takes too long on this text; shorten the text or use another model"}
}

// span is a part of a text. match tells a match of the pattern from the text between matches.
type span struct {
	start, end int
	match      bool
}

// A matcher covers a text that is not empty with spans, in order. If the meter runs out, the spans
// mean nothing.
type matcher interface {
	spans(text string, left *meter) []span
}

// literalMatcher finds one fixed text.
type literalMatcher string

func (m literalMatcher) spans(text string, _ *meter) []span {
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

func (m runeMatcher) spans(text string, _ *meter) []span {
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

// regexMatcher finds the matches of a pattern. It is safe for concurrent use.
type regexMatcher struct{ re *regexp2.Regexp }

func newRegexMatcher(where, pattern string) (regexMatcher, error) {
	if err := checkPattern(where, pattern); err != nil {
		return regexMatcher{}, err
	}
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return regexMatcher{}, unsupported(where, "the pattern "+pattern+" ("+err.Error()+")")
	}
	re.MatchTimeout = matchTime
	return regexMatcher{re}, nil
}

func (m regexMatcher) spans(text string, left *meter) []span {
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
	for !left.spent() {
		var err error
		if match == nil {
			match, err = m.re.FindStringMatch(text)
		} else {
			match, err = m.re.FindNextMatch(match)
		}
		if err != nil {
			left.fail() // the limit of one match; err would quote the whole text
		}
		if match == nil {
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

// checkPattern refuses what regexp2 (.NET's syntax) and the reference's Oniguruma read differently.
// After a backslash only letters with one meaning in both are allowed. The compiler refuses what
// neither accepts.
func checkPattern(where, pattern string) error {
	if len(pattern) > maxPattern {
		return tooLarge(where,
			"the pattern has %d bytes; the limit is %d", len(pattern), maxPattern)
	}
	refuse := func(what string) error { return unsupported(where, what+" in the pattern "+pattern) }
	inSet := false
	depth, loops := 0, 0 // loops are those of one alternative
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

// unbounded reports whether a pattern begins with {n,}.
func unbounded(pattern string) bool {
	rest := strings.TrimLeft(pattern[1:], "0123456789")
	return len(rest) < len(pattern)-1 && strings.HasPrefix(rest, ",}")
}
