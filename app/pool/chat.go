package pool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/native"
	"tandem/models"
)

// A Chat is a chat template of a model in memory. It implements model.Chat.
type Chat struct {
	reader   chatReader
	template *native.Template
	err      error // why there is no template
	history  dialect.History
}

// A chatReader is what the templates of a model need of it.
type chatReader struct {
	id            string
	always        []byte // the beginning of the variables, see alwaysVars
	contextLength func() int
	longest       int // bytes of a token
}

// maxTemplateText is engine/native's limit of the text that a template prints, in bytes.
const maxTemplateText = 4 << 20

// maxTemplateVars is the limit of what a template gets, in bytes of JSON. A template prints nearly
// all of it.
const maxTemplateVars = 2 * maxTemplateText

// chats are the templates of a model: for conversations with tools, and for others.
type chats struct{ plain, tools *Chat }

// of returns the one for conversations with tools, or for others.
func (c chats) of(tools bool) *Chat {
	if tools {
		return c.tools
	}
	return c.plain
}

// probeTime bounds the search for a form. A template that takes longer for three short messages is
// of no use.
const probeTime = time.Second

// openChats finds out in which of the forms each template takes earlier messages.
func openChats(ctx context.Context, r chatReader, of *models.Chat, forms []dialect.History) chats {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return chats{plain: openChat(ctx, r, of, forms, false), tools: openChat(ctx, r, of, forms, true)}
}

func openChat(ctx context.Context, r chatReader, of *models.Chat, forms []dialect.History,
	tools bool) *Chat {
	c := &Chat{reader: r, history: forms[0]}
	if c.template, c.err = of.Template(tools); c.template == nil {
		return c
	}
	for _, system := range []bool{false, true} { // some templates want one first
		p := probe{tools: tools, system: system}
		for _, form := range forms {
			if !c.shows(ctx, form, p) {
				continue
			}
			c.history = form
			p.text = true
			if apart := form; !c.shows(ctx, form, p) {
				if apart.SeparateText = true; c.shows(ctx, apart, p) {
					c.history = apart
				}
			}
			return c
		}
	}
	return c
}

// A probe is a conversation in which the model has called a tool.
type probe struct {
	tools  bool // it offers tools
	system bool // it begins with a system message
	text   bool // a text stands beside the call
}

// Marks of a probe. No template prints them of itself.
const (
	probeTool  = "tandemtool"
	probeValue = "tandemvalue"
	probeText  = "tandemtext"
)

// shows reports whether the template prints a call of an earlier turn in that form: the name, the
// arguments, and a text beside it if there is one.
func (c *Chat) shows(ctx context.Context, form dialect.History, p probe) bool {
	vars, err := json.Marshal(p.vars(form))
	if err != nil {
		return false
	}
	printed, err := c.Render(ctx, vars)
	return err == nil && strings.Contains(printed, probeTool) &&
		strings.Contains(printed, probeValue) && (!p.text || strings.Contains(printed, probeText))
}

// vars returns the variables of the conversation in that form.
func (p probe) vars(form dialect.History) any {
	type object = map[string]any
	const id = "abcdefgh1" // Mistral's templates want nine letters and digits
	arguments := object{"key": probeValue}
	call := object{"role": "assistant", "content": "", "tool_calls": []any{object{
		"id": id, "type": "function",
		"function": object{"name": probeTool, "arguments": arguments},
	}}}
	if form.TextArguments {
		call["tool_calls"].([]any)[0].(object)["function"].(object)["arguments"] =
			`{"key":"` + probeValue + `"}`
	}
	var messages []any
	if p.system {
		messages = append(messages, object{"role": "system", "content": "1"})
	}
	messages = append(messages, object{"role": "user", "content": "1"})
	switch {
	case p.text && form.SeparateText:
		messages = append(messages, object{"role": "assistant", "content": probeText})
		fallthrough
	case !p.text:
		if form.NullContent {
			call["content"] = nil
		}
	default:
		call["content"] = probeText
	}
	if form.Written {
		delete(call, "tool_calls")
		text := []byte(call["content"].(string))
		text = dialect.AppendCall(text, probeTool, []byte(`{"key":"`+probeValue+`"}`))
		call["content"] = string(text)
	}
	messages = append(messages, call,
		object{"role": "tool", "tool_call_id": id, "name": probeTool, "content": "2"})
	vars := object{"messages": messages, "add_generation_prompt": true}
	if p.tools {
		function := object{"name": "other", "description": "1", "parameters": object{"type": "object",
			"properties": object{"key": object{"type": "string", "description": "1"}},
			"required":   []string{"key"}}}
		vars["tools"] = []any{object{"type": "function", "function": function}}
		if form.Functions != "" {
			vars[form.Functions] = []any{function}
		}
	}
	return vars
}

// History implements model.Chat.
func (c *Chat) History() dialect.History { return c.history }

// Render implements model.Chat.
func (c *Chat) Render(ctx context.Context, vars []byte) (string, error) {
	if errors.Is(c.err, models.ErrNoTemplate) {
		return "", model.ErrNoTemplate
	}
	if c.err != nil {
		return "", control.Errorf(control.CodeModelInvalid,
			"The model %s %v; mend the template or take another file of the model, or use "+
				"/v1/completions with a prompt (`tandem run --raw`).",
			control.Word(c.reader.id), c.err)
	}
	if len(vars) > maxTemplateVars {
		return "", c.tooLong(nil)
	}
	// If two members have one name, the later one counts: the request's.
	vars = slices.Concat(c.reader.always, bytes.TrimPrefix(vars, []byte("{")))
	text, err := c.template.Render(ctx, vars)
	e, ok := errors.AsType[*native.TemplateError](err)
	switch {
	case ok && e.Kind == native.KindLimit && len(vars) > maxTemplateText:
		return "", c.tooLong(err)
	case ok:
		refused := control.Errorf(control.CodeInvalid,
			"The model's chat template refuses these messages: %s", e.Message)
		if e.Kind == native.KindLimit {
			refused.Err = model.ErrTemplateLimit
		}
		return "", refused
	case errors.Is(err, native.ErrBusy):
		return "", tooManyHeavy(err)
	}
	return text, err
}

// tooLong refuses messages that are longer than a template prints.
func (c *Chat) tooLong(err error) error {
	return &control.Error{Code: control.Code(engine.CodeContextLength), Err: err,
		Message: fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested more than the %d MiB of text that a chat template may print, which is at least %d tokens in the prompt. Please shorten it.",
			c.reader.contextLength(), maxTemplateText>>20, maxTemplateText/c.reader.longest)}
}

// tooManyHeavy refuses a request that found no turn for its template or its grammar.
func tooManyHeavy(err error) error {
	return &control.Error{Code: control.Code(engine.CodeQueueFull), Err: err,
		Message: "Too many requests with heavy templates or grammars are waiting; ask again in some seconds."}
}
