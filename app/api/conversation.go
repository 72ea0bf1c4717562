package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
)

// A Conversation is a request whose prompt the model's chat template writes. Every vendor reads its
// body straight into one. Vars writes it as the template's variables.
type Conversation struct {
	Params

	Messages []Message
	Tools    Toolbox
	Kwargs   json.RawMessage // the client's variables for the template; nil for none

	// Called has the names of the called tools, by the ids of the calls. It is for vendors whose
	// tool results have no name.
	Called map[string]string

	// LeftOut names what of the request the model does not get and the answer may need, for the
	// timings and the run. It has types and numbers, never the client's texts.
	LeftOut []string

	WholeCalls    bool // see dialect.Options
	Truncate      bool // the earliest turns are left out if the context has no room for all
	ContinueFinal bool // the answer continues the last message, if that is an answer
	Tolerant      bool // a template that has no place for the messages gets simpler ones

	limits    []promptLimit
	begun     string       // the text of the answer that is continued; empty for none
	variables wire.Members // of Kwargs and of Thinking
	prompted  bool         // Kwargs say whether the template begins the answer

	past    *past   // before the answer to come; nil if no thought is kept
	putBack putBack // into Messages
}

// Of returns the last message if it has that role, otherwise a new one after it. The message stays
// valid until the next one is added.
func (c *Conversation) Of(role string) *Message {
	if n := len(c.Messages); n == 0 || c.Messages[n-1].Role != role {
		c.Messages = append(c.Messages, Message{Role: role})
	}
	return &c.Messages[len(c.Messages)-1]
}

// A promptLimit is a length of the prompt from which on the client wants it shortened.
type promptLimit struct {
	most          int // tokens
	param, advice string
}

// AtMost refuses a prompt of more tokens. The error is about a field and ends with advice, which says
// how the client can shorten the conversation itself.
func (c *Conversation) AtMost(tokens int, param, advice string) {
	c.limits = append(c.limits, promptLimit{tokens, param, advice})
}

// checkLimits refuses a prompt of that many tokens, if it is longer than the client wants.
func (c *Conversation) checkLimits(tokens int) error {
	for _, l := range c.limits {
		if tokens > l.most {
			return wire.Invalid(l.param, "The prompt has %d tokens, more than the %d of %s, and is not shortened here: %s.",
				tokens, l.most, l.param, control.Word(l.advice))
		}
	}
	return nil
}

// Complete checks the conversation. It is called after all fields are read. What the model cannot
// read has become a line of text in each message, so that a history stays of use. The last message
// of the user is refused for it, because that message is about it.
func (c *Conversation) Complete() error {
	for _, m := range slices.Backward(c.Messages) {
		if m.Role != "user" {
			continue
		}
		if m.omitted != nil && m.omitted.Err != nil {
			return m.omitted.Err
		}
		break
	}
	c.leaveOutParts()
	completeToolCalls(c.Messages)
	c.LeaveOut(fmt.Sprintf("tools of %s's servers", cmp.Or(c.Tools.Vendor, "OpenAI")), c.Tools.LeftOut)
	c.Single = c.Tools.Single
	c.begun = ""
	if n := len(c.Messages); n > 0 && c.ContinueFinal {
		if last := c.Messages[n-1]; last.Role == "assistant" && last.Calls == nil {
			c.begun = last.Text()
		}
	}
	return c.setVariables()
}

// setVariables reads Kwargs and adds the template's variables of thinking. It keeps a variable that
// the client sets itself.
func (c *Conversation) setVariables() error {
	const param = "chat_template_kwargs"
	c.variables, c.prompted = nil, false
	if c.Kwargs != nil {
		err := wire.EachMember(c.Kwargs, func(key string, value json.RawMessage) error {
			switch key {
			case "messages", "tools":
				return wire.Invalid(param,
					"%s must not set %s; it is a field of the request.", param, key)
			case "add_generation_prompt":
				c.prompted = true
			}
			c.variables = append(c.variables, wire.Member{Key: key, Value: value})
			return nil
		})
		if _, ok := errors.AsType[*control.Error](err); ok {
			return err
		}
		if err != nil {
			return wire.Invalid(param, "%s must be a JSON object.", param)
		}
	}
	set := len(c.variables)
	for _, v := range c.Thinking.variables() {
		own := func(m wire.Member) bool { return m.Key == v.Key }
		if !slices.ContainsFunc(c.variables[:set], own) {
			c.variables = append(c.variables, v)
		}
	}
	return nil
}

// Vars returns the template's variables for some messages of the conversation, as a JSON object in
// the client's order. generate makes the template begin the answer, unless Kwargs decide that.
func (c *Conversation) Vars(messages []Message, generate bool, form dialect.History) []byte {
	vars := []byte(`{"messages":[`)
	if form.ToolsInSystem && c.Tools.List != nil {
		messages = withTools(messages, c.Tools.List)
	}
	if form.Responses {
		messages = withResponses(messages)
	}
	for i, m := range messages {
		if i > 0 {
			vars = append(vars, ',')
		}
		vars = m.appendTo(vars, form)
	}
	vars = append(vars, ']')
	if tools := c.Tools.List; tools != nil {
		if form.WithoutNull {
			tools = withoutNull(tools)
		}
		vars = append(append(vars, `,"tools":`...), tools...)
		if form.Functions != "" {
			vars = wire.Member{Key: form.Functions,
				Value: wire.JoinValues(listFunctions(tools))}.AppendTo(append(vars, ','))
		}
	}
	for _, v := range c.variables {
		vars = v.AppendTo(append(vars, ','))
	}
	if generate && !c.prompted {
		vars = append(vars, `,"add_generation_prompt":true`...)
	}
	return append(vars, '}')
}

func (c *Conversation) Common() *Params  { return &c.Params }
func (c *Conversation) Offers() *Toolbox { return &c.Tools }

// Rendered returns the text of the prompt. Some templates reject messages of agents, which speak as
// the system at any time and as the user several times in a row. If the conversation is Tolerant,
// such a template gets simpler messages.
func (c *Conversation) Rendered(ctx context.Context, m model.Model) (string, error) {
	if err := c.checkSize(m); err != nil {
		return "", err
	}
	text, err := c.renderOnce(ctx, m)
	if !c.Tolerant || !templateRejects(c.Messages, text, err) {
		return text, err
	}
	plain, changed := simplifyMessages(c.Messages)
	if !changed {
		return text, err
	}
	given := c.Messages
	c.Messages = plain
	if again, err := c.renderOnce(ctx, m); err == nil {
		return again, nil
	}
	c.Messages = given
	return text, err
}

const (
	// smallVars are variables of a template that are copied whatever they hold, in bytes.
	smallVars = 1 << 20

	// outsideText is how many bytes of names, calls and thoughts, which a template may leave out,
	// count as one byte of the prompt.
	outsideText = 4
)

// checkSize refuses a conversation that cannot fit the context, before it is copied for the
// template.
func (c *Conversation) checkSize(m model.Model) error {
	text, other := 0, len(c.Tools.List)
	count := func(list wire.Members) {
		for _, x := range list {
			other += len(x.Key) + len(x.Value)
		}
	}
	count(c.variables)
	for _, msg := range c.Messages {
		for _, t := range msg.Texts {
			text += len(t)
		}
		for _, call := range msg.Calls {
			other += len(call)
		}
		count(msg.more)
	}
	if text+other <= smallVars {
		return nil
	}
	return CheckLength(m, c.PromptParam, max(text, other/outsideText))
}

// renderOnce returns the messages as the template writes them. A begun answer ends the prompt with its
// exact text, which random words mark because many templates trim a message. A template that splits
// the text, as at the end of a thought, may lose the first word. Its own text is used then.
func (c *Conversation) renderOnce(ctx context.Context, m model.Model) (string, error) {
	form := c.chat(m).History()
	if c.begun == "" {
		return c.render(ctx, m, c.Vars(c.Messages, true, form))
	}
	from, to := rand.Text(), rand.Text()
	marked := slices.Clone(c.Messages)
	marked[len(marked)-1].Texts = []string{from + c.begun + to}
	text, err := c.render(ctx, m, c.Vars(marked, false, form))
	if err != nil {
		return "", err
	}
	text, _, found := strings.Cut(text, to)
	if !found {
		return "", wire.Invalid("messages",
			"The template of the model %s leaves out an answer that was begun; let the last message be the user's.",
			control.Word(m.ID()))
	}
	if at := strings.LastIndex(text, from); at >= 0 {
		return text[:at] + c.begun, nil
	}
	return text, nil
}

// chat returns the model's template for the conversation.
func (c *Conversation) chat(m model.Model) model.Chat { return m.Chat(c.Tools.List != nil) }

// render has the model's template write the prompt.
func (c *Conversation) render(ctx context.Context, m model.Model, vars []byte) (string, error) {
	if n, _ := wire.CountValues(vars); n > wire.MaxValues {
		return "", wire.Invalid(c.PromptParam,
			"%s holds %d values, in the texts of calls too; %d are allowed.", c.PromptParam, n,
			wire.MaxValues)
	}
	text, err := c.chat(m).Render(ctx, vars)
	if errors.Is(err, model.ErrNoTemplate) {
		e := control.Errorf(control.CodeNoTemplate,
			"The model %s has no chat template; use /v1/completions with a prompt instead.",
			control.Word(m.ID()))
		e.Param = c.PromptParam
		return "", e
	}
	return text, NameParam(err, c.PromptParam)
}
