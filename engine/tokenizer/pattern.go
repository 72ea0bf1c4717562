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

// A meter limits what one Encode spends: the time in split patterns and in all stages, and the
// bytes that the stages make of the text. Stages that each make a text a little longer multiply.
type meter struct {
	until  time.Time
	bytes  int // that may still go to the model
	longer int // the most bytes of one piece
	steps  int
	err    error // set after a limit; then no text is split
}

// growthRoom is what a short text may grow by beyond maxGrowth, in bytes.
const growthRoom = 4 << 10

func newMeter(text string) *meter {
	most := maxGrowth*len(text) + growthRoom
	return &meter{
		until: time.Now().Add(textTime + time.Duration(len(text))*byteTime),
		bytes: most, longer: most,
	}
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

// take counts a piece between two stages. It reports whether a limit is reached. Asking for the
// time costs as much as a short piece, so only some pieces do.
func (m *meter) take(piece string) bool {
	const often = 1 << 10
	m.steps += 1 + len(piece)>>6
	if len(piece) > m.longer {
		m.grown()
	}
	if m.steps >= often {
		m.steps = 0
		return m.spent()
	}
	return m.err != nil
}

// word counts a piece that goes to the model. It reports whether a limit is reached.
func (m *meter) word(piece string) bool {
	if m.bytes -= len(piece); m.bytes < 0 {
		m.grown()
	}
	return m.err != nil
}

func (m *meter) grown() {
	if m.err == nil {
		m.err = tooLarge("tokenizer.json",
			"its stages make this text more than %d times longer; use another model", maxGrowth)
	}
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
	if len(pattern) > maxPattern {
		return regexMatcher{}, tooLarge(where,
			"the pattern has %d bytes; the limit is %d", len(pattern), maxPattern)
	}
	plain, what := rewriteSets(pattern)
	if what == "" {
		what = refusedForm(plain)
	}
	if what != "" {
		return regexMatcher{}, unsupported(where, what+" in the pattern "+pattern)
	}
	re, err := regexp2.Compile(plain, regexp2.None)
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
	prev, last := 0, -1 // the end of the last span, and of the last match
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
		if start == end && end == last {
			continue // the reference takes no empty match right after another
		}
		if prev != start {
			out = append(out, span{prev, start, false})
		}
		out = append(out, span{start, end, true})
		prev, last = end, end
	}
	if prev != len(text) {
		out = append(out, span{prev, len(text), false})
	}
	return out
}

// refusedForm names what regexp2 (.NET's syntax) and the reference's Oniguruma read differently in
// a pattern without sets in sets, or returns "". After a backslash only letters with one meaning in
// both are allowed. The compiler refuses what neither accepts.
func refusedForm(pattern string) string {
	inSet := false
	depth, loops := 0, 0 // loops are those of one alternative
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\':
			i++
			if i == len(pattern) {
				return "a trailing backslash"
			}
			e := pattern[i]
			isAlnum := e >= '0' && e <= '9' || e >= 'A' && e <= 'Z' || e >= 'a' && e <= 'z'
			if isAlnum && !strings.ContainsRune("sSdDpPrntfux", rune(e)) {
				return `\` + string(e)
			}
		case inSet:
			inSet = c != ']'
		case c == '[':
			inSet = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return "an unescaped ] that opens a set"
			}
		case c == '|' && depth == 0:
			loops = 0
		case c == '*' || c == '+' || c == '{' && unbounded(rest):
			if loops++; loops > maxLoops {
				return "more than two unbounded quantifiers in an alternative"
			}
		case c == ')':
			depth--
			if after := pattern[i+1:]; after != "" && strings.ContainsRune("*+{", rune(after[0])) {
				return "a group that repeats"
			}
		case c == '^' || c == '$':
			return "the anchor " + string(c)
		case strings.HasPrefix(rest, "{,"):
			return "{,n}"
		case strings.HasPrefix(rest, "(?"):
			ok := false
			for _, group := range [...]string{"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"} {
				ok = ok || strings.HasPrefix(rest, group)
			}
			if !ok {
				return "the group " + rest[:min(len(rest), 4)]
			}
			depth++
			i++ // past the question mark
		case c == '(':
			depth++
		}
	}
	return ""
}

// unbounded reports whether a pattern begins with {n,}.
func unbounded(pattern string) bool {
	rest := strings.TrimLeft(pattern[1:], "0123456789")
	return len(rest) < len(pattern)-1 && strings.HasPrefix(rest, ",}")
}
