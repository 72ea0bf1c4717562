package control

import (
	"fmt"
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

// Rows returns what to add to a text about a model if it does not keep keys and values as is usual, such as
// ", kv_bits 8".
func (l *Loaded) Rows() (text string) {
	if l.KVBits > 0 {
		text = fmt.Sprintf(", kv_bits %d", l.KVBits)
	}
	if l.KVLayout != "" {
		text += ", " + l.KVLayout
	}
	return text
}
