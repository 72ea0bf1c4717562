package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"tandem/app/terminal"
)

// A printer writes an answer in one manner.
type printer interface {
	add(part) error
	end(a *answer, cut bool) error // cut: the stream broke off
}

// A plainPrinter writes the text as it is.
type plainPrinter struct {
	out  *bufio.Writer
	open bool // the last line of text has no newline yet
}

func (p *plainPrinter) add(x part) error {
	p.open = p.open && x.text == "" || x.text != "" && !strings.HasSuffix(x.text, "\n")
	_, err := p.out.WriteString(x.text)
	return err
}

func (p *plainPrinter) end(_ *answer, cut bool) error {
	if cut && !p.open { // a message follows on the terminal
		return nil
	}
	return p.out.WriteByte('\n')
}

// A jsonPrinter writes a line of JSON for each part, and one at the end.
type jsonPrinter struct{ out io.Writer }

func (p jsonPrinter) add(x part) error {
	if x.text == "" && len(x.ids) == 0 {
		return nil
	}
	return terminal.WriteJSON(p.out, struct {
		Text     string  `json:"text"`
		TokenIDs []int32 `json:"token_ids"`
	}{x.text, x.ids})
}

func (p jsonPrinter) end(a *answer, cut bool) error {
	if cut {
		return nil
	}
	return terminal.WriteJSON(p.out, struct {
		FinishReason string          `json:"finish_reason"`
		Usage        json.RawMessage `json:"usage"`
		Timings      json.RawMessage `json:"timings"`
	}{a.finish, a.usage, a.timings})
}

// A markdownPrinter shows Markdown on a terminal by whole blocks. The end of what is being written or
// thought is one line below them.
type markdownPrinter struct {
	show    func(blocks string) error
	doc     *terminal.Markdown
	last    *terminal.Bar
	thought string // since the last text
}

func (p *markdownPrinter) add(x part) error {
	if p.thought += x.thought; x.text != "" {
		p.thought = ""
	}
	err := p.write(p.doc.Add(x.text))
	if words := lastWords(cmp.Or(p.doc.Pending(), p.thought)); words != "" {
		p.last.Draw(words, "")
	}
	return err
}

func (p *markdownPrinter) end(*answer, bool) error {
	p.last.Erase()
	return p.write(p.doc.End())
}

func (p *markdownPrinter) write(blocks string) error {
	if blocks == "" {
		return nil
	}
	p.last.Erase()
	return p.show(blocks)
}

// lastWords returns the last 1,000 bytes of a text as one line. The bar cuts it to the terminal's width.
func lastWords(text string) string {
	const most = 1000 // bytes
	end := strings.ToValidUTF8(text[max(0, len(text)-most):], "")
	return strings.Join(strings.Fields(end), " ")
}
