package api

import (
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
)

// EncodeChat turns a prompt that was rendered from a field into tokens.
func EncodeChat(m model.Model, param, text string) ([]int32, error) {
	if err := CheckLength(m, param, len(text)); err != nil {
		return nil, err
	}
	return m.Tokenizer().Encode(text, false)
}

// parsing says how the answer to a rendered prompt is read. It returns nil for text alone. It also
// builds the grammar that an answer must follow if it has to be a call.
func (c *Conversation) parsing(m model.Model, text string) (*dialect.Options, error) {
	d, tail := m.Dialect(), PromptEnd(text)
	list, choice := c.Tools.fields()
	if c.Tools.Forced {
		if !d.Tools() {
			return nil, wire.Invalid(choice,
				"The model %s has no form for calls that Tandem knows, so none can be asked of "+
					"it; leave out %s.", control.Word(m.ID()), choice)
		}
		rules, err := d.Grammar(c.Tools.Tools,
			dialect.Choice{Tool: c.Tools.Name, Parallel: !c.Single && c.Tools.Name == "",
				Prompt: tail})
		if err != nil {
			return nil, wire.Invalid(list,
				"The tools cannot be offered so that a call is certain: %v.", err)
		}
		c.Grammar, c.GrammarParam = &model.Grammar{Lark: rules.Lark, Tools: rules.Tools}, list
	}
	calls := d.Tools() && len(c.Tools.Tools) > 0
	if !calls && !d.Reasons() {
		return nil, nil
	}
	if c.Grammar != nil && !c.Tools.Forced { // the format binds neither thoughts nor calls
		around, err := d.Grammar(c.Tools.Tools,
			dialect.Choice{Parallel: !c.Single, Prompt: tail, Answer: "@answer"})
		if err != nil {
			return nil, wire.Invalid(list,
				"The tools cannot be offered beside %s: %v.", control.Word(c.GrammarParam), err)
		}
		g := *c.Grammar
		g.Around, g.Tools, c.Grammar = around.Lark, around.Tools, &g
	}
	return &dialect.Options{Tools: c.Tools.Tools, Calls: calls, Forced: c.Tools.Forced,
		WholeCalls: c.WholeCalls, Prompt: tail}, nil
}

// maxPromptEnd limits how much of the prompt's end a parser is given.
const maxPromptEnd = 1 << 10 // bytes

func PromptEnd(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxPromptEnd):], "")
}
