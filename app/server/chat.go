package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// A chatRequest is the body of /v1/chat/completions.
type chatRequest struct {
	params

	// What the template gets. messages are as templates expect them.
	messages []json.RawMessage
	tools    toolbox
	kwargs   json.RawMessage // with what is said of thinking; nil for none
	vars     []byte          // of all of these, a JSON object
}

func readChat(f *fields) (request, error) {
	c := &chatRequest{params: params{promptParam: "messages"}}
	c.read(f)
	c.maxTokens = f.int("max_tokens", 0, math.MaxInt32)
	if n := f.int("max_completion_tokens", 0, math.MaxInt32); n != nil {
		c.maxTokens = n
	}
	c.logprobs = f.bool("logprobs")
	if n := f.int("top_logprobs", 0, engine.MaxTopLogprobs); n != nil {
		if *n > 0 && !c.logprobs {
			f.fail("top_logprobs", "needs logprobs to be true.")
		}
		c.topLogprobs = *n
	}
	c.prediction = readPrediction(f)
	checkOutput(f)

	c.messages = readMessages(f)
	c.tools = readTools(f)
	c.thinking = readThinking(f)
	c.kwargs = c.thinking.into(f.raw("chat_template_kwargs"))
	if c.tools.forced && c.grammar != nil {
		f.fail("tool_choice", "asks for a call, which response_format has no room for; leave out one of both.")
	}
	if f.err != nil {
		return nil, f.err
	}
	return c, c.complete()
}

// complete makes of what was read what the model needs.
func (c *chatRequest) complete() (err error) {
	c.single = c.tools.single
	c.vars, err = templateVars(c.messages, c.tools.list, c.kwargs, true)
	return err
}

// checkOutput refuses what would change the kind of the answer.
func checkOutput(f *fields) {
	for _, key := range []string{"audio", "web_search_options"} {
		if f.raw(key) != nil {
			f.fail(key, "is not supported: the answer is text from the model alone.")
		}
	}
	if f.raw("modalities") == nil {
		return
	}
	for _, m := range f.strings("modalities") {
		if m != "text" {
			f.fail("modalities", "holds %q; only \"text\" is supported.", clip(m))
		}
	}
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

// readMessages returns the messages as templates expect them.
func readMessages(f *fields) []json.RawMessage {
	var list []json.RawMessage
	v := f.raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.fail("messages", "must be a list of at least one message.")
		return nil
	}
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		m, err := parseFields(v, fmt.Sprintf("messages[%d].", i))
		if err == nil {
			out[i], err = appendMessage(nil, v, m)
		}
		if err != nil {
			f.take(&fields{err: err})
			return nil
		}
	}
	return out
}

var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// thoughtName is the member of a message that has the thought of an answer, until the
// template's name for it is known.
const thoughtName = "reasoning_content"

// appendMessage writes one message in its own order of names, except that
// newer and older forms of the protocol become the one templates know:
// developer is system, function is tool, content is text, arguments are objects.
func appendMessage(dst []byte, v json.RawMessage, m *fields) ([]byte, error) {
	role := m.string("role")
	if m.err == nil && !slices.Contains(roles, role) {
		m.fail("role", "is one of %s, not %q.", control.Word(strings.Join(roles, ", ")), clip(role))
	}
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	content := readContent(m)
	calls := readToolCalls(m)
	if m.err != nil {
		return nil, m.err
	}

	dst = appendString(append(dst, `{"role":`...), role)
	dst = appendString(append(dst, `,"content":`...), content)
	if calls != nil {
		dst = append(append(dst, `,"tool_calls":`...), calls...)
	}
	err := eachMember(v, func(key string, value json.RawMessage) error {
		switch key {
		case "role", "content", "tool_calls", "function_call":
			return nil
		case "reasoning", "thinking": // other servers' names for reasoning_content
			if m.raw(thoughtName) != nil || key == "thinking" && m.raw("reasoning") != nil {
				return nil
			}
			key = thoughtName
		}
		if string(value) == "null" {
			return nil // SDKs echo every field they know; a template tests for presence
		}
		dst = appendString(append(dst, ','), key)
		dst = append(append(dst, ':'), value...)
		return nil
	})
	return append(dst, '}'), err
}

// readContent joins the parts of a message's content, which must be text.
func readContent(m *fields) string {
	v := m.raw("content")
	if v == nil {
		return "" // an assistant that only called tools
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(v, &parts) != nil {
		m.fail("content", "must be a string or a list of text parts.")
		return ""
	}
	var b strings.Builder
	for i, v := range parts {
		p, err := parseFields(v, fmt.Sprintf("%scontent[%d].", m.path, i))
		if err != nil {
			m.take(&fields{err: err})
			return ""
		}
		switch t := p.string("type"); {
		case p.err != nil:
		case t == "text" || t == "refusal":
			if p.raw(t) == nil {
				p.fail(t, "is missing.")
			}
			b.WriteString(p.string(t))
		case slices.Contains([]string{"image_url", "input_audio", "file", "video_url"}, t):
			p.fail("type", "%q is not supported: this endpoint takes text only.", t)
		default:
			p.fail("type", "must be \"text\", not %q.", clip(t))
		}
		m.take(p)
	}
	return b.String()
}

// readPrediction returns the text that the client expects to be generated.
func readPrediction(f *fields) string {
	o := f.object("prediction")
	if o == nil {
		return ""
	}
	if t := o.string("type"); o.err == nil && t != "content" {
		o.fail("type", "must be \"content\", not %q.", clip(t))
	}
	if o.raw("content") == nil {
		o.fail("content", "is missing.")
	}
	text := readContent(o)
	f.take(o)
	return text
}

// readToolCalls returns the calls an assistant made, their arguments as
// objects where they parse, because most templates want to walk them. The
// older function_call is one call.
func readToolCalls(m *fields) []byte {
	var calls []json.RawMessage
	param := "tool_calls"
	if v := m.raw("tool_calls"); v != nil {
		if json.Unmarshal(v, &calls) != nil {
			m.fail(param, "must be a list.")
		}
	} else if v := m.raw("function_call"); v != nil {
		param = "function_call"
		calls = []json.RawMessage{slices.Concat(json.RawMessage(`{"type":"function","function":`), v, json.RawMessage(`}`))}
	}
	if len(calls) == 0 {
		return nil
	}
	out := []byte{'['}
	for i, call := range calls {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendMembers(out, call, "function", func(dst []byte, fn json.RawMessage) ([]byte, error) {
			return appendMembers(dst, fn, "arguments", appendArguments)
		}); err != nil {
			m.fail(param, "holds a call that is not of the form {\"function\": {\"name\", \"arguments\"}}.")
			return nil
		}
	}
	return append(out, ']')
}

// appendMembers copies the object v, the member called key through f.
func appendMembers(dst []byte, v json.RawMessage, key string, f func([]byte, json.RawMessage) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	err := eachMember(v, func(k string, value json.RawMessage) (err error) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k), ':')
		if k == key {
			dst, err = f(dst, value)
			return err
		}
		dst = append(dst, value...)
		return nil
	})
	return append(dst, '}'), err
}

// appendArguments unwraps a string that holds a JSON object.
func appendArguments(dst []byte, v json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		inner := bytes.TrimSpace([]byte(text))
		if bytes.HasPrefix(inner, []byte("{")) && json.Valid(inner) && checkText(inner) == nil {
			return append(dst, inner...), nil
		}
	}
	return append(dst, v...), nil
}

// common implements request.
func (c *chatRequest) common() *params { return &c.params }

// prompts implements request.
func (c *chatRequest) prompts(m model.Model) ([]*prompt, error) {
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
func (c *chatRequest) render(m model.Model, vars []byte) (string, error) {
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
func (c *chatRequest) promptOf(m model.Model, text string) ([]*prompt, error) {
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
func (c *chatRequest) remember(name string) error {
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
func (c *chatRequest) parsing(m model.Model, text string) (*dialect.Options, error) {
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

// form implements request.
func (c *chatRequest) form() form {
	return choicesForm{members: chatMembers{functions: c.tools.functions}}
}
