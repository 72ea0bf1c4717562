package api

import (
	"cmp"
	"slices"
	"strings"

	"tandem/app/dialect"
	"tandem/engine"
)

// A stopper ends an answer at a stop text. It searches the text of the answer, and not thoughts,
// calls or the marks around them. Each stretch of text between marks is searched by itself. A stop
// text that contains a mark, such as </think>, cannot occur there. The stopper searches everything
// that the model writes for it.
type stopper struct {
	engine.Stops // searched for in the answer's text

	marks engine.Stops // searched for in everything
}

// newStopper returns a stopper for an answer in a dialect.
func newStopper(texts []string, d *dialect.Dialect) (s stopper) {
	marks := d.Marks()
	for _, text := range texts {
		if slices.ContainsFunc(marks,
			func(mark string) bool { return strings.Contains(text, mark) }) {
			s.marks.Texts = append(s.marks.Texts, text)
		} else {
			s.Texts = append(s.Texts, text)
		}
	}
	return s
}

// found returns the stop text that ended the answer, or an empty text.
func (s *stopper) found() string { return cmp.Or(s.Found, s.marks.Found) }

// push gives p the next piece of the answer, and returns its parts up to a stop text. It holds back
// the beginning of a possible stop text.
func (s *stopper) push(p *dialect.Parser, text string) []dialect.Part {
	text, _ = s.marks.Push(text)
	return s.cut(p.Push(text))
}

// end ends the answer with last, a method of p, and returns the parts that were held back.
func (s *stopper) end(p *dialect.Parser, last func() []dialect.Part) []dialect.Part {
	parts := s.cut(append(p.Push(s.marks.Flush()), last()...))
	if s.Found == "" {
		parts = s.release(parts)
	}
	return parts
}

// cut returns parts up to a stop text.
func (s *stopper) cut(parts []dialect.Part) (out []dialect.Part) {
	if len(s.Texts) == 0 {
		return parts
	}
	for _, p := range parts {
		switch {
		case s.Found != "":
			return out
		case p.Kind == dialect.Text:
			p.Text, _ = s.Push(p.Text)
			if p.Text == "" {
				continue
			}
		default:
			out = s.release(out)
		}
		out = append(out, p)
	}
	return out
}

// release appends the text that was held back to dst.
func (s *stopper) release(dst []dialect.Part) []dialect.Part {
	if text := s.Flush(); text != "" {
		dst = append(dst, dialect.Part{Kind: dialect.Text, Text: text})
	}
	return dst
}

// stopper returns a function that tells the engine where stop texts end an answer. o says how that
// answer is read. The engine calls it with each token, before the server gets the token.
func (p *Params) stopper(d *dialect.Dialect, o dialect.Options) func() func(string) string {
	if len(p.Stop) == 0 {
		return nil // so the engine is not slowed down
	}
	return func() func(string) string {
		parser, stops := d.Parser(o), newStopper(p.Stop, d)
		return func(text string) string {
			stops.push(parser, text)
			return stops.found()
		}
	}
}
