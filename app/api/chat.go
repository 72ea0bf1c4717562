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

// A Chat is a request whose prompt the model's chat template writes.
type Chat struct {
	Params

	// What the template gets. messages are as templates expect them.
	Messages []json.RawMessage
	Tools    Toolbox
	Kwargs   json.RawMessage // with what is said of thinking; nil for none
	vars     []byte          // of all of these, a JSON object
}

// Complete makes of what was read what the model needs.
func (c *Chat) Complete() (err error) {
	c.Single = c.Tools.Single
	c.vars, err = TemplateVars(c.Messages, c.Tools.List, c.Kwargs, true)
	return err
}

// TemplateVars writes the object of the template's variables, everything in
// the order the client gave: a template prints tools as they come. generate adds
// what begins the answer, unless kwargs decides that.
func TemplateVars(messages []json.RawMessage, tools, kwargs json.RawMessage, generate bool) ([]byte, error) {
	vars := []byte(`{"messages":[`)
	for i, m := range messages {
		if i > 0 {
			vars = append(vars, ',')
		}
		vars = append(vars, m...)
	}
	vars = append(vars, ']')
	if tools != nil {
		vars = append(append(vars, `,"tools":`...), tools...)
	}
	if kwargs != nil {
		const param = "chat_template_kwargs"
		err := wire.EachMember(kwargs, func(key string, value json.RawMessage) error {
			switch key {
			case "messages", "tools":
				return wire.Invalid(param, "%s must not set %s; it is a field of the request.", param, key)
			case "add_generation_prompt":
				generate = false
			}
			vars = wire.AppendString(append(vars, ','), key)
			vars = append(append(vars, ':'), value...)
			return nil
		})
		if _, ok := errors.AsType[*control.Error](err); ok {
			return nil, err
		}
		if err != nil {
			return nil, wire.Invalid(param, "%s must be a JSON object.", param)
		}
	}
	if generate {
		vars = append(vars, `,"add_generation_prompt":true`...)
	}
	return append(vars, '}'), nil
}

// Common implements request.
func (c *Chat) Common() *Params { return &c.Params }

// Prompts implements request.
func (c *Chat) Prompts(m model.Model) ([]*Prompt, error) {
	if err := c.remember(m.Dialect().Remembered()); err != nil {
		return nil, err
	}
	text, err := c.render(m, c.vars)
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

// promptOf makes of a rendered prompt what the choices go on from.
func (c *Chat) promptOf(m model.Model, text string) ([]*Prompt, error) {
	ids, err := EncodeChat(m, c.PromptParam, text)
	if err != nil {
		return nil, err
	}
	p := &Prompt{Ids: ids, boundaries: c.boundaries(m, ids)}
	if p.Parsing, err = c.parsing(m, text); err != nil {
		return nil, err
	}
	return []*Prompt{p}, nil
}

// remember has the thoughts of earlier answers under the name that the template takes
// them by. The one that says thinking takes no text beside a thought where there are
// calls, and text for the thought.
func (c *Chat) remember(name string) error {
	if name == thoughtName {
		return nil
	}
	changed := false
	for i, v := range c.Messages {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v, &m); err != nil {
			return err
		}
		if m[thoughtName] == nil {
			continue
		}
		out := []byte{'{'}
		err := wire.EachMember(v, func(key string, value json.RawMessage) error {
			if key == thoughtName {
				if name == "thinking" && m["tool_calls"] != nil && string(m["content"]) != `""` {
					return nil
				}
				key = name
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(wire.AppendString(out, key), ':'), value...)
			return nil
		})
		if err != nil {
			return err
		}
		c.Messages[i], changed = append(out, '}'), true
	}
	if !changed {
		return nil
	}
	return c.Complete()
}

// parsing says how the answer to a rendered prompt is read, nil for text alone. What
// must be a call is held to it.
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
	if c.Grammar != nil && !c.Tools.Forced { // thoughts and calls have no form to keep to
		around, err := d.Grammar(c.Tools.Tools, dialect.Choice{Parallel: !c.Single, Prompt: tail, Answer: "@answer"})
		if err != nil {
			return nil, wire.Invalid("tools", "The tools cannot be offered beside response_format: %v.", err)
		}
		g := *c.Grammar
		g.Around, c.Grammar = around, &g
	}
	return &dialect.Options{Tools: c.Tools.Tools, Calls: calls, Prompt: tail}, nil
}

// maxPromptEnd bounds what a parser is told of the prompt, which is where it ends.
const maxPromptEnd = 1 << 10 // bytes

func PromptEnd(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxPromptEnd):], "")
}
