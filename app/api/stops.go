package api

import (
	"cmp"
	"slices"
	"strings"

	"tandem/app/dialect"
	"tandem/engine"
)

// A stopper ends an answer at a stop text. It is looked for in what the answer says
// and not in thoughts, calls and what marks them; each stretch of text between those
// is a text of its own. A stop text with such a mark in it, </think> say, could not be
// found there: it is looked for in all that the model writes.
type stopper struct {
	engine.Stops // in what the answer says

	marks engine.Stops // in all of it
}

// newStopper returns one for an answer in a dialect.
func newStopper(texts []string, d *dialect.Dialect) (s stopper) {
	marks := d.Marks()
	for _, text := range texts {
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) }) {
			s.marks.Texts = append(s.marks.Texts, text)
		} else {
			s.Texts = append(s.Texts, text)
		}
	}
	return s
}

// found returns the stop text that ends the answer, empty if none does yet.
func (s *stopper) found() string { return cmp.Or(s.Found, s.marks.Found) }

// push has p read the next piece of the answer, and returns what it says up to a stop text.
// What may become one is held back.
func (s *stopper) push(p *dialect.Parser, text string) []dialect.Part {
	text, _ = s.marks.Push(text)
	return s.cut(p.Push(text))
}

// End has p read the end of the answer, by one of its methods, and returns what was held back.
func (s *stopper) End(p *dialect.Parser, end func() []dialect.Part) []dialect.Part {
	parts := s.cut(append(p.Push(s.marks.Flush()), end()...))
	if s.Found == "" {
		parts = s.Release(parts)
	}
	return parts
}

// cut returns the next parts of an answer without a stop text and what follows it.
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
			out = s.Release(out)
		}
		out = append(out, p)
	}
	return out
}

// Release appends to dst what was held back.
func (s *stopper) Release(dst []dialect.Part) []dialect.Part {
	if text := s.Flush(); text != "" {
		dst = append(dst, dialect.Part{Kind: dialect.Text, Text: text})
	}
	return dst
}

// stopper returns what tells the engine where stop texts end an answer that is read as
// o says: it reads it too, as the tokens are taken, of which the server hears later.
func (p *Params) stopper(d *dialect.Dialect, o dialect.Options) func() func(string) string {
	if len(p.Stop) == 0 {
		return nil // and the engine need not be slower
	}
	return func() func(string) string {
		parser, stops := d.Parser(o), newStopper(p.Stop, d)
		return func(text string) string {
			stops.push(parser, text)
			return stops.found()
		}
	}
}
