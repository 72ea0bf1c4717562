package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// messageRoles are those of messages. The system's stands apart from them, but amid a
// conversation it may also speak there.
var messageRoles = []string{"user", "assistant", "system"}

// messageTurns are the turns of a body of Anthropic's in the making.
type messageTurns struct{ turns }

// readTurns reads system and messages.
func readTurns(f *fields) []turn {
	s := &messageTurns{turns{names: map[string]string{}}}
	if v := f.raw("system"); v != nil {
		s.readSystem(f, "system")
	}
	var list []json.RawMessage
	v := f.raw("messages")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.fail("messages", "must be a list of at least one message.")
		return nil
	}
	for i, v := range list {
		m, err := parseFields(v, fmt.Sprintf("messages[%d].", i))
		if err != nil {
			f.take(&fields{err: err})
			return nil
		}
		s.read(m)
		if f.take(m); f.err != nil {
			return nil
		}
	}
	if len(s.list) == 0 {
		f.fail("messages", "hold nothing but an empty message of the system's; add one of the user's.")
	}
	return s.list
}

// readSystem reads what the system says under a name. What is empty but for lines that
// change with each request says nothing.
func (s *messageTurns) readSystem(f *fields, key string) {
	eachBlock(f, key, func(b *fields, kind string) {
		if kind != "text" {
			refuseBlock(b, kind)
			return
		}
		if text := unbilled(neededText(b, "text")); text != "" {
			s.of("system").say(text)
		}
	})
}

// read reads a message.
func (s *messageTurns) read(m *fields) {
	role := m.oneOf("role", messageRoles)
	switch {
	case m.err != nil:
	case role == "":
		m.fail("role", "is missing.")
	case m.raw("content") == nil:
		m.fail("content", "is missing.")
	case role == "system":
		s.readSystem(m, "content")
	case role == "assistant":
		s.of(role)
		eachBlock(m, "content", s.readAssistant)
	default:
		before := len(s.list)
		eachBlock(m, "content", s.readUser)
		if len(s.list) == before { // it says nothing, and is a turn all the same
			s.of(role)
		}
	}
}

// readAssistant reads a block of an answer. What the vendor's own tools left there says
// nothing to another model.
func (s *messageTurns) readAssistant(b *fields, kind string) {
	t := s.of("assistant")
	switch kind {
	case "text":
		t.say(neededText(b, "text"))
	case "thinking":
		if thought := b.string("thinking"); thought != "" {
			t.thoughts = append(t.thoughts, thought)
		}
	case "tool_use":
		id, name, input := b.string("id"), neededName(b), b.raw("input")
		if o := b.object("input"); o == nil {
			input = json.RawMessage("{}")
		}
		s.names[id] = name
		call := appendString([]byte(`{"id":`), id)
		call = appendString(append(call, `,"type":"function","function":{"name":`...), name)
		call = append(append(append(call, `,"arguments":`...), input...), "}}"...)
		t.calls = append(t.calls, call)
	case "image", "document", "tool_result":
		refuseBlock(b, kind)
	}
}

// readUser reads a block of the user's.
func (s *messageTurns) readUser(b *fields, kind string) {
	switch kind {
	case "text":
		s.of("user").say(neededText(b, "text"))
	case "tool_result":
		t := turn{role: "tool", id: b.string("tool_use_id")}
		if b.err == nil && t.id == "" {
			b.fail("tool_use_id", "is missing.")
		}
		t.name = s.names[t.id]
		if b.raw("content") != nil {
			eachBlock(b, "content", func(r *fields, kind string) {
				if kind != "text" {
					refuseBlock(r, kind)
					return
				}
				t.say(neededText(r, "text"))
			})
		}
		if b.bool("is_error") { // templates have no other place for it
			t.texts = []string{strings.TrimSpace("Error: " + t.text())}
		}
		s.list = append(s.list, t)
	default:
		refuseBlock(b, kind)
	}
}

// refuseBlock refuses what no text stands for.
func refuseBlock(b *fields, kind string) {
	if slices.Contains([]string{"image", "document", "container_upload"}, kind) {
		b.fail("type", "%q is not supported: this endpoint takes text only.", kind)
		return
	}
	b.fail("type", "cannot be %q here.", clip(kind))
}

// eachBlock reads content: a text, which is one block, or a list of blocks.
func eachBlock(f *fields, key string, read func(b *fields, kind string)) {
	v := f.raw(key)
	var list []json.RawMessage
	switch {
	case v[0] == '"':
		read(&fields{values: map[string]json.RawMessage{"text": v}, path: f.path + key + "."}, "text")
		return
	case json.Unmarshal(v, &list) != nil:
		f.fail(key, "must be a string or a list of blocks.")
		return
	}
	for i, v := range list {
		b, err := parseFields(v, fmt.Sprintf("%s%s[%d].", f.path, key, i))
		if err != nil {
			f.take(&fields{err: err})
			return
		}
		kind := b.string("type")
		if b.err == nil && kind == "" {
			b.fail("type", "is missing.")
		}
		if b.err == nil {
			read(b, kind)
		}
		if f.take(b); f.err != nil {
			return
		}
	}
}
