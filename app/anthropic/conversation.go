package anthropic

import (
	"encoding/json"
	"slices"
	"strings"
	"tandem/app/api"
	"tandem/app/wire"
)

// messageRoles are the roles of messages. The system prompt stands apart from them, but the system
// may also speak within a conversation.
var messageRoles = []string{"user", "assistant", "system"}

// messageTurns collect the turns of a body of Anthropic's.
type messageTurns struct{ api.Turns }

// readTurns reads system and messages.
func readTurns(f *wire.Fields) []api.Turn {
	s := &messageTurns{api.Turns{Names: map[string]string{}}}
	if v := f.Raw("system"); v != nil {
		s.readSystem(f, "system")
	}
	var list []json.RawMessage
	v := f.Raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.Fail("messages", "must be a list of at least one message.")
		return nil
	}
	for i, v := range list {
		m, err := f.Item("messages", i, v)
		if err != nil {
			f.Take(&wire.Fields{Err: err})
			return nil
		}
		s.Read(m)
		if f.Take(m); f.Err != nil {
			return nil
		}
	}
	if len(s.List) == 0 {
		f.Fail("messages", "hold nothing but an empty message of the system's; add one of the user's.")
	}
	return s.List
}

// readSystem reads the system's text in the field key. It adds nothing if the text has only lines
// that change with each request.
func (s *messageTurns) readSystem(f *wire.Fields, key string) {
	eachBlock(f, key, func(b *wire.Fields, kind string) {
		if kind != "text" {
			refuseBlock(b, kind)
			return
		}
		if text := api.Unbilled(wire.NeededText(b, "text")); text != "" {
			s.Of("system").Say(text)
		}
	})
}

// Read reads a message.
func (s *messageTurns) Read(m *wire.Fields) {
	role := m.OneOf("role", messageRoles)
	switch {
	case m.Err != nil:
	case role == "":
		m.Fail("role", "is missing.")
	case m.Raw("content") == nil:
		m.Fail("content", "is missing.")
	case role == "system":
		s.readSystem(m, "content")
	case role == "assistant":
		s.Of(role)
		eachBlock(m, "content", s.readAssistant)
	default:
		before := len(s.List)
		eachBlock(m, "content", s.readUser)
		if len(s.List) == before { // an empty message is a turn too
			s.Of(role)
		}
	}
}

// readAssistant reads a block of an answer. It skips blocks of the vendor's own tools, which mean
// nothing to another model.
func (s *messageTurns) readAssistant(b *wire.Fields, kind string) {
	t := s.Of("assistant")
	switch kind {
	case "text":
		t.Say(wire.NeededText(b, "text"))
	case "thinking":
		if thought := b.String("thinking"); thought != "" {
			t.Thoughts = append(t.Thoughts, thought)
		}
	case "tool_use":
		id, name, input := b.String("id"), wire.NeededName(b), b.Raw("input")
		if o := b.Object("input"); o == nil {
			input = json.RawMessage("{}")
		}
		s.Names[id] = name
		call := wire.AppendString([]byte(`{"id":`), id)
		call = wire.AppendString(append(call, `,"type":"function","function":{"name":`...), name)
		call = append(append(append(call, `,"arguments":`...), input...), "}}"...)
		t.Calls = append(t.Calls, call)
	case "image", "document", "tool_result":
		refuseBlock(b, kind)
	}
}

// readUser reads a block of a user's message.
func (s *messageTurns) readUser(b *wire.Fields, kind string) {
	switch kind {
	case "text":
		s.Of("user").Say(wire.NeededText(b, "text"))
	case "tool_result":
		t := api.Turn{Role: "tool", ID: b.String("tool_use_id")}
		if b.Err == nil && t.ID == "" {
			b.Fail("tool_use_id", "is missing.")
		}
		t.Name = s.Names[t.ID]
		if b.Raw("content") != nil {
			eachBlock(b, "content", func(r *wire.Fields, kind string) {
				if kind != "text" {
					refuseBlock(r, kind)
					return
				}
				t.Say(wire.NeededText(r, "text"))
			})
		}
		if b.Bool("is_error") { // templates have no other place for it
			t.Texts = []string{strings.TrimSpace("Error: " + t.Text())}
		}
		s.List = append(s.List, t)
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
		read(&wire.Fields{Values: map[string]json.RawMessage{"text": v}, Path: f.Path + key + "."}, "text")
		return
	case json.Unmarshal(v, &list) != nil:
		f.Fail(key, "must be a string or a list of blocks.")
		return
	}
	for i, v := range list {
		b, err := f.Item(key, i, v)
		if err != nil {
			f.Take(&wire.Fields{Err: err})
			return
		}
		kind := b.String("type")
		if b.Err == nil && kind == "" {
			b.Fail("type", "is missing.")
		}
		if b.Err == nil {
			read(b, kind)
		}
		if f.Take(b); f.Err != nil {
			return
		}
	}
}
