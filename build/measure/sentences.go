package measure

import (
	"path"
	"regexp"
	"strings"
	"unicode"
)

// Sentences counts the words of each sentence in a doc.go or README.md, longest first.
//
// How a text is cut:
//   - Code blocks, headings and the lines that separate a table's head are left out.
//   - A paragraph ends at an empty line. A list item and a cell of a table are paragraphs of their
//     own.
//   - A sentence ends at a full stop, question mark or exclamation mark before a space or the end.
//     A colon or semicolon does not end one. Neither do "e.g.", "i.e.", "vs." and initials.
//   - A word stands between spaces and has a letter or digit. Code between back quotes is one word.
//     A link counts as its text.
func (t *Tree) Sentences() []Count {
	var counts []Count
	add := func(name string, paragraphs []string) {
		for _, p := range paragraphs {
			for _, s := range cutSentences(p) {
				counts = append(counts, Count{countWords(s), name + ": " + beginning(s)})
			}
		}
	}
	for _, f := range t.files {
		if path.Base(f.name) == "README.md" {
			add(f.name, paragraphs(f.text))
		}
	}
	for _, p := range t.packages {
		for _, f := range p.Files {
			if path.Base(f.Name) == "doc.go" && f.Syntax.Doc != nil {
				add(f.Name, paragraphs(f.Syntax.Doc.Text()))
			}
		}
	}
	return largestFirst(counts)
}

var (
	listItem    = regexp.MustCompile(`^([-*+]|\d+[.)]) `)
	codeSpan    = regexp.MustCompile("`[^`]*`")
	link        = regexp.MustCompile(`!?\[([^\]]*)\](\([^)]*\))?`)
	htmlTag     = regexp.MustCompile(`</?[a-z][^>]*>`)
	sentenceEnd = regexp.MustCompile(`[.!?]["')\]*_”’]*(\s|$)`)
	abbreviated = regexp.MustCompile(`(^|[\s(])(e\.g|i\.e|vs|cf|[A-Z])\.$`)
)

// paragraphs cuts a document or a Go doc comment.
func paragraphs(text string) []string {
	c := &cutter{}
	for raw := range strings.SplitSeq(text, "\n") {
		c.line(raw)
	}
	c.flush()
	return c.paragraphs
}

// A cutter gathers the lines of a paragraph.
type cutter struct {
	paragraphs []string
	current    []string
	fenced     bool // between two lines of ```
	list       bool // the current paragraph, or the one before it, is a list item
}

// line takes the next line.
func (c *cutter) line(raw string) {
	line := strings.TrimSpace(raw)
	indented := strings.HasPrefix(raw, "\t") || strings.HasPrefix(raw, "    ")
	switch {
	case strings.HasPrefix(line, "```"):
		c.fenced = !c.fenced
		c.flush()
	case c.fenced:
	case line == "":
		c.flush()
	case strings.HasPrefix(line, "#"):
		c.flush()
		c.list = false
	case listItem.MatchString(line):
		c.flush()
		c.list = true
		c.current = append(c.current, listItem.ReplaceAllString(line, ""))
	case indented && !c.list && len(c.current) == 0: // code
	case strings.HasPrefix(line, "|"):
		c.flush()
		if strings.Trim(line, "|-: ") != "" {
			c.paragraphs = append(c.paragraphs,
				strings.Split(codeSpan.ReplaceAllString(line, "code"), "|")...)
		}
	default:
		c.list = c.list && (indented || len(c.current) > 0)
		c.current = append(c.current, line)
	}
}

// flush ends the current paragraph.
func (c *cutter) flush() {
	if len(c.current) > 0 {
		c.paragraphs = append(c.paragraphs, strings.Join(c.current, " "))
	}
	c.current = nil
}

// cutSentences cuts one paragraph.
func cutSentences(paragraph string) []string {
	text := codeSpan.ReplaceAllString(paragraph, "code")
	text = htmlTag.ReplaceAllString(link.ReplaceAllString(text, "$1"), "")
	var sentences []string
	start := 0
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		if abbreviated.MatchString(text[start : end[0]+1]) {
			continue
		}
		sentences = append(sentences, strings.TrimSpace(text[start:end[1]]))
		start = end[1]
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		sentences = append(sentences, rest)
	}
	return sentences
}

// countWords counts the words of a sentence. A word stands between spaces and has a letter or
// digit.
func countWords(sentence string) int {
	n := 0
	for word := range strings.FieldsSeq(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool {
			return unicode.IsLetter(r) ||
				unicode.IsDigit(r)
		}) {
			n++
		}
	}
	return n
}

// beginning returns the first words of a sentence, by which a reader finds it.
func beginning(sentence string) string {
	words := strings.Fields(sentence)
	return strings.Join(words[:min(8, len(words))], " ")
}
