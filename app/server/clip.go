package server

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clip shortens a client's text for an error message.
func clip(s string) string {
	return shorten(s, 80)
}

// shorten cuts a text to so many bytes.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// printable leaves out what would move a terminal's cursor or turn a line around:
// clients call themselves and models what they like.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
}
