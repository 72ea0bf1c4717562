package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// The reference matches its patterns by Unicode 16, the standard library of Go 1.26 by Unicode 15.
// These are the letters and numbers between the two, found by comparing every code point.
var (
	letters16 = ranges(
		0x1C89, 0x1C8A, 0xA7CB, 0xA7CD, 0xA7DA, 0xA7DC, 0x105C0, 0x105F3, 0x10D4A, 0x10D65, 0x10D6F, 0x10D85,
		0x10EC2, 0x10EC4, 0x11380, 0x11389, 0x1138B, 0x1138B, 0x1138E, 0x1138E, 0x11390, 0x113B5,
		0x113B7, 0x113B7, 0x113D1, 0x113D1, 0x113D3, 0x113D3, 0x11BC0, 0x11BE0, 0x13460, 0x143FA,
		0x16100, 0x1611D, 0x16D40, 0x16D6C, 0x18CFF, 0x18CFF, 0x1E5D0, 0x1E5ED, 0x1E5F0, 0x1E5F0,
		0x2EBF0, 0x2EE5D)
	numbers16 = ranges(
		0x10D40, 0x10D49, 0x116D0, 0x116E3, 0x11BF0, 0x11BF9, 0x16130, 0x16139, 0x16D70, 0x16D79,
		0x1CCF0, 0x1CCF9, 0x1E5F1, 0x1E5FA)
)

// The reference normalizes by Unicode 9. Unicode 15 reorders or composes these later marks; the
// reference takes them for ordinary letters.
var marksAfter9 = ranges(
	0x7FD, 0x7FD, 0x898, 0x89F, 0x8CA, 0x8D3, 0x9FE, 0x9FE, 0xC3C, 0xC3C, 0xD3B, 0xD3C, 0xEBA, 0xEBA,
	0x1715, 0x1715, 0x1ABF, 0x1ACE, 0x1DF6, 0x1DFA, 0xA82C, 0xA82C, 0x10D24, 0x10D27, 0x10EAB, 0x10EAC,
	0x10EFD, 0x10EFF, 0x10F46, 0x10F50, 0x10F82, 0x10F85, 0x11070, 0x11070, 0x1133B, 0x1133B,
	0x1145E, 0x1145E, 0x11839, 0x1183A, 0x11930, 0x11930, 0x1193D, 0x1193E, 0x11943, 0x11943,
	0x119E0, 0x119E0, 0x11A34, 0x11A34, 0x11A47, 0x11A47, 0x11A99, 0x11A99, 0x11D42, 0x11D42,
	0x11D44, 0x11D45, 0x11D97, 0x11D97, 0x11F41, 0x11F42, 0x16FF0, 0x16FF1, 0x1E08F, 0x1E08F,
	0x1E130, 0x1E136, 0x1E2AE, 0x1E2AE, 0x1E2EC, 0x1E2EF, 0x1E4EC, 0x1E4EF)

func isYoungMark(r rune) bool { return unicode.Is(marksAfter9, r) }

// ranges returns the table of code points between pairs of first and last, which are in order.
func ranges(bounds ...rune) *unicode.RangeTable {
	t := new(unicode.RangeTable)
	for i := 0; i < len(bounds); i += 2 {
		lo, hi := bounds[i], bounds[i+1]
		if hi <= 0xFFFF {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(lo), Hi: uint16(hi), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
		}
	}
	return t
}

// class is what the split patterns distinguish. Every character has exactly one class.
type class uint8

const (
	other   class = iota
	letter        // \p{L}
	number        // \p{N}
	newline       // [\r\n]
	space         // \s without the newlines
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		t[r] = slowClass(r)
	}
	return t
}()

func classOf(r rune) class {
	if uint32(r) < utf8.RuneSelf {
		return asciiClass[r]
	}
	return slowClass(r)
}

func slowClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case isLetter(r):
		return letter
	case isNumber(r):
		return number
	}
	return other
}

func isLetter(r rune) bool {
	return unicode.IsLetter(r) || r >= 0x1C89 && unicode.Is(letters16, r)
}

func isNumber(r rune) bool {
	return unicode.IsNumber(r) || r >= 0x10D40 && unicode.Is(numbers16, r)
}

// isWord reports whether r matches \w. An added token with single_word stands between other
// characters.
func isWord(r rune) bool {
	return isLetter(r) || r == '\u200C' || r == '\u200D' ||
		unicode.In(r, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc,
			words16)
}
