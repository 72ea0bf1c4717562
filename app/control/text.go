package control

import (
	"strings"
)

// Plural formats a number of things: "1 token", "2,138 tokens".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// enumerate lists names as a sentence does, with a word before the last one: "a, b and c".
func enumerate(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
