package anthropic

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// readMessages reads the field system and the messages, some of which may be the system's too.
func (c *messagesRequest) readMessages(f *wire.Fields) {
	if f.Raw("system") != nil {
		c.readSystem(f, "system")
	}
	for m := range api.EachMessage(f) {
		c.readMessage(m)
	}
	c.joinBegun()
	c.LeaveOutTypes("blocks", "Anthropic", elsewhere.MatchString, c.skipped)
	if len(c.Messages) == 0 {
		f.Fail("messages",
			"hold nothing but an empty message of the system's; add one of the user's.")
	}
}

// joinBegun makes the blocks of a begun answer one text, because the model goes on from it.
func (c *messagesRequest) joinBegun() {
	if c.said == 0 {
		return
	}
	m := c.Of("assistant")
	if m.Calls == nil {
		from := len(m.Texts) - c.said
		m.Texts = append(m.Texts[:from], strings.Join(m.Texts[from:], ""))
	}
}

// readSystem reads the system's text in the field key. It adds nothing if the text has only lines
// that change with each request.
func (c *messagesRequest) readSystem(f *wire.Fields, key string) {
	api.ReadParts(f, key, func(b *wire.Fields, kind string) {
		if isChange(kind) {
			c.tools.readChange(b, kind)
			return
		}
		if text := api.StripBillingHeader(api.PartText(b, kind)); text != "" {
			c.Of("system").Say(text)
		}
	})
}

// readMessage reads one message.
func (c *messagesRequest) readMessage(m *wire.Fields) {
	role := m.Word("role")
	c.said = 0
	switch {
	case m.Err() != nil:
	case role == "":
		m.FailMissing("role")
	case m.Raw("content") == nil:
		m.FailMissing("content")
	case role == "system":
		c.readSystem(m, "content")
		media := api.ReadMedia(m)
		if m.Omitted.Kinds != nil {
			c.Of(role).Omits(m.Omitted)
			c.Of(role).Say(media)
		}
	case role == "assistant":
		c.Of(role).Omits(m.Omitted)
		api.ReadParts(m, "content", c.readAssistant)
		if media := api.ReadMedia(m); media != "" {
			c.Of(role).Say(media)
			c.said = 0
		}
	default:
		before, changes := len(c.Messages), false
		api.ReadParts(m, "content", func(b *wire.Fields, kind string) {
			changes = changes || isChange(kind)
			c.readUser(b, kind)
		})
		if media := api.ReadMedia(m); media != "" {
			c.Of(role).Omits(m.Omitted)
			c.Of(role).Say(media)
		}
		if len(c.Messages) == before && !changes { // an empty message is one too
			c.Of(role)
		}
	}
}

// readAssistant reads a block of an answer. Of the vendor's own tools it reads the text alone, and notes
// what has none: the rest means nothing to another model.
func (c *messagesRequest) readAssistant(b *wire.Fields, kind string) {
	m := c.Of("assistant")
	if kind == "compaction" {
		for change := range b.Items("tool_changes", b.List("tool_changes", "must be a list of objects.")) {
			c.tools.readChange(change, change.String("type"))
		}
	}
	switch {
	case api.IsThought(kind):
		m.Think(api.PartText(b, kind))
	case kind == "tool_use":
		id, name, input := b.String("id"), wire.NeededName(b), api.ReadArguments(b, "input")
		c.Called[id] = name
		c.tools.change(name, true)
		m.Call(id, name, input)
	case isChange(kind):
		c.tools.readChange(b, kind)
	case kind == "tool_result":
		b.Fail("type", "cannot be %q here: send it in a message of the user.", control.Word(kind))
	case ownTool(b, kind):
		var left wire.Omissions
		text := api.OwnText(b, kind, &left)
		if text == "" {
			c.skipped = append(c.skipped, kind)
			return
		}
		b.Omitted.Add(left.Kinds...)
		m.Say(text)
		c.said = 0
	default:
		if text := api.PartText(b, kind); text != "" {
			m.Say(text)
			c.said++
		}
	}
}

// elsewhere matches the types of blocks that Anthropic's servers write.
var elsewhere = regexp.MustCompile("^(server_tool_use|mcp_tool_use|mcp_tool_listing|container_upload|compaction|" +
	"fallback|(advisor|(bash_|text_editor_)?code_execution|mcp|tool_search|web_fetch|web_search)_tool_result)$")

// ownTool reports whether a block is of a tool that the vendor's servers run: its call, its result,
// or another mark.
func ownTool(b *wire.Fields, kind string) bool {
	known := []string{"text", "document", "image", "search_result"}
	return !slices.Contains(known, kind) && b.Values["text"] == nil
}

// readUser reads a block of the user's.
func (c *messagesRequest) readUser(b *wire.Fields, kind string) {
	switch kind {
	case "tool_result":
		id := wire.NeededString(b, "tool_use_id")
		result := api.NewResult(id, c.Called[id])
		b.Omitted = new(wire.Omissions) // a result is never refused for it
		result.Omits(b.Omitted)
		if b.Raw("content") != nil {
			api.ReadParts(b, "content", func(r *wire.Fields, kind string) {
				result.Say(api.PartText(r, kind))
				if kind == "tool_reference" {
					c.tools.change(r.String("tool_name"), true)
				}
			})
		}
		result.Say(api.ReadMedia(b))
		if b.Bool("is_error") { // templates have no other place for it
			result.Texts = []string{strings.TrimSpace("Error: " + result.Text())}
		}
		c.Messages = append(c.Messages, result)
	case toolAddition, toolRemoval:
		c.tools.readChange(b, kind)
	default:
		all, own := b.Omitted, new(wire.Omissions)
		b.Omitted = own
		text := api.PartText(b, kind)
		if n := len(c.Messages); own.Err != nil && n > 0 && c.Messages[n-1].Role == "tool" {
			c.Messages[n-1].Say(text) // programs send a file that a tool read after its result
			c.Messages[n-1].Omits(own)
			return
		}
		all.Err = cmp.Or(all.Err, own.Err)
		all.Add(own.Kinds...)
		m := c.Of("user")
		m.Omits(all)
		m.Say(text)
	}
}
