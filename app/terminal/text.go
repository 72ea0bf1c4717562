package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// Text is [Printable] for a text of several lines: newlines, tabs, the spaces of every script, and the
// joiners that emoji and Persian need stay.
func Text(text string) string { return strings.Map(visible, text) }

func visible(c rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if c == '\n' || c == '\t' || c == nonJoiner || c == joiner || unicode.IsPrint(c) || unicode.Is(unicode.Zs, c) {
		return c
	}
	return unicode.ReplacementChar
}

// TextWriter returns a writer of [Text]. A character may be cut between two writes.
func TextWriter(w io.Writer) io.Writer { return transform.NewWriter(w, runes.Map(visible)) }

// dim is the style of remarks, for [style].
const dim = "2"

// reset is the sequence of SGR that ends all styles.
const reset = "\x1b[0m"

// style returns text in a style of SGR, the sequences that set colours.
func style(code, text string) string { return "\x1b[" + code + "m" + text + reset }

// styled returns a text for standard error, in a style on a terminal.
func (p *Program) styled(code, text string) string {
	if !p.Terminal || !p.Styles() {
		return text
	}
	return style(code, text)
}

// Styles reports whether a terminal of this program may show styles: see no-color.org.
func (p *Program) Styles() bool { return p.Getenv("NO_COLOR") == "" && !p.dumb() }

// dumb reports whether the terminal knows no escape sequences.
func (p *Program) dumb() bool { return p.Getenv("TERM") == "dumb" }

// fold breaks the lines of a text between words where they are too wide.
func fold(text string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, wrap(line, width)...)
	}
	return strings.Join(lines, "\n")
}

// fit returns a text for standard error, whose lines fit the terminal.
func (p *Program) fit(text string) string {
	if n := knownWidth(p.Stderr); n > 0 {
		return fold(text, n)
	}
	return text
}

// tell prints lines on standard error.
func (p *Program) tell(text string) { fmt.Fprintln(p.Stderr, p.fit(text)) }
