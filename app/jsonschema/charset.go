package jsonschema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A set is a set of characters.
type set struct {
	ranges [][2]rune // sorted, with gaps between them
	named  []string  // classes by property, such as \p{L}
	not    bool      // the characters that are not in it; only with named or fold
	fold   bool      // letters match both cases
}

// newSet returns the set of the characters from low to high.
func newSet(low, high rune) set { return set{ranges: [][2]rune{{low, high}}} }

var (
	digits         = newSet('0', '9')
	wordCharacters = set{ranges: [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}
	spaces         = set{ranges: [][2]rune{
		{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
	}}
)

// single returns the only character of a set.
func (s set) single() (rune, bool) {
	if s.not || s.named != nil || len(s.ranges) != 1 || s.ranges[0][0] != s.ranges[0][1] {
		return 0, false
	}
	return s.ranges[0][0], true
}

// with returns the union of two sets. Neither is folded or negated.
func (s set) with(x set) set {
	all := slices.Concat(s.ranges, x.ranges)
	slices.SortFunc(all, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var ranges [][2]rune
	for _, r := range all {
		if n := len(ranges); n > 0 && r[0] <= ranges[n-1][1]+1 {
			ranges[n-1][1] = max(ranges[n-1][1], r[1])
			continue
		}
		ranges = append(ranges, r)
	}
	return set{ranges: ranges, named: slices.Concat(s.named, x.named)}
}

// negated returns the characters that are not in the set.
func (s set) negated() set {
	if s.named != nil || s.fold {
		s.not = !s.not
		return s
	}
	var ranges [][2]rune
	from := rune(0)
	for _, r := range s.ranges {
		if r[0] > from {
			ranges = append(ranges, [2]rune{from, r[0] - 1})
		}
		from = r[1] + 1
	}
	if from <= unicode.MaxRune {
		ranges = append(ranges, [2]rune{from, unicode.MaxRune})
	}
	return set{ranges: ranges}
}

// few returns the characters of a set of at most n. ok is false for a larger one.
func (s set) few(n int) (runes []rune, ok bool) {
	if s.not || s.named != nil {
		return nil, false
	}
	for _, r := range s.ranges {
		if int(r[1]-r[0]) >= n {
			return nil, false
		}
		for c := r[0]; c <= r[1]; c++ {
			runes = append(runes, c)
			for f := unicode.SimpleFold(c); s.fold && f != c; f = unicode.SimpleFold(f) {
				runes = append(runes, f)
			}
		}
		if len(runes) > n {
			return nil, false
		}
	}
	slices.Sort(runes)
	return slices.Compact(runes), true
}

// all reports whether every character is in the set.
func (s set) all() bool {
	return !s.not && len(s.ranges) == 1 && s.ranges[0] == [2]rune{0, unicode.MaxRune}
}

// disjoint reports whether two sets surely have no character in common.
func (s set) disjoint(x set) bool {
	if s.not || x.not || s.fold || x.fold || s.named != nil || x.named != nil {
		return false
	}
	for _, a := range s.ranges {
		for _, b := range x.ranges {
			if a[0] <= b[1] && b[0] <= a[1] {
				return false
			}
		}
	}
	return true
}

// write writes the set in the form that Go and Rust share.
func (s set) write(b *strings.Builder) {
	if s.fold {
		b.WriteString("(?i:")
		defer b.WriteString(")")
	}
	if c, ok := s.single(); ok {
		writeRune(b, c)
		return
	}
	switch {
	case s.all():
		b.WriteString("(?s:.)")
		return
	case !s.not && s.named == nil && slices.Equal(s.ranges, newSet('\n', '\n').negated().ranges):
		b.WriteByte('.')
		return
	case !s.not && s.named == nil && s.ranges == nil:
		b.WriteString(`[^\x{0}-\x{10FFFF}]`)
		return
	}
	b.WriteByte('[')
	if s.not {
		b.WriteByte('^')
	}
	for _, r := range s.ranges {
		writeRune(b, r[0])
		if r[1] > r[0] {
			b.WriteByte('-')
			writeRune(b, r[1])
		}
	}
	for _, name := range s.named {
		b.WriteString(name)
	}
	b.WriteByte(']')
}

// writeRune writes a character. ASCII letters and digits are written as they are.
func writeRune(b *strings.Builder, c rune) {
	if c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
		b.WriteRune(c)
		return
	}
	fmt.Fprintf(b, `\x{%X}`, c)
}
