package pool

import (
	"bytes"
	"context"
	"errors"
	"slices"
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
	model    *Model
	always   []byte // the beginning of the variables, see alwaysVars
	template *native.Template
	err      error // why there is no template
	history  dialect.History
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

// probeTime bounds the search for the form of earlier messages. A template that takes longer for three
// short messages is of no use.
const probeTime = time.Second

// openChats finds out in which form each template takes earlier messages.
func (m *Model) openChats(ctx context.Context) chats {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	always := alwaysVars(m.bundle.Tokenizer)
	open := func(tools bool) *Chat {
		c := &Chat{model: m, always: always}
		c.template, c.err = m.bundle.Chat.Template(tools)
		c.history = m.dialect.FindHistory(tools,
			func(vars []byte) (string, error) { return c.Render(ctx, vars) })
		return c
	}
	return chats{plain: open(false), tools: open(true)}
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
				"/v1/completions with a prompt.", control.Word(c.model.row.ID), c.err).Advise(control.ToRunRaw)
	}
	if len(vars) > maxTemplateVars {
		return "", c.tooLong(nil)
	}
	// If two members have one name, the later one counts: the request's.
	vars = slices.Concat(c.always, bytes.TrimPrefix(vars, []byte("{")))
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
	}
	return text, notNow(err)
}

// tooLong refuses messages that are longer than a template prints.
func (c *Chat) tooLong(err error) error {
	return control.Errorf(control.Code(engine.CodeContextLength),
		"This model's maximum context length is %d tokens. However, you requested more than the %d MiB of text that a chat template may print, which is at least %d tokens in the prompt. Please shorten it.",
		c.model.ContextLength(), maxTemplateText>>20,
		maxTemplateText/c.model.bundle.Tokenizer.LongestToken()).Because(err)
}

// notNow returns the error of a request that may succeed in a few seconds, or err: it found no turn for
// its template or its grammar, or the process for them was lost twice.
func notNow(err error) error {
	what := "Too many requests with heavy templates or grammars are waiting"
	switch {
	case errors.Is(err, native.ErrBusy):
	case errors.Is(err, native.ErrProcess):
		what = "The process for templates and grammars stopped"
	default:
		return err
	}
	return control.Plain(control.Code(engine.CodeQueueFull), what+"; try again in a few seconds.").Because(err)
}
