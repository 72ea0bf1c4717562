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
	body         map[string]json.RawMessage
	offers       responseTools
	own          []json.RawMessage // the items of the request itself
	items        []json.RawMessage // with the items that it continues and refers to
	instructions string
	previous     string // id of the response that it continues; may be empty
	store        bool
}

func (v Routes) readResponse(f *wire.Fields) (api.Request, error) {
	f.As(responseRequestShape)
	c := &responseRequest{to: v, body: f.Values, store: true}
	c.PromptParam = "input"
	c.Read(f)
	c.N = 1
	c.MaxTokens = f.Whole("max_output_tokens")
	c.Grammar, c.GrammarParam = readTextFormat(f), "text.format"
	c.TopLogprobs = api.First(0, f.Whole("top_logprobs"))
	c.Logprobs = slices.Contains(f.Strings("include"), "message.output_text.logprobs")
	if !c.Logprobs {
		c.TopLogprobs = 0
	}
	c.Thinking = api.ReadThinking(f)
	c.Kwargs = c.Thinking.Into(f.Raw("chat_template_kwargs"))
	c.offers = readResponseTools(f)
	c.Tools, c.Single = c.offers.Toolbox, c.offers.Single
	if c.Tools.Forced && c.Grammar != nil {
		f.Fail("tool_choice", "asks for a call, which text.format does not allow; leave out one of the two.")
	}
	if store := wire.Optional(f, "store", f.Bool); store != nil {
		c.store = *store
	}
	c.instructions, c.previous = f.String("instructions"), f.String("previous_response_id")
	f.Word("truncation")
	readMetadata(f)
	refuseElsewhere(f)
	c.own = readItems(f)
	return c, f.Err
}

// readTextFormat returns the grammar of the answer, or nil for any text.
func readTextFormat(f *wire.Fields) *model.Grammar {
	text := f.Object("text")
	if text == nil {
		return nil
	}
	defer f.Take(text)
	o := text.Object("format")
	if o == nil {
		return nil
	}
	defer text.Take(o)
	return api.ReadFormat(o, api.ReadSchema)
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
		if utf8.RuneCountInString(key) > maxMetadataKey || json.Unmarshal(o.Values[key], &value) != nil || utf8.RuneCountInString(value) > MaxMetadataValue || len(o.Values) > maxMetadata {
			f.Fail("metadata", "may hold %d pairs of texts, of %d characters and of %d.", maxMetadata, maxMetadataKey, MaxMetadataValue)
			return
		}
	}
}

// refuseElsewhere refuses features that only OpenAI's servers have. Leaving them out would change
// the answer or keep the client waiting.
func refuseElsewhere(f *wire.Fields) {
	if f.Bool("background") {
		f.Fail("background", "is not supported: the answer comes with the request, best with stream.")
	}
	if f.Raw("conversation") != nil {
		f.Fail("conversation", "is not supported; send its items as input, or use previous_response_id.")
	}
	if f.Raw("prompt") != nil {
		f.Fail("prompt", "is not supported; send its text as instructions and input.")
	}
}

// readItems returns the items of the input. A text counts as one item.
func readItems(f *wire.Fields) (list []json.RawMessage) {
	const param = "input"
	v := f.Raw(param)
	switch {
	case v == nil:
		f.Fail(param, "is missing: send a text, or a list of items.")
	case v[0] == '"':
		return []json.RawMessage{wire.MustJSON(map[string]any{"type": "message", "role": "user", "content": []any{map[string]string{"type": "input_text", "text": f.String(param)}}})}
	case json.Unmarshal(v, &list) != nil:
		f.Fail(param, "must be a text or a list of items.")
	}
	return list
}

// Prepare implements preparing. It makes messages of the items: first the items that the request
// continues, then its own.
func (c *responseRequest) Prepare(ctx context.Context, held *wire.Place, body []byte) ([]byte, error) {
	t := transcript{api.Turns{Names: map[string]string{}}}
	if c.instructions != "" {
		t.system(c.instructions)
	}
	r := &recollection{ctx: ctx, to: c.to, owner: wire.Caller(ctx), held: held}
	if c.previous != "" {
		before, err := r.chain(c.previous)
		if err != nil {
			return nil, err
		}
		for _, v := range before {
			if err := t.Read(v, "previous_response_id."); err != nil {
				return nil, err
			}
		}
		c.items = before
	}
	for i, v := range c.own {
		path := fmt.Sprintf("input[%d].", i)
		f, err := wire.ParseFields(v, path)
		if err != nil {
			return nil, err
		}
		if itemType(f) == "item_reference" {
			if v, err = r.item(f); err != nil {
				return nil, err
			}
			c.own[i] = v
		}
		if err := t.Read(v, path); err != nil {
			return nil, err
		}
	}
	if len(t.List) == 0 {
		return nil, wire.Invalid("input", "input holds nothing to answer; send a message.")
	}
	c.items = append(c.items, c.own...)
	c.Turns = t.List
	if r.bytes > 0 {
		body = c.alone()
	}
	return body, c.Complete()
}

// Read adds an item to the transcript.
func (t *transcript) Read(v json.RawMessage, path string) error {
	f, err := wire.ParseFields(v, path)
	if err == nil {
		t.Add(f.As(inputItemShape))
		err = f.Err
	}
	return err
}

// alone returns a body that asks for the same and refers to nothing stored.
func (c *responseRequest) alone() []byte {
	body := maps.Clone(c.body)
	delete(body, "previous_response_id")
	body["input"] = wire.MustJSON(c.items)
	return wire.MustJSON(body)
}

// Form implements api.Request. The client of an answer that is completed later reads it as a chat.
func (c *responseRequest) Form() api.Form {
	if c.Resumes != nil {
		return c.to.Resumed
	}
	return &responseForm{req: c}
}
