package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

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

// A Column of a table. Its cells are strings, or:
//   - an [ID];
//   - a [Figure], an int or an int64, which is on the right of a terminal's column and never cut;
//   - a [time.Time], which is relative on a terminal and never cut;
//   - a [Marked] one of these.
type Column struct {
	Name  string
	Spare bool // left out on a terminal that is too narrow for the table
	Whole bool // never cut
	Wraps bool // text that is too wide for a terminal goes on below; else its end is cut
}

// An ID is a name or a path. Where it is too wide, its beginning is cut: the end tells it from others.
type ID string

// A Figure is a number with its unit.
type Figure string

// A Marked cell has a style on a terminal.
type Marked struct {
	Cell any
	As   Mark
}

// A Mark is a style of SGR.
type Mark string

// What a person chose, what is well and what is wrong.
const (
	Chosen Mark = bold
	Good   Mark = "32" // green
	Wrong  Mark = "31" // red
)

// Table prints rows on standard output. On a terminal it fits the width, in columns of text and of figures
// to the right; elsewhere all of it is plain text. Every cell is [Printable]. Without names there is no
// header.
func (p *Program) Table(columns []Column, rows [][]any) error {
	var t table
	head := false
	for i, c := range columns {
		var cells []cell
		for _, row := range rows {
			cells = append(cells, p.cell(row[i]))
		}
		t = append(t, newColumn(c, cells))
		head = head || c.Name != ""
	}
	if p.Shown {
		t = t.fit(width(p.Stdout))
	}
	out := bufio.NewWriter(p.Stdout)
	for n := range len(rows) + 1 {
		if n > 0 || head {
			out.WriteString(t.row(n, p.Shown && p.Styles()))
		}
	}
	return out.Flush()
}

// Facts prints names with their values, which go on below where they are too wide for a terminal.
func (p *Program) Facts(rows [][]any) error {
	return p.Table([]Column{{}, {Wraps: true}}, rows)
}

// width returns the columns of the terminal that shows what is written to w, those of help if they are
// not known.
func width(w io.Writer) int {
	if n := knownWidth(w); n > 0 {
		return n
	}
	return columns
}

// knownWidth is width that is 0 if it is not known.
func knownWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, _ := term.GetSize(int(f.Fd())) // 0 with an error
	return n
}

// cell returns what is shown of a value.
func (p *Program) cell(value any) cell {
	switch v := value.(type) {
	case Marked:
		c := p.cell(v.Cell)
		c.style = string(v.As)
		return c
	case ID:
		return cell{text: Printable(string(v)), id: true}
	case int, int64, Figure:
		return cell{text: Printable(fmt.Sprint(v)), whole: true, right: p.Shown}
	case time.Time:
		return cell{text: p.Time(v), whole: true}
	}
	return cell{text: Printable(fmt.Sprint(value))}
}

// A cell of a table.
type cell struct {
	text, style string
	id          bool // cut at its beginning
	whole       bool // never cut
	right       bool // of its column
}

// A column of a table, whose first cell is its header.
type column struct {
	Column
	cells []cell
	width int
	whole bool // one of its cells is
}

func newColumn(c Column, cells []cell) column {
	head := cell{text: c.Name, style: dim}
	x := column{Column: c, whole: c.Whole}
	for _, c := range cells {
		x.whole = x.whole || c.whole
		head.right = head.right || c.right
	}
	x.cells = append([]cell{head}, cells...)
	for _, c := range x.cells {
		x.width = max(x.width, uniseg.StringWidth(c.text))
	}
	return x
}

// lines returns the lines of a cell.
func (c column) lines(row int) []string {
	of := c.cells[row]
	switch {
	case c.Wraps:
		return wrap(of.text, c.width)
	case of.id:
		return []string{cutBegin(of.text, c.width)}
	}
	return []string{cutEnd(of.text, c.width)}
}

type table []column

// gap is the space between columns.
const gap = 2

// fit makes a table as narrow as a terminal, as far as it can: it leaves out spare columns, the first one
// first, then the last columns that have no room even where all are narrow, and then narrows the widest.
func (t table) fit(width int) table {
	over := func(wide func(column) int) bool {
		sum := -gap
		for _, c := range t {
			sum += wide(c) + gap
		}
		return sum > width
	}
	whole := func(c column) int { return c.width }
	spare := func(c column) bool { return c.Spare }
	for i := slices.IndexFunc(t, spare); i >= 0 && over(whole); i = slices.IndexFunc(t, spare) {
		t = slices.Delete(t, i, i+1)
	}
	for len(t) > 2 && over(column.least) && !t[len(t)-1].Wraps {
		t = t[:len(t)-1]
	}
	for over(whole) {
		widest := -1
		for i, c := range t {
			if c.width > c.least() && (widest < 0 || c.width > t[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		t[widest].width--
	}
	return t
}

// least returns the width that a column can be narrowed to.
func (c column) least() int {
	const narrowest = 8 // that says something
	if c.whole && !c.Wraps {
		return c.width
	}
	return min(c.width, narrowest)
}

// row returns the lines of a row.
func (t table) row(n int, styles bool) string {
	lines := make([][]string, len(t))
	height := 1
	for i, c := range t {
		lines[i] = c.lines(n)
		height = max(height, len(lines[i]))
	}
	var out strings.Builder
	for line := range height {
		blank := 0 // before the next text
		for i, c := range t {
			text := ""
			if line < len(lines[i]) {
				text = lines[i][line]
			}
			before, after := 0, c.width-uniseg.StringWidth(text)
			if c.cells[n].right {
				before, after = after, 0
			}
			if text != "" {
				out.WriteString(strings.Repeat(" ", blank+before))
				if blank, before = 0, 0; styles && c.cells[n].style != "" {
					text = style(c.cells[n].style, text)
				}
				out.WriteString(text)
			}
			blank += before + after + gap
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// cutEnd returns a text without the end that is too wide.
func cutEnd(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	begin := ""
	for g := uniseg.NewGraphemes(text); g.Next() && uniseg.StringWidth(begin+g.Str()) < width; {
		begin += g.Str()
	}
	return begin + "…"
}

// cutBegin returns a text without the beginning that is too wide.
func cutBegin(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	g := uniseg.NewGraphemes(text)
	for g.Next() && uniseg.StringWidth(text) >= width {
		text = strings.TrimPrefix(text, g.Str())
	}
	return "…" + text
}

// sgr matches a sequence that sets a style.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrap returns a line in lines that are not wider, unless a word is. Styles have no width.
func wrap(text string, width int) []string {
	shown := func(text string) int { return uniseg.StringWidth(sgr.ReplaceAllString(text, "")) }
	if shown(text) <= width {
		return []string{text}
	}
	lines := []string{""}
	for word := range strings.SplitSeq(text, " ") {
		last := &lines[len(lines)-1]
		switch longer := *last + " " + word; {
		case *last == "":
			*last = word
		case shown(longer) <= width:
			*last = longer
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
