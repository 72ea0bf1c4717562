package openai

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// completionMembers are the members of the older completions, which are text alone.
type completionMembers struct{}

func (completionMembers) IDPrefix() string { return "cmpl-" }

func (completionMembers) Object(bool) string { return "text_completion" }

func (completionMembers) appendWhole(dst []byte, c *api.Choice) []byte {
	return wire.AppendString(append(dst, `"text":`...), c.Text())
}

func (completionMembers) appendPart(dst []byte, _ *api.Choice, p dialect.Part) []byte {
	return wire.AppendString(append(dst, `"text":`...), p.Text)
}

func (completionMembers) appendBegin(dst []byte, c *api.Choice) []byte {
	if !c.Echo {
		return dst
	}
	return wire.AppendString(append(dst, `"text":`...), c.Prompt.Text)
}

func (completionMembers) appendEnd(dst []byte) []byte { return append(dst, `"text":""`...) }

func (completionMembers) scored(_ *api.Choice, toks []engine.Token) []engine.Token { return toks }

func (completionMembers) appendLogprobs(dst []byte, tk model.Tokenizer, c *api.Choice,
	toks []engine.Token) []byte {
	dst, c.Runes = appendLegacyLogprobs(dst, tk, toks, c.Runes)
	return dst
}

func (completionMembers) reason(c *api.Choice) string { return string(c.Finish) }
