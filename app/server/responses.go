package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"tandem/app/model"
	"tandem/engine"
)

// A responseRequest is the body of /v1/responses. What it asks the model is a chat.
type responseRequest struct {
	conversation
	to           responsesRoutes
	body         map[string]json.RawMessage
	offers       responseTools
	own          []json.RawMessage // items of the request itself
	items        []json.RawMessage // with those that it goes on from, and refers to
	instructions string
	previous     string // id of the response that it goes on from, may be empty
	store        bool
}

func (v responsesRoutes) readResponse(f *fields) (request, error) {
	c := &responseRequest{to: v, body: f.values, store: true}
	c.promptParam = "input"
	c.read(f)
	c.n = 1
	c.maxTokens = f.int("max_output_tokens", 1, math.MaxInt32)
	c.grammar, c.grammarParam = readTextFormat(f), "text.format"
	c.topLogprobs = first(0, f.int("top_logprobs", 0, engine.MaxTopLogprobs))
	c.logprobs = slices.Contains(f.strings("include"), "message.output_text.logprobs")
	if !c.logprobs {
		c.topLogprobs = 0
	}
	c.thinking = readThinking(f)
	c.kwargs = c.thinking.into(f.raw("chat_template_kwargs"))
	c.offers = readResponseTools(f)
	c.tools, c.single = c.offers.toolbox, c.offers.single
	if c.tools.forced && c.grammar != nil {
		f.fail("tool_choice", "asks for a call, which text.format has no room for; leave out one of both.")
	}
	if store := optional(f, "store", f.bool); store != nil {
		c.store = *store
	}
	c.instructions, c.previous = f.string("instructions"), f.string("previous_response_id")
	f.oneOf("truncation", []string{"auto", "disabled"})
	readMetadata(f)
	refuseElsewhere(f)
	c.own = readItems(f)
	return c, f.err
}

// readTextFormat returns what the answer may be, nil for any text.
func readTextFormat(f *fields) *model.Grammar {
	text := f.object("text")
	if text == nil {
		return nil
	}
	defer f.take(text)
	o := text.object("format")
	if o == nil {
		return nil
	}
	defer text.take(o)
	return readFormat(o, readSchema)
}

// Limits of metadata, which are OpenAI's.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64  // characters
	maxMetadataValue = 512 // characters
)

// readMetadata checks what is kept with a response and means nothing here.
func readMetadata(f *fields) {
	o := f.object("metadata")
	if o == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		var value string
		if utf8.RuneCountInString(key) > maxMetadataKey || json.Unmarshal(o.values[key], &value) != nil || utf8.RuneCountInString(value) > maxMetadataValue || len(o.values) > maxMetadata {
			f.fail("metadata", "may hold %d pairs of texts, of %d characters and of %d.", maxMetadata, maxMetadataKey, maxMetadataValue)
			return
		}
	}
}

// refuseElsewhere refuses what only OpenAI's servers have, where leaving it out would
// change the answer or leave the client waiting.
func refuseElsewhere(f *fields) {
	if f.bool("background") {
		f.fail("background", "is not supported: the answer comes with the request, best with stream.")
	}
	if f.raw("conversation") != nil {
		f.fail("conversation", "is not supported; send its items as input, or use previous_response_id.")
	}
	if f.raw("prompt") != nil {
		f.fail("prompt", "is not supported; send its text as instructions and input.")
	}
}

// readItems returns the items of the input, of which a text is one.
func readItems(f *fields) (list []json.RawMessage) {
	const param = "input"
	v := f.raw(param)
	switch {
	case v == nil:
		f.fail(param, "is missing: send a text, or a list of items.")
	case v[0] == '"':
		return []json.RawMessage{mustJSON(map[string]any{"type": "message", "role": "user", "content": []any{map[string]string{"type": "input_text", "text": f.string(param)}}})}
	case json.Unmarshal(v, &list) != nil:
		f.fail(param, "must be a text or a list of items.")
	}
	return list
}

// prepare implements preparing: it makes messages of the items, of those that the
// request goes on from first.
func (c *responseRequest) prepare(ctx context.Context, held *place, body []byte) ([]byte, error) {
	t := transcript{turns{names: map[string]string{}}}
	if c.instructions != "" {
		t.system(c.instructions)
	}
	r := &recollection{ctx: ctx, to: c.to, owner: caller(ctx), held: held}
	if c.previous != "" {
		before, err := r.chain(c.previous)
		if err != nil {
			return nil, err
		}
		for _, v := range before {
			if err := t.read(v, "previous_response_id."); err != nil {
				return nil, err
			}
		}
		c.items = before
	}
	for i, v := range c.own {
		path := fmt.Sprintf("input[%d].", i)
		f, err := parseFields(v, path)
		if err != nil {
			return nil, err
		}
		if itemType(f) == "item_reference" {
			if v, err = r.item(f); err != nil {
				return nil, err
			}
			c.own[i] = v
		}
		if err := t.read(v, path); err != nil {
			return nil, err
		}
	}
	if len(t.list) == 0 {
		return nil, invalid("input", "input holds nothing to answer; send a message.")
	}
	c.items = append(c.items, c.own...)
	c.turns = t.list
	if r.bytes > 0 {
		body = c.alone()
	}
	return body, c.complete()
}

// read adds an item.
func (t *transcript) read(v json.RawMessage, path string) error {
	f, err := parseFields(v, path)
	if err == nil {
		t.add(f)
		err = f.err
	}
	return err
}

// alone is the body that asks for the same without anything that is stored.
func (c *responseRequest) alone() []byte {
	body := maps.Clone(c.body)
	delete(body, "previous_response_id")
	body["input"] = mustJSON(c.items)
	return mustJSON(body)
}

// form implements request. An answer that is completed later is read by those who read
// a chat's.
func (c *responseRequest) form() form {
	if c.resumes != nil {
		return c.to.resumed
	}
	return &responseForm{req: c}
}
