package server

import (
	"context"
	"math"
	"net/http"

	"tandem/app/dialect"
	"tandem/app/model"
)

// A messagesRequest is the body of /v1/messages: a chat in Anthropic's words. It also
// takes what /v1/chat/completions takes beyond them.
type messagesRequest struct{ conversation }

func readMessagesRequest(f *fields) (request, error) {
	c := newMessages(f)
	n := f.int("max_tokens", 0, math.MaxInt32)
	if n == nil {
		f.fail("max_tokens", "is missing: say how many tokens the answer may have at most.")
	}
	c.maxTokens = n
	if f.err != nil {
		return nil, f.err
	}
	return c, c.complete()
}

// newMessages reads all that counts as a part of the prompt, and how it is answered.
func newMessages(f *fields) *messagesRequest {
	c := &messagesRequest{conversation{goesOn: true}}
	c.promptParam = "messages"
	c.read(f)
	c.n = 1
	if f.raw("stop_sequences") != nil {
		c.stop = readStop(f, "stop_sequences")
	}
	c.turns = readTurns(f)
	c.tools = readMessageTools(f)
	c.thinking = readMessageThinking(f)
	c.readOutputConfig(f)
	c.kwargs = c.thinking.into(f.raw("chat_template_kwargs"))
	if c.tools.forced && c.grammar != nil {
		f.fail("tool_choice", "asks for a call, which the format of the output has no room for; leave out one of both.")
	}
	return c
}

// readMessageThinking reads thinking. Without it there is none, as the programs of
// that API expect, unless the request says so in other words.
func readMessageThinking(f *fields) thinking {
	t := readThinking(f)
	o := f.object("thinking")
	if o == nil {
		if t.on == nil && t.budget == nil {
			t.on = new(false)
		}
		return t
	}
	defer f.take(o)
	kind := o.string("type")
	if o.err == nil && kind == "" {
		o.fail("type", "is missing; it is \"enabled\", \"adaptive\" or \"disabled\".")
	}
	t.on = new(kind != "disabled") // when to think is the model's own choice, whatever other types say of it
	if n := o.int("budget_tokens", 0, math.MaxInt32); n != nil && *t.on {
		t.budget = n
	}
	t.hidden = t.hidden || o.string("display") == "omitted"
	return t
}

// readOutputConfig reads how much effort an answer is worth, and which form it has.
func (c *messagesRequest) readOutputConfig(f *fields) {
	o := f.object("output_config")
	if o == nil {
		return
	}
	defer f.take(o)
	if effort := o.oneOf("effort", efforts); effort != "" {
		c.thinking.effort = effort
	}
	form := o.object("format")
	if form == nil {
		return
	}
	defer o.take(form)
	if t := form.string("type"); form.err == nil && t != "json_schema" {
		form.fail("type", "must be \"json_schema\", not %q.", clip(t))
	}
	if needed(form, "schema") != nil {
		c.grammar, c.grammarParam = &model.Grammar{JSON: dialect.Guided(form.raw("schema"), true)}, "output_config.format.schema"
	}
}

// form implements request.
func (c *messagesRequest) form() form { return messageForm{} }

// countTokens answers with the tokens that a request's prompt has. It is no run:
// nothing is generated.
func (v *anthropicRoutes) countTokens(w http.ResponseWriter, r *http.Request) error {
	var held place
	defer held.release()
	_, f, err := v.readFields(w, r, &held)
	if err != nil {
		return err
	}
	c := newMessages(f)
	if f.err != nil {
		return f.err
	}
	if err := c.complete(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(v.draining, func() { cancel(errStopping) })()
	m, err := v.hold(ctx, c.model)
	if err != nil {
		return err
	}
	defer m.Release()
	if err := generates(m); err != nil {
		return err
	}
	text, err := c.rendered(m)
	if err != nil {
		return err
	}
	ids, err := encodeChat(m, c.promptParam, text)
	if err != nil {
		return err
	}
	return writeJSON(w, struct {
		InputTokens int `json:"input_tokens"`
	}{len(ids)})
}
