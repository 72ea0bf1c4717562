package wire

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/app/control"
)

// Clip shortens a client's text for an error message.
func Clip(s string) string {
	return control.Shorten(s, 80)
}

// MaxErrorText limits the text of an error in an answer, in bytes. Templates, models' files and
// requests put texts of any length into errors.
const MaxErrorText = 2000

// abridge takes out the middle of a text that is too long. The end of an error often says what to do.
func abridge(s string, hi int) string {
	if len(s) <= hi {
		return s
	}
	head, tail := hi*3/4, len(s)-hi/4
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + " ... " + s[tail:]
}

// errorNames are the members of answers that hold the text of an error.
var errorNames = []string{`"error"`, `"message"`, `"warning"`, `"reason"`, `"why"`}

// ClipErrors abridges the texts of errors in a JSON text.
func ClipErrors(b []byte) []byte {
	var out []byte
	kept := 0 // of b, up to here it is in out
	for i := 0; i < len(b); i++ {
		if b[i] != '"' {
			continue
		}
		name := b[i:valueEnd(b, i)]
		i += len(name)
		if i == len(b) || b[i] != ':' || !slices.Contains(errorNames, string(name)) {
			i-- // what follows a text is looked at like any byte
			continue
		}
		at := skip(b, i+1)
		i = at - 1
		if b[at] != '"' {
			continue
		}
		text := b[at:valueEnd(b, at)]
		i = at + len(text) - 1
		if len(text) <= MaxErrorText {
			continue
		}
		if s, err := unquote(text); err == nil {
			out = AppendString(append(out, b[kept:at]...), abridge(s, MaxErrorText))
			kept = at + len(text)
		}
	}
	if kept == 0 {
		return b
	}
	return append(out, b[kept:]...)
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
