package terminal

import (
	"cmp"
	"io"
	"strings"
)

// A Part is a part of an answer, as it arrives.
type Part struct {
	Text, Thought string
	TokenIDs      []int32
}

// An AnswerForm is how an answer is printed: as its text, unless one of these says something else.
type AnswerForm struct {
	JSON     bool // an object for each part, and one at the end
	Markdown bool // the answer may be Markdown, and is shown as it where a terminal shows it
}

// An AnswerPrinter prints an answer on standard output, while it is written.
type AnswerPrinter interface {
	Add(Part) error

	// End prints what follows the parts. In JSON it is the summary, unless the answer was cut: its
	// error follows on standard error.
	End(summary any, cut bool) error
}

// NewAnswerPrinter returns one that has printed nothing.
func (p *Program) NewAnswerPrinter(form AnswerForm) AnswerPrinter {
	switch {
	case form.JSON:
		return jsonAnswer{p}
	case form.Markdown && p.Shown && p.Styles():
		last := p.NewBar()
		last.Faint = true
		return &markdownAnswer{out: p.Stdout, doc: p.NewMarkdown(), last: last}
	}
	return &plainAnswer{out: p.Output()}
}

// A plainAnswer is the text as it is.
type plainAnswer struct {
	out  io.Writer
	open bool // the last line of text has no newline yet
}

func (a *plainAnswer) Add(x Part) error {
	if x.Text == "" {
		return nil
	}
	a.open = !strings.HasSuffix(x.Text, "\n")
	_, err := io.WriteString(a.out, x.Text)
	return err
}

func (a *plainAnswer) End(_ any, cut bool) error {
	if cut && !a.open { // a message follows on the terminal
		return nil
	}
	_, err := io.WriteString(a.out, "\n")
	return err
}

// A jsonAnswer is a line of JSON for each part that has text or tokens, and the summary.
type jsonAnswer struct{ *Program }

func (a jsonAnswer) Add(x Part) error {
	if x.Text == "" && len(x.TokenIDs) == 0 {
		return nil
	}
	return a.PrintJSON(struct {
		Text     string  `json:"text"`
		TokenIDs []int32 `json:"token_ids"`
	}{x.Text, x.TokenIDs})
}

func (a jsonAnswer) End(summary any, cut bool) error {
	if cut {
		return nil
	}
	return a.PrintJSON(summary)
}

// A markdownAnswer is shown by whole blocks. The end of what is being written or thought is one line
// below them.
type markdownAnswer struct {
	out     io.Writer
	doc     *Markdown
	last    *Bar
	thought string // since the last text
}

func (a *markdownAnswer) Add(x Part) error {
	if a.thought += x.Thought; x.Text != "" {
		a.thought = ""
	}
	err := a.show(a.doc.Add(x.Text))
	if words := lastWords(cmp.Or(a.doc.Pending(), a.thought)); words != "" {
		a.last.Draw(words, "")
	}
	return err
}

func (a *markdownAnswer) End(any, bool) error {
	a.last.Erase()
	return a.show(a.doc.End())
}

func (a *markdownAnswer) show(blocks string) error {
	if blocks == "" {
		return nil
	}
	a.last.Erase()
	_, err := io.WriteString(a.out, blocks)
	return err
}

// lastWords returns the last 1,000 bytes of a text as one line. The bar cuts it to the terminal's width.
func lastWords(text string) string {
	const most = 1000 // bytes
	end := strings.ToValidUTF8(text[max(0, len(text)-most):], "")
	return strings.Join(strings.Fields(end), " ")
}
