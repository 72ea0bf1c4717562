package api

import (
	"encoding/json"
	"errors"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
)

// A Chat is a request whose prompt the model's chat template writes. It is read once from a
// vendor's body, and written once into the template's variables each time a template runs.
type Chat struct {
	Params

	Messages []Message
	Tools    Toolbox
	Kwargs   json.RawMessage // with the settings of thinking; nil for none

	more     []member // of Kwargs
	prompted bool     // Kwargs say whether the template begins the answer
}

// A member is a name and its value in a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// Complete checks the chat. It is called after all fields are read.
func (c *Chat) Complete() error {
	const param = "chat_template_kwargs"
	c.Single = c.Tools.Single
	c.more, c.prompted = nil, false
	if c.Kwargs == nil {
		return nil
	}
	err := wire.EachMember(c.Kwargs, func(key string, value json.RawMessage) error {
		switch key {
		case "messages", "tools":
			return wire.Invalid(param, "%s must not set %s; it is a field of the request.", param, key)
		case "add_generation_prompt":
			c.prompted = true
		}
		c.more = append(c.more, member{key, value})
		return nil
	})
	if _, ok := errors.AsType[*control.Error](err); ok {
		return err
	}
	if err != nil {
		return wire.Invalid(param, "%s must be a JSON object.", param)
	}
	return nil
}

// Vars returns the template's variables for some messages of the chat, as a JSON object. Everything
// is in the order that the client gave, because a template prints tools as they come. generate
// makes the template begin the answer, unless Kwargs decide that. thought is the template's name
// for the thought of an earlier answer.
func (c *Chat) Vars(messages []Message, generate bool, thought string) []byte {
	vars := []byte(`{"messages":[`)
	for i, m := range messages {
		if i > 0 {
			vars = append(vars, ',')
		}
		vars = m.appendTo(vars, thought)
	}
	vars = append(vars, ']')
	if c.Tools.List != nil {
		vars = append(append(vars, `,"tools":`...), c.Tools.List...)
	}
	for _, kwarg := range c.more {
		vars = wire.AppendString(append(vars, ','), kwarg.key)
		vars = append(append(vars, ':'), kwarg.value...)
	}
	if generate && !c.prompted {
		vars = append(vars, `,"add_generation_prompt":true`...)
	}
	return append(vars, '}')
}

// Common implements Question.
func (c *Chat) Common() *Params { return &c.Params }

// Prompts implements Question.
func (c *Chat) Prompts(m model.Model) ([]*Prompt, error) {
	text, err := c.render(m, c.Vars(c.Messages, true, m.Dialect().Remembered()))
	if err != nil {
		return nil, err
	}
	return c.promptOf(m, text)
}

// render has the model's template write the prompt.
func (c *Chat) render(m model.Model, vars []byte) (string, error) {
	text, err := m.RenderChat(vars)
	if errors.Is(err, model.ErrNoTemplate) {
		e := control.Errorf(control.CodeNoTemplate, "The model %s has no chat template; use /v1/completions with a prompt instead.", control.Word(m.ID()))
		e.Param = c.PromptParam
		return "", e
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = c.PromptParam
		return "", &named
	}
	return text, err
}

// EncodeChat turns a prompt that was rendered from a field into tokens.
func EncodeChat(m model.Model, param, text string) ([]int32, error) {
	if err := CheckLength(m, param, len(text)); err != nil {
		return nil, err
	}
	return m.Tokenizer().Encode(text, false)
}

// promptOf returns the prompt of a rendered text, which the choices continue.
func (c *Chat) promptOf(m model.Model, text string) ([]*Prompt, error) {
	ids, err := EncodeChat(m, c.PromptParam, text)
	if err != nil {
		return nil, err
	}
	p := &Prompt{IDs: ids, boundaries: c.boundaries(m, ids)}
	if p.Parsing, err = c.parsing(m, text); err != nil {
		return nil, err
	}
	return []*Prompt{p}, nil
}

// parsing says how the answer to a rendered prompt is read. It returns nil for text alone. It also
// builds the grammar that an answer must follow if it has to be a call.
func (c *Chat) parsing(m model.Model, text string) (*dialect.Options, error) {
	d, tail := m.Dialect(), PromptEnd(text)
	if c.Tools.Forced {
		if !d.Tools() {
			return nil, wire.Invalid("tool_choice", "The model %s has no form for calls that Tandem knows, so none can be asked of it; leave out tool_choice.", m.ID())
		}
		lark, err := d.Grammar(c.Tools.Tools, dialect.Choice{Tool: c.Tools.Name, Parallel: !c.Single && c.Tools.Name == "", Prompt: tail})
		if err != nil {
			return nil, wire.Invalid("tools", "The tools cannot be offered so that a call is certain: %v.", err)
		}
		c.Grammar, c.GrammarParam = &model.Grammar{Lark: lark}, "tools"
	}
	calls := d.Tools() && len(c.Tools.Tools) > 0
	if !calls && !d.Reasons() {
		return nil, nil
	}
	if c.Grammar != nil && !c.Tools.Forced { // the format binds neither thoughts nor calls
		around, err := d.Grammar(c.Tools.Tools, dialect.Choice{Parallel: !c.Single, Prompt: tail, Answer: "@answer"})
		if err != nil {
			return nil, wire.Invalid("tools", "The tools cannot be offered beside response_format: %v.", err)
		}
		g := *c.Grammar
		g.Around, c.Grammar = around, &g
	}
	return &dialect.Options{Tools: c.Tools.Tools, Calls: calls, Prompt: tail}, nil
}

// maxPromptEnd limits how much of the prompt's end a parser is given.
const maxPromptEnd = 1 << 10 // bytes

func PromptEnd(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxPromptEnd):], "")
}
