package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// readMessages reads system and messages. The system prompt stands apart from the messages, but the
// system may also speak within them.
func (c *messagesRequest) readMessages(f *wire.Fields) {
	if f.Raw("system") != nil {
		c.readSystem(f, "system")
	}
	for m := range api.EachMessage(f) {
		c.readMessage(m)
	}
	if len(c.Messages) == 0 {
		f.Fail("messages",
			"hold nothing but an empty message of the system's; add one of the user's.")
	}
}

// readSystem reads the system's text in the field key. It adds nothing if the text has only lines
// that change with each request.
func (c *messagesRequest) readSystem(f *wire.Fields, key string) {
	eachBlock(f, key, func(b *wire.Fields, kind string) {
		if kind != "text" {
			refuseBlock(b, kind)
			return
		}
		if text := api.Unbilled(wire.NeededText(b, "text")); text != "" {
			c.Of("system").Say(text)
		}
	})
}

// readMessage reads one message.
func (c *messagesRequest) readMessage(m *wire.Fields) {
	role := m.Word("role")
	switch {
	case m.Err != nil:
	case role == "":
		m.Fail("role", "is missing.")
	case m.Raw("content") == nil:
		m.Fail("content", "is missing.")
	case role == "system":
		c.readSystem(m, "content")
	case role == "assistant":
		c.Of(role)
		eachBlock(m, "content", c.readAssistant)
	default:
		before := len(c.Messages)
		eachBlock(m, "content", c.readUser)
		if len(c.Messages) == before { // an empty message is one too
			c.Of(role)
		}
	}
}

// readAssistant reads a block of an answer. It skips blocks of the vendor's own tools, which mean
// nothing to another model.
func (c *messagesRequest) readAssistant(b *wire.Fields, kind string) {
	m := c.Of("assistant")
	switch kind {
	case "text":
		m.Say(wire.NeededText(b, "text"))
	case "thinking":
		if thought := b.String("thinking"); thought != "" {
			m.Think(thought)
		}
	case "tool_use":
		id, name, input := b.String("id"), wire.NeededName(b), b.Raw("input")
		if o := b.Object("input"); o == nil {
			input = json.RawMessage("{}")
		}
		c.Called[id] = name
		m.Call(id, name, input)
	case "image", "document", "tool_result":
		refuseBlock(b, kind)
	}
}

// readUser reads a block of the user's.
func (c *messagesRequest) readUser(b *wire.Fields, kind string) {
	switch kind {
	case "text":
		c.Of("user").Say(wire.NeededText(b, "text"))
	case "tool_result":
		id := b.String("tool_use_id")
		if b.Err == nil && id == "" {
			b.Fail("tool_use_id", "is missing.")
		}
		result := api.NewResult(id, c.Called[id])
		if b.Raw("content") != nil {
			eachBlock(b, "content", func(r *wire.Fields, kind string) {
				if kind != "text" {
					refuseBlock(r, kind)
					return
				}
				result.Say(wire.NeededText(r, "text"))
			})
		}
		if b.Bool("is_error") { // templates have no other place for it
			result.Texts = []string{strings.TrimSpace("Error: " + result.Text())}
		}
		c.Messages = append(c.Messages, result)
	default:
		refuseBlock(b, kind)
	}
}

// refuseBlock refuses a block that has no form as text.
func refuseBlock(b *wire.Fields, kind string) {
	if slices.Contains([]string{"image", "document", "container_upload"}, kind) {
		b.Fail("type", "%q is not supported: this endpoint takes text only.", kind)
		return
	}
	b.Fail("type", "cannot be %q here.", wire.Clip(kind))
}

// eachBlock reads content, which is a list of blocks, or a text that counts as one block.
func eachBlock(f *wire.Fields, key string, read func(b *wire.Fields, kind string)) {
	v := f.Raw(key)
	var list []json.RawMessage
	switch {
	case v[0] == '"':
		read(&wire.Fields{Values: map[string]json.RawMessage{"text": v}, Path: f.Path + key + "."},
			"text")
		return
	case json.Unmarshal(v, &list) != nil:
		f.Fail(key, "must be a string or a list of blocks.")
		return
	}
	for b := range f.Items(key, list) {
		kind := b.String("type")
		if b.Err == nil && kind == "" {
			b.Fail("type", "is missing.")
		}
		if b.Err == nil {
			read(b, kind)
		}
	}
}
