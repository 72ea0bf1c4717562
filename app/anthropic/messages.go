package anthropic

import (
	"net/http"

	"tandem/app/api"
	"tandem/app/wire"
)

// A messagesRequest is the body of /v1/messages: a chat in Anthropic's words. It also takes the
// other fields of /v1/chat/completions.
type messagesRequest struct {
	api.Conversation

	tools   toolList
	skipped []string // types of blocks that are skipped
	said    int      // blocks of text at the end of the last message, if that is an answer
}

func readMessagesRequest(f *wire.Fields) (api.Request, error) {
	c := newMessages(f.As(messagesRequestShape))
	if f.Raw("max_tokens") == nil {
		f.Fail("max_tokens", "is missing: say how many tokens the answer may have at most.")
	}
	c.MaxTokens = api.ReadLimit(f, "max_tokens")
	if f.Raw("thread") != nil {
		f.Fail("thread", "is not supported; send the whole conversation as messages.")
	}
	if f.Raw("compaction") != nil {
		f.Fail("compaction", "is not supported; ask for a summary in the last message.")
	}
	if f.Err() != nil {
		return nil, f.Err()
	}
	return c, c.Complete()
}

// newMessages reads everything that is part of the prompt, and the form of the answer.
func newMessages(f *wire.Fields) *messagesRequest {
	c := &messagesRequest{Conversation: api.Conversation{ContinueFinal: true, Tolerant: true,
		Called: map[string]string{}}}
	c.PromptParam = "messages"
	c.Read(f)
	c.N = 1
	if f.Raw("stop_sequences") != nil {
		c.Stop = api.ReadStop(f, "stop_sequences")
	}
	c.readMessages(f)
	c.Tools = c.readTools(f)
	c.WholeCalls = true
	c.Thinking = readMessageThinking(f)
	c.readContextManagement(f)
	c.readOutputConfig(f)
	c.Kwargs = f.Raw("chat_template_kwargs")
	return c
}

// readMessageThinking reads thinking. Without that field the model does not think, as the programs
// of that API expect. Other fields of the request can turn it on.
func readMessageThinking(f *wire.Fields) api.Thinking {
	t := api.ReadThinking(f)
	o := f.Object("thinking")
	if o == nil {
		if t.On == nil && t.Budget == nil {
			t.On = new(false)
		}
		return t
	}
	kind := o.String("type")
	if kind == "" {
		o.Fail("type", "is missing; it is \"enabled\", \"adaptive\" or \"disabled\".")
	}
	t.On = new(kind != "disabled") // with any other type the model itself chooses when to think
	if n := api.ReadLimit(o, "budget_tokens"); n != nil && *t.On {
		t.Budget = n
	}
	t.Hidden = t.Hidden || o.String("display") == "omitted"
	return t
}

// readOutputConfig reads the effort and the form of the answer, also under the form's older name.
func (c *messagesRequest) readOutputConfig(f *wire.Fields) {
	api.RefuseForms(f, "output_config.format", "output_format", "response_format")
	c.readOutputFormat(f, "output_format")
	o := f.Object("output_config")
	if o == nil {
		return
	}
	if effort := o.Word("effort"); effort != "" {
		c.Thinking.Effort = effort
	}
	c.readOutputFormat(o, "format")
}

// readOutputFormat reads the form of the answer.
func (c *messagesRequest) readOutputFormat(f *wire.Fields, key string) {
	o := api.FormatObject(f, key, `{"type": "json_schema", "schema": {"type": "object"}}`)
	if o == nil {
		return
	}
	if t := o.String("type"); t != "json_schema" {
		o.Fail("type", "must be \"json_schema\", not %q.", wire.Clip(t))
	}
	if wire.Needed(o, "schema") != nil {
		c.Grammar, c.GrammarParam = api.SchemaGrammar(o, "schema", true), o.Path+"schema"
	}
}

func (c *messagesRequest) Format() api.ReplyFormat { return messageFormat{} }

// countTokens answers with the number of tokens of a request's prompt.
func (v *Routes) countTokens(w http.ResponseWriter, r *http.Request) error {
	var held wire.Reservation
	defer held.Release()
	_, f, err := v.ReadFields(w, r, &held)
	if err != nil {
		return err
	}
	c := newMessages(f.As(countTokensRequestShape))
	if c.MaxTokens = api.ReadLimit(f, "max_tokens"); c.MaxTokens == nil {
		c.MaxTokens = new(1) // the longest prompt: a client must not learn too late how long its text is
	}
	api.RefuseMedia(f)
	if f.Err() != nil {
		return f.Err()
	}
	if err := c.Complete(); err != nil {
		return err
	}
	n, err := v.CountPrompt(r, &held, &c.Conversation)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, tokenCount{InputTokens: n})
}
