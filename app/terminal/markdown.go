package terminal

import (
	"fmt"
	"html"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Markdown makes styled text of an answer that is being written, a block at a time. Text that it
// returns is [Text] but for the styles.
//
// goldmark reads the text. It and golang.org/x/term add 0.8 MB to the program; glamour, which shows
// Markdown too, adds 10.9 MB to an empty one.
type Markdown struct {
	width   int // of lines that are broken between words; 0 = any
	parser  parser.Parser
	pending string // no whole block yet
	scanned int    // bytes of pending whose lines were seen
	fence   string // that closes the code that is open; empty for none
	blank   bool   // a block may end where the next line begins
	begun   bool   // a block was returned
}

// NewMarkdown returns one for an answer on standard output.
func (p *Program) NewMarkdown() *Markdown { return newMarkdown(width(p.Stdout)) }

func newMarkdown(width int) *Markdown {
	return &Markdown{width: width, parser: parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))}
}

// Add adds more of the answer, and returns the blocks that are whole now.
func (m *Markdown) Add(more string) string {
	m.pending += more
	var blocks strings.Builder
	for {
		line, _, ok := strings.Cut(m.pending[m.scanned:], "\n")
		if !ok {
			return blocks.String()
		}
		if m.startsBlock(line) {
			blocks.WriteString(m.render(m.pending[:m.scanned]))
			m.pending, m.scanned = m.pending[m.scanned:], 0
		}
		m.scanned += len(line) + 1
	}
}

// startsBlock reports whether a whole line, the next one, starts a block of the document.
func (m *Markdown) startsBlock(line string) bool {
	code := strings.TrimLeft(line, " ")
	if m.fence != "" {
		if strings.HasPrefix(code, m.fence) && strings.Trim(code, m.fence[:1]+" \r") == "" {
			m.fence, m.blank = "", line[0] != ' '
		}
		return false
	}
	if strings.TrimSpace(line) == "" {
		m.blank = true
		return false
	}
	// What is indented belongs to the item of a list before it.
	starts := m.blank && line[0] != ' ' && line[0] != '\t'
	m.blank = false
	for _, sign := range []string{"`", "~"} {
		if n := len(code) - len(strings.TrimLeft(code, sign)); n >= 3 && !strings.Contains(code[n:], "`") {
			m.fence = code[:n]
		}
	}
	return starts
}

// Pending returns the text of the block that is not whole yet.
func (m *Markdown) Pending() string { return m.pending }

// End returns the last blocks.
func (m *Markdown) End() string {
	blocks := m.Add("\n") // the last line is whole
	last := m.pending
	m.pending, m.scanned = "", 0
	return blocks + m.render(last)
}

// A block of Markdown that is longer, or nests deeper, is shown as it is: to read it could take minutes.
const (
	longest = 30_000 // bytes
	deepest = 100
)

// render returns a block with the empty line between it and what came before.
func (m *Markdown) render(source string) string {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	shown := Text(strings.Trim(strings.ReplaceAll(source, "\r\n", "\n"), "\n")) + "\n"
	if len(source) <= longest {
		document := m.parser.Parse(text.NewReader([]byte(source)))
		if !nestsTooDeeply(document) {
			r := renderer{[]byte(source), m.width}
			shown = r.blocks(document, "\n\n") + "\n"
		}
	}
	if m.begun {
		shown = "\n" + shown
	}
	m.begun = true
	return shown
}

// nestsTooDeeply reports whether more than [deepest] nodes below the root are one within another.
func nestsTooDeeply(root ast.Node) bool {
	depth := 0
	for n := root; ; n = n.NextSibling() {
		for n.FirstChild() != nil {
			n = n.FirstChild()
			if depth++; depth > deepest {
				return true
			}
		}
		for n != root && n.NextSibling() == nil {
			n = n.Parent()
			depth--
		}
		if n == root {
			return false
		}
	}
}

// Styles of SGR.
const (
	bold, italic, underlined, cyan = "1", "3", "4", "36"
)

// A renderer renders nodes of its own Markdown.
type renderer struct {
	source []byte
	width  int // of text; 0 = any
}

// within returns a renderer of what is behind a mark.
func (r renderer) within(mark string) renderer {
	if r.width > 0 {
		r.width = max(1, r.width-uniseg.StringWidth(mark))
	}
	return r
}

// fold breaks text between words. Code stays as it is.
func (r renderer) fold(text string) string {
	if r.width == 0 {
		return text
	}
	return fold(text, r.width)
}

// blocks renders the children of a node.
func (r renderer) blocks(parent ast.Node, between string) string {
	var all []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		all = append(all, r.block(n))
	}
	return strings.Join(all, between)
}

// block returns the lines of a block, without the last newline.
func (r renderer) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Heading:
		return style(bold, r.fold(r.inlines(n, bold)))
	case *ast.List:
		return r.list(n)
	case *ast.Blockquote:
		mark := style(dim, "│ ")
		return mark + indent(r.within("│ ").blocks(n, "\n\n"), mark)
	case *ast.ThematicBreak:
		return style(dim, strings.Repeat("─", 20))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return style(cyan, r.lines(n))
	case *ast.HTMLBlock:
		text := r.lines(n)
		if n.HasClosure() {
			text += "\n" + Text(strings.TrimRight(string(n.ClosureLine.Value(r.source)), "\r\n"))
		}
		return text
	case *ast.Paragraph, *ast.TextBlock:
		return r.fold(r.inlines(n, ""))
	}
	return ""
}

// lines returns the text of a block as it is.
func (r renderer) lines(n ast.Node) string {
	return Text(strings.TrimRight(strings.ReplaceAll(string(n.Lines().Value(r.source)), "\r\n", "\n"), "\n"))
}

// list returns the items of a list, each after its mark.
func (r renderer) list(n *ast.List) string {
	var items []string
	between := "\n"
	if !n.IsTight {
		between = "\n\n"
	}
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		room := strings.Repeat(" ", uniseg.StringWidth(mark))
		items = append(items, mark+indent(r.within(mark).blocks(item, between), room))
	}
	return strings.Join(items, between)
}

// indent puts a mark before all lines of a text but the first. A style ends before a mark and goes on
// behind it.
func indent(text, mark string) string {
	var s strings.Builder
	open := "" // styles since the last reset
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			s.WriteString("\n" + mark + open)
		}
		for _, code := range sgr.FindAllString(line, -1) {
			if open += code; code == reset {
				open = ""
			}
		}
		s.WriteString(line)
		if open != "" {
			s.WriteString(reset)
		}
	}
	return s.String()
}

// inlines returns the text in a node. outer is the style around it.
func (r renderer) inlines(parent ast.Node, outer string) string {
	var s strings.Builder
	back := "" // to the style around it
	if outer != "" {
		back = "\x1b[" + outer + "m"
	}
	styled := func(code string, n ast.Node) { s.WriteString(style(code, r.inlines(n, code)) + back) }
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			// A character reference can stand for a control character.
			value := n.Segment.Value(r.source)
			if !n.IsRaw() {
				value = []byte(html.UnescapeString(string(util.UnescapePunctuations(value))))
			}
			s.WriteString(Text(string(value)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				s.WriteByte('\n')
			}
		case *ast.CodeSpan:
			s.WriteString(style(cyan, r.code(n)) + back)
		case *ast.Emphasis:
			code := italic
			if n.Level > 1 {
				code = bold
			}
			styled(code, n)
		case *ast.Link:
			styled(underlined, n)
			s.WriteString(Text(" (" + string(n.Destination) + ")"))
		case *ast.Image:
			styled(underlined, n)
			s.WriteString(Text(" (" + string(n.Destination) + ")"))
		case *ast.AutoLink:
			s.WriteString(style(underlined, Text(string(n.Label(r.source)))) + back)
		case *ast.RawHTML:
			s.WriteString(Text(string(n.Segments.Value(r.source))))
		}
	}
	return s.String()
}

// code returns the text of a code span, as it is but for newlines.
func (r renderer) code(n *ast.CodeSpan) string {
	var s strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			s.Write(t.Segment.Value(r.source))
		}
	}
	return Text(strings.ReplaceAll(s.String(), "\n", " "))
}
