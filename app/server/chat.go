package server

import (
	"encoding/json"
	"errors"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
)

// A chat is a request whose prompt the model's chat template writes.
type chat struct {
	params

	// What the template gets. messages are as templates expect them.
	messages []json.RawMessage
	tools    toolbox
	kwargs   json.RawMessage // with what is said of thinking; nil for none
	vars     []byte          // of all of these, a JSON object
}

// complete makes of what was read what the model needs.
func (c *chat) complete() (err error) {
	c.single = c.tools.single
	c.vars, err = templateVars(c.messages, c.tools.list, c.kwargs, true)
	return err
}

// templateVars writes the object of the template's variables, everything in
// the order the client gave: a template prints tools as they come. generate adds
// what begins the answer, unless kwargs decides that.
func templateVars(messages []json.RawMessage, tools, kwargs json.RawMessage, generate bool) ([]byte, error) {
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
		err := eachMember(kwargs, func(key string, value json.RawMessage) error {
			switch key {
			case "messages", "tools":
				return invalid(param, "%s must not set %s; it is a field of the request.", param, key)
			case "add_generation_prompt":
				generate = false
			}
			vars = appendString(append(vars, ','), key)
			vars = append(append(vars, ':'), value...)
			return nil
		})
		if _, ok := errors.AsType[*control.Error](err); ok {
			return nil, err
		}
		if err != nil {
			return nil, invalid(param, "%s must be a JSON object.", param)
		}
	}
	if generate {
		vars = append(vars, `,"add_generation_prompt":true`...)
	}
	return append(vars, '}'), nil
}

// common implements request.
func (c *chat) common() *params { return &c.params }

// prompts implements request.
func (c *chat) prompts(m model.Model) ([]*prompt, error) {
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
func (c *chat) render(m model.Model, vars []byte) (string, error) {
	text, err := m.RenderChat(vars)
	if errors.Is(err, model.ErrNoTemplate) {
		e := control.Errorf(control.CodeNoTemplate, "The model %s has no chat template; use /v1/completions with a prompt instead.", control.Word(m.ID()))
		e.Param = c.promptParam
		return "", e
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = c.promptParam
		return "", &named
	}
	return text, err
}

// encodeChat turns a prompt that was rendered from a field into tokens.
func encodeChat(m model.Model, param, text string) ([]int32, error) {
	if err := checkLength(m, param, len(text)); err != nil {
		return nil, err
	}
	return m.Tokenizer().Encode(text, false)
}

// promptOf makes of a rendered prompt what the choices go on from.
func (c *chat) promptOf(m model.Model, text string) ([]*prompt, error) {
	ids, err := encodeChat(m, c.promptParam, text)
	if err != nil {
		return nil, err
	}
	p := &prompt{ids: ids, boundaries: c.boundaries(m, ids)}
	if p.parsing, err = c.parsing(m, text); err != nil {
		return nil, err
	}
	return []*prompt{p}, nil
}

// remember has the thoughts of earlier answers under the name that the template takes
// them by. The one that says thinking takes no text beside a thought where there are
// calls, and text for the thought.
func (c *chat) remember(name string) error {
	if name == thoughtName {
		return nil
	}
	changed := false
	for i, v := range c.messages {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v, &m); err != nil {
			return err
		}
		if m[thoughtName] == nil {
			continue
		}
		out := []byte{'{'}
		err := eachMember(v, func(key string, value json.RawMessage) error {
			if key == thoughtName {
				if name == "thinking" && m["tool_calls"] != nil && string(m["content"]) != `""` {
					return nil
				}
				key = name
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(appendString(out, key), ':'), value...)
			return nil
		})
		if err != nil {
			return err
		}
		c.messages[i], changed = append(out, '}'), true
	}
	if !changed {
		return nil
	}
	return c.complete()
}

// parsing says how the answer to a rendered prompt is read, nil for text alone. What
// must be a call is held to it.
func (c *chat) parsing(m model.Model, text string) (*dialect.Options, error) {
	d, tail := m.Dialect(), promptEnd(text)
	if c.tools.forced {
		if !d.Tools() {
			return nil, invalid("tool_choice", "The model %s has no form for calls that Tandem knows, so none can be asked of it; leave out tool_choice.", m.ID())
		}
		lark, err := d.Grammar(c.tools.tools, dialect.Choice{Tool: c.tools.name, Parallel: !c.single && c.tools.name == "", Prompt: tail})
		if err != nil {
			return nil, invalid("tools", "The tools cannot be offered so that a call is certain: %v.", err)
		}
		c.grammar, c.grammarParam = &model.Grammar{Lark: lark}, "tools"
	}
	calls := d.Tools() && len(c.tools.tools) > 0
	if !calls && !d.Reasons() {
		return nil, nil
	}
	if c.grammar != nil && !c.tools.forced { // thoughts and calls have no form to keep to
		around, err := d.Grammar(c.tools.tools, dialect.Choice{Parallel: !c.single, Prompt: tail, Answer: "@answer"})
		if err != nil {
			return nil, invalid("tools", "The tools cannot be offered beside response_format: %v.", err)
		}
		g := *c.grammar
		g.Around, c.grammar = around, &g
	}
	return &dialect.Options{Tools: c.tools.tools, Calls: calls, Prompt: tail}, nil
}

// maxPromptEnd bounds what a parser is told of the prompt, which is where it ends.
const maxPromptEnd = 1 << 10 // bytes

func promptEnd(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxPromptEnd):], "")
}
