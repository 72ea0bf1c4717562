package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip shortens a client's text for an error message.
func Clip(s string) string {
	return Shorten(s, 80)
}

// Shorten cuts a text to at most that many bytes.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// Printable removes characters that move a terminal's cursor or turn a line around. Clients choose
// their names and models' names freely.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
}
