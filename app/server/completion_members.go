package server

import (
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// completionMembers are those of the older completions, which are text alone.
type completionMembers struct{}

func (completionMembers) idPrefix() string { return "cmpl-" }

func (completionMembers) object(bool) string { return "text_completion" }

func (completionMembers) appendWhole(dst []byte, c *choice) []byte {
	return appendString(append(dst, `"text":`...), c.text())
}

func (completionMembers) appendPart(dst []byte, _ *choice, p dialect.Part) []byte {
	return appendString(append(dst, `"text":`...), p.Text)
}

func (completionMembers) appendBegin(dst []byte, c *choice) []byte {
	if !c.echo {
		return dst
	}
	return appendString(append(dst, `"text":`...), c.prompt.text)
}

func (completionMembers) appendEnd(dst []byte) []byte { return append(dst, `"text":""`...) }

func (completionMembers) scored(_ *choice, toks []engine.Token) []engine.Token { return toks }

func (completionMembers) appendLogprobs(dst []byte, tk model.Tokenizer, c *choice, toks []engine.Token) []byte {
	dst, c.runes = appendLegacyLogprobs(dst, tk, toks, c.runes)
	return dst
}

func (completionMembers) reason(c *choice) string { return string(c.finish) }
