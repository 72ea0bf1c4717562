package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Oniguruma, the reference's matcher, has sets within sets: [a[bc]] is their union, [a-z&&[^b]]
// what both hold, and [:digit:] a class. regexp2 has none of these. So such a set is computed, and
// written as a set of plain ranges.

// rewriteSets returns a pattern with plain sets in place of sets that hold others. what names a set
// that cannot be rewritten.
func rewriteSets(pattern string) (out, what string) {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		switch pattern[i] {
		case '\\':
			n := min(2, len(pattern)-i)
			b.WriteString(pattern[i : i+n])
			i += n
		case '[':
			end, nested := scanSet(pattern, i)
			if !nested {
				b.WriteString(pattern[i:end])
				i = end
				continue
			}
			r := setReader{text: pattern[:end], at: i}
			s := r.set(0)
			if r.refused != "" {
				return "", r.refused
			}
			b.WriteString(s.pattern())
			i = end
		default:
			b.WriteByte(pattern[i])
			i++
		}
	}
	return b.String(), ""
}

// scanSet returns where the set ends that begins at pattern[start], and whether others are in it,
// or complements of classes.
func scanSet(pattern string, start int) (end int, nested bool) {
	depth := 0
	for i := start; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
			// regexp2 joins [\D\p{N}] wrongly.
			nested = nested || i < len(pattern) && strings.IndexByte("SDP", pattern[i]) >= 0
		case pattern[i] == '[':
			nested = nested || i > start
			depth++
		case pattern[i] == ']':
			if depth--; depth == 0 {
				return i + 1, nested
			}
		case strings.HasPrefix(pattern[i:], "&&"):
			nested = true
		}
	}
	return len(pattern), nested
}

// A setReader reads the set that begins at text[at], to the end of the text.
type setReader struct {
	text    string
	at      int
	refused string // what is not understood
}

func (r *setReader) refuse(what string) {
	if r.refused == "" {
		r.refused = what
	}
	r.at = len(r.text)
}

// take skips a text if it comes next.
func (r *setReader) take(text string) bool {
	if !strings.HasPrefix(r.text[r.at:], text) {
		return false
	}
	r.at += len(text)
	return true
}

// set reads a set, from [ to ].
func (r *setReader) set(depth int) runeSet {
	r.at++
	if depth > maxDepth {
		r.refuse("sets deep within each other")
	}
	negated := r.take("^")
	var all *runeSet // the parts before the last &&
	var part runeSet
	first, closed := true, false
	for r.at < len(r.text) {
		if r.take("]") {
			closed = true
			break
		}
		if r.take("&&") {
			if first {
				r.refuse("an empty part of a set")
			}
			all, part, first = intersect(all, part.normal()), nil, true
			continue
		}
		part = append(part, r.item(depth)...)
		first = false
	}
	switch {
	case !closed:
		r.refuse("a set without an end")
	case first:
		r.refuse("an empty part of a set")
	}
	out := *intersect(all, part.normal())
	if negated {
		out = out.complement()
	}
	return out
}

// intersect returns what both sets hold; nil holds everything.
func intersect(a *runeSet, b runeSet) *runeSet {
	if a != nil {
		b = append(a.complement(), b.complement()...).normal().complement()
	}
	return &b
}

// item reads a character, a range, a class or a set within the set.
func (r *setReader) item(depth int) runeSet {
	switch {
	case strings.HasPrefix(r.text[r.at:], "[:"):
		return r.posix()
	case r.text[r.at] == '[':
		s := r.set(depth + 1)
		r.noRange()
		return s
	}
	lo, class := r.character()
	if class != nil {
		r.noRange()
		return class
	}
	if !strings.HasPrefix(r.text[r.at:], "-") || strings.HasPrefix(r.text[r.at:], "-]") {
		return runeSet{{lo, lo}}
	}
	r.at++
	if rest := r.text[r.at:]; strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "&&") {
		r.refuse("a set within a set after a hyphen")
		return nil
	}
	hi, class := r.character()
	if class != nil || hi < lo {
		r.refuse("a range that is none")
		return nil
	}
	return runeSet{{lo, hi}}
}

// noRange refuses a hyphen after a class or a set: programs read it in several ways.
func (r *setReader) noRange() {
	rest := r.text[r.at:]
	if strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
		r.refuse("a set within a set beside a hyphen")
	}
}

// posixClasses are the classes that equal the reference's in every code point.
var posixClasses = map[string][]*unicode.RangeTable{
	"digit": {unicode.Nd, numbers16}, "space": {unicode.White_Space}, "cntrl": {unicode.Cc},
	"xdigit": {unicode.ASCII_Hex_Digit}, "blank": {unicode.Zs, ranges('\t', '\t')},
	"ascii": {ranges(0, 0x7F)}, "punct": {unicode.P, unicode.S, symbols16},
}

// posix reads [:name:] or [:^name:].
func (r *setReader) posix() runeSet {
	end := strings.Index(r.text[r.at:], ":]")
	if end < 0 {
		r.refuse("a set without an end")
		return nil
	}
	text := r.text[r.at : r.at+end+len(":]")]
	r.at += len(text)
	name, negated := strings.CutPrefix(text[len("[:"):end], "^")
	tables := posixClasses[name]
	if tables == nil {
		r.refuse("the class " + text)
		return nil
	}
	s := tableSet(tables...)
	if negated {
		return s.complement()
	}
	return s
}

// escapes are the characters of escaped letters.
var escapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f'}

// character reads one character, or the class that an escape means.
func (r *setReader) character() (c rune, class runeSet) {
	if r.at >= len(r.text) {
		r.refuse("a set without an end")
		return 0, nil
	}
	c, n := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += n
	if c != '\\' {
		return c, nil
	}
	if r.at >= len(r.text) {
		r.refuse("a trailing backslash")
		return 0, nil
	}
	c, n = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += n
	switch c {
	case 's', 'S':
		class = tableSet(unicode.White_Space)
	case 'd', 'D':
		class = tableSet(unicode.Nd, numbers16)
	case 'p', 'P':
		class = r.property()
	case 'x', 'u':
		return r.hex(map[rune]int{'x': 2, 'u': 4}[c]), nil
	case 'n', 'r', 't', 'f':
		return escapes[byte(c)], nil
	default:
		if c < utf8.RuneSelf && (isLetter(c) || isNumber(c)) {
			r.refuse(`\` + string(c))
		}
		return c, nil
	}
	if c == 'S' || c == 'D' || c == 'P' {
		class = class.complement()
	}
	return 0, class
}

// hex reads so many hexadecimal digits.
func (r *setReader) hex(digits int) rune {
	end := min(r.at+digits, len(r.text))
	v, err := strconv.ParseUint(r.text[r.at:end], 16, 32)
	if err != nil || end-r.at < digits {
		r.refuse(`\` + r.text[r.at-1:end])
		return 0
	}
	r.at = end
	return rune(v)
}

// property reads {L} or {Han}, after \p.
func (r *setReader) property() runeSet {
	rest := r.text[r.at:]
	end := strings.IndexByte(rest, '}')
	if end < 0 || rest[0] != '{' {
		r.refuse(`\p` + rest[:min(len(rest), 8)])
		return nil
	}
	name := rest[1:end]
	r.at += end + 1
	switch table := unicode.Categories[name]; {
	case name == "L":
		return tableSet(table, letters16)
	case name == "N" || name == "Nd":
		return tableSet(table, numbers16)
	case table != nil:
		return tableSet(table)
	case unicode.Scripts[name] != nil:
		return tableSet(unicode.Scripts[name])
	}
	r.refuse(`\p{` + name + "}")
	return nil
}

// A runeSet is a set of characters, as ranges from first to last. A normal one has them in order,
// apart from each other.
type runeSet [][2]rune

func tableSet(tables ...*unicode.RangeTable) runeSet {
	var s runeSet
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			s = append(s, [2]rune{lo, hi})
			return
		}
		for c := lo; c <= hi; c += stride {
			s = append(s, [2]rune{c, c})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return s.normal()
}

// normal returns the set with its ranges in order, joined where they touch.
func (s runeSet) normal() runeSet {
	sorted := slices.Clone(s)
	slices.SortFunc(sorted, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var out runeSet
	for _, r := range sorted {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	return out
}

// complement returns all other characters. The set is normal.
func (s runeSet) complement() runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s {
		if next < r[0] {
			out = append(out, [2]rune{next, r[0] - 1})
		}
		next = r[1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, [2]rune{next, unicode.MaxRune})
	}
	return out
}

// pattern writes a set that regexp2 reads. An empty one matches nothing.
func (s runeSet) pattern() string {
	if len(s) == 0 {
		return "(?!)"
	}
	var b strings.Builder
	write := func(c rune) {
		if c < utf8.RuneSelf && !isWord(c) {
			fmt.Fprintf(&b, `\x%02x`, c) // regexp2 takes \- for no bound of a range
			return
		}
		b.WriteRune(c)
	}
	b.WriteByte('[')
	for _, r := range s {
		// Surrogates are no characters. As bounds they would be written as U+FFFD.
		for _, part := range [][2]rune{{r[0], min(r[1], 0xD7FF)}, {max(r[0], 0xE000), r[1]}} {
			if part[0] > part[1] {
				continue
			}
			write(part[0])
			if part[0] < part[1] {
				b.WriteByte('-')
				write(part[1])
			}
		}
	}
	b.WriteByte(']')
	return b.String()
}
