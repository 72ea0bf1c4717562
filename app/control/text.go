package control

import (
	"fmt"
	"strings"
	"unicode"
)

// Plural formats a number of things: "1 token", "2 tokens".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// enumerate lists names as a sentence does, with a word before the last one: "a, b and c".
func enumerate(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// Printable replaces the runes that would move a terminal's cursor or turn a line around, because
// clients and models may be named by anyone.
func Printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}
