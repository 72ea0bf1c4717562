package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
)

// A responseRequest is the body of /v1/responses. For the model it is a chat.
type responseRequest struct {
	api.Conversation
	to           Routes
	fields       *wire.Fields // of the body
	offers       responseTools
	skipped      []string          // types of items that are skipped
	text         *string           // the input; nil for a list of items
	own          []json.RawMessage // the items of the request itself
	items        []json.RawMessage // with the items that it continues and refers to
	instructions string
	closing      string // the last message, after all items; empty for none
	previous     string // id of the response that it continues; may be empty
	store        bool
}

func (v Routes) readResponse(f *wire.Fields) (api.Request, error) {
	c := v.newRequest(f.As(responseRequestShape))
	form := readTextFormat(f)
	if form == nil {
		api.RefuseForms(f, "text.format")
	}
	c.Read(f)
	c.N = 1
	c.MaxTokens = api.ReadLimit(f, "max_output_tokens")
	c.Grammar, c.GrammarParam = form, "text.format"
	c.TopLogprobs = api.First(0, f.Whole("top_logprobs"))
	c.Logprobs = slices.Contains(f.Strings("include"), "message.output_text.logprobs")
	if !c.Logprobs {
		c.TopLogprobs = 0
	}
	if store := wire.ReadOptional(f, "store", f.Bool); store != nil {
		c.store = *store
	}
	readMetadata(f)
	refuseElsewhere(f)
	c.readContextManagement(f)
	c.readPrompt(f)
	c.readInput(f, true)
	return c, f.Err()
}

// newRequest returns a request without fields.
func (v Routes) newRequest(f *wire.Fields) *responseRequest {
	c := &responseRequest{to: v, fields: f, store: true}
	c.Tolerant, c.Called = true, map[string]string{}
	c.PromptParam = "input"
	return c
}

// readPrompt reads what the prompt has beside the input.
func (c *responseRequest) readPrompt(f *wire.Fields) {
	c.Thinking = api.ReadThinking(f)
	c.Kwargs = f.Raw("chat_template_kwargs")
	c.offers = readResponseTools(f)
	c.instructions, c.previous = f.String("instructions"), f.String("previous_response_id")
	c.Truncate = f.Word("truncation") == "auto"
}

// readTextFormat returns the grammar of the answer, or nil for any text.
func readTextFormat(f *wire.Fields) *model.Grammar {
	text := f.Object("text")
	if text == nil {
		return nil
	}
	o := api.FormatObject(text, "format", api.PlainFormats)
	if o == nil {
		return nil
	}
	return api.ReadFormat(o, api.ReadFlatSchema)
}

// OpenAI's limits of metadata.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64  // characters
	MaxMetadataValue = 512 // characters
)

// readMetadata checks metadata. It is stored with a response, and Tandem does not use it.
func readMetadata(f *wire.Fields) {
	o := f.Object("metadata")
	if o == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o.Values)) {
		var value string
		if utf8.RuneCountInString(key) > maxMetadataKey ||
			json.Unmarshal(o.Values[key], &value) != nil ||
			utf8.RuneCountInString(value) > MaxMetadataValue || len(o.Values) > maxMetadata {
			f.Fail("metadata",
				"may hold %d pairs of texts, of %d characters and of %d.",
				maxMetadata, maxMetadataKey, MaxMetadataValue)
			return
		}
	}
}

// refuseElsewhere refuses features that only OpenAI's servers have. Leaving them out would change
// the answer or keep the client waiting.
func refuseElsewhere(f *wire.Fields) {
	if f.Bool("background") {
		f.Fail("background",
			"is not supported: the answer comes with the request, best with stream.")
	}
	if f.Raw("background_options") != nil {
		f.Fail("background_options", "is not supported, because background is not.")
	}
	if f.Raw("moderation") != nil {
		f.Fail("moderation", "is not supported: the answer is text from the model alone.")
	}
	refuseConversation(f)
	if f.Raw("prompt") != nil {
		f.Fail("prompt", "is not supported; send its text as instructions and input.")
	}
}

// refuseConversation refuses a conversation that OpenAI's servers keep.
func refuseConversation(f *wire.Fields) {
	if f.Raw("conversation") != nil {
		f.Fail("conversation",
			"is not supported; send its items as input, or use previous_response_id.")
	}
}

// readInput reads the input, which is a text or a list of items. Prepare makes messages of it. It
// may be absent if it is not needed, and the request continues a response.
func (c *responseRequest) readInput(f *wire.Fields, needed bool) {
	const param = "input"
	v := f.Raw(param)
	switch {
	case v == nil && !needed && c.previous != "":
	case v == nil:
		f.Fail(param, "is missing: send a text, or a list of items.")
	case v[0] == '"':
		c.text = new(f.String(param))
		c.own = []json.RawMessage{textItem(v)}
	default:
		list := f.List(param, "must be a text or a list of items.")
		c.own = append([]json.RawMessage{}, list...)
	}
}

// textItem returns the item as which an input that is a JSON string is stored.
func textItem(text json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage(`{"content":[{"text":`), text,
		json.RawMessage(`,"type":"input_text"}],"role":"user","type":"message"}`))
}

// Prepare implements preparing. It makes messages of the items: first the items that the request
// continues, then its own.
func (c *responseRequest) Prepare(ctx context.Context, held *wire.Reservation,
	body []byte) ([]byte, error) {
	if c.instructions != "" {
		c.saySystem(c.instructions)
	}
	r := &itemLookup{ctx: ctx, to: c.to, owner: wire.Caller(ctx), held: held}
	if c.previous != "" {
		before, err := r.chain(c.previous)
		if err != nil {
			return nil, err
		}
		for _, v := range before {
			f, err := wire.ParseFields(v, "previous_response_id.")
			if err != nil {
				return nil, err
			}
			if c.addItem(f.As(inputItemShape)); f.Err() != nil {
				return nil, f.Err()
			}
		}
		c.items = before
	}
	if err := c.addOwn(r); err != nil {
		return nil, err
	}
	if len(c.Messages) == 0 && c.skipped != nil {
		return nil, wire.Invalid("input", "input holds nothing to answer, only items that are left out here (%s); "+
			"send a message too.", api.ListTypes(c.skipped))
	}
	if len(c.Messages) == 0 {
		return nil, wire.Invalid("input", "input holds nothing to answer; send a message.")
	}
	if c.closing != "" {
		c.Messages = append(c.Messages, api.NewMessage("user", c.closing))
	}
	if c.offers.choose(c.fields); c.fields.Err() != nil {
		return nil, c.fields.Err()
	}
	c.Tools = c.offers.Toolbox
	c.LeaveOutTypes("items", "OpenAI", isServed, c.skipped)
	c.items = append(c.items, c.own...)
	if r.bytes > 0 {
		body = c.alone()
	}
	return body, c.Complete()
}

// addOwn makes messages of the request's own items. A stored item takes the place of a reference.
func (c *responseRequest) addOwn(r *itemLookup) error {
	if c.text != nil {
		c.Messages = append(c.Messages, api.NewMessage("user", *c.text))
		return nil
	}
	for i, v := range c.own {
		path := fmt.Sprintf("input[%d].", i)
		f, err := wire.ParseFields(v, path)
		if err != nil {
			return err
		}
		if itemType(f.As(inputItemShape)) == "item_reference" {
			if c.own[i], err = r.item(f); err != nil {
				return err
			}
			if f, err = wire.ParseFields(c.own[i], path); err != nil {
				return err
			}
		}
		if c.addItem(f.As(inputItemShape)); f.Err() != nil {
			return f.Err()
		}
	}
	return nil
}

// alone returns a body that asks for the same and refers to nothing stored.
func (c *responseRequest) alone() []byte {
	body := maps.Clone(c.fields.Values)
	delete(body, "previous_response_id")
	body["input"] = wire.MustJSON(c.items)
	return wire.MustJSON(body)
}

// Format implements api.Request. The client of an answer that is completed later reads it as a chat.
func (c *responseRequest) Format() api.ReplyFormat {
	if c.Resumes != nil {
		return c.to.Resumed
	}
	return &responseFormat{req: c}
}
