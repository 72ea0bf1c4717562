package api

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"tandem/app/dialect"
	"tandem/app/wire"
)

// A Message is one message of a conversation, in the form that templates expect. Where a vendor
// sends the parts of one answer as items, they are one Message. A tool's result is a Message of its
// own.
type Message struct {
	Role  string            // system, user, assistant or tool
	Texts []string          // of its content, a blank line apart
	Calls []json.RawMessage // of tools, each in the form of chat completions; nil for none

	more []member // other members, in the client's order; a thought is called thoughtName
}

// A member is a name and its value in a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// appendTo appends the member without a comma.
func (x member) appendTo(dst []byte) []byte {
	return append(append(wire.AppendString(dst, x.key), ':'), x.value...)
}

// thoughtName is the member of a message that holds a thought, until the template's name for it is
// known.
const thoughtName = "reasoning_content"

// NewMessage returns a message of one text.
func NewMessage(role, text string) Message { return Message{Role: role, Texts: []string{text}} }

// NewResult returns the message of a tool's result, without its text. name is the tool's, empty if
// it is not known.
func NewResult(id, name string) Message {
	m := Message{Role: "tool", more: []member{{resultIDName, wire.AppendString(nil, id)}}}
	if name != "" {
		m.more = append(m.more, member{"name", wire.AppendString(nil, name)})
	}
	return m
}

// Text returns the texts with blank lines between them.
func (m *Message) Text() string { return strings.Join(m.Texts, "\n\n") }

// Say adds a text, unless it is empty.
func (m *Message) Say(text string) {
	if text != "" {
		m.Texts = append(m.Texts, text)
	}
}

// Think adds a thought, a blank line after an earlier one, unless it is empty.
func (m *Message) Think(text string) {
	if text == "" {
		return
	}
	for i, x := range m.more {
		if x.key == thoughtName {
			open := x.value[:len(x.value)-1] // without the quote that ends it
			m.more[i].value = append(open, wire.AppendString(nil, "\n\n"+text)[1:]...)
			return
		}
	}
	m.more = append(m.more, member{thoughtName, wire.AppendString(nil, text)})
}

// unquoted returns the text of a member that is a string, otherwise an empty one.
func (m *Message) unquoted(key string) (text string) {
	_ = json.Unmarshal([]byte(m.text(key)), &text) // else it is empty
	return text
}

// Call adds a call of a tool. Arguments that are a string with a JSON object become that object. Nil
// stands for none.
func (m *Message) Call(id, name string, arguments json.RawMessage) {
	call := wire.AppendString([]byte(`{"id":`), id)
	call = wire.AppendString(append(call, `,"type":"function","function":{"name":`...), name)
	call = appendArguments(append(call, `,"arguments":`...), arguments)
	m.Calls = append(m.Calls, append(call, "}}"...))
}

// ReadArguments returns the arguments of a call. They are an object or one as text; absent they are
// an empty one.
func ReadArguments(f *wire.Fields, key string) json.RawMessage {
	args := appendArguments(nil, f.Raw(key))
	if args[0] != '{' {
		f.Object(key) // says what is wrong
	}
	return args
}

// appendArguments appends v. If v is a string that holds a JSON object, it appends that object,
// because most templates walk through the arguments of a call. Of an object without an end it
// appends the members that are whole. If v is absent or holds nothing, it appends an empty object.
func appendArguments(dst []byte, v json.RawMessage) []byte {
	const none = "{}"
	if len(v) == 0 || string(v) == "null" {
		return append(dst, none...)
	}
	var text string
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		inner := bytes.TrimSpace([]byte(text))
		if len(inner) == 0 || string(inner) == "null" {
			return append(dst, none...)
		}
		switch {
		case inner[0] != '{' || wire.CheckText(inner) != nil:
		case json.Valid(inner):
			return append(dst, inner...)
		case endsEarly(inner): // the call was cut
			return append(dst, WholeMembers(inner)...)
		}
	}
	return append(dst, v...)
}

// endsEarly reports whether a text is the beginning of JSON.
func endsEarly(text []byte) bool {
	var v json.RawMessage
	return json.NewDecoder(bytes.NewReader(text)).Decode(&v) == io.ErrUnexpectedEOF
}

// WholeMembers returns a JSON object that may have no end, with only the members that are whole. A
// number at the end may go on, so it is none of them.
func WholeMembers(text []byte) json.RawMessage {
	out := []byte{'{'}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return append(out, '}')
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil ||
			wire.IsNumber(v) && d.InputOffset() == int64(len(text)) {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = member{key, v}.appendTo(out)
	}
	return append(out, '}')
}

// appendTo appends the message as a JSON object, or as two, in the form of the template. The
// templates that say thinking take no text beside a thought where there are calls: they take the
// text for the thought.
func (m *Message) appendTo(dst []byte, form dialect.History) []byte {
	text := m.Text()
	if form.SeparateText && text != "" && m.Calls != nil {
		said := NewMessage(m.Role, text)
		dst = append(said.appendTo(dst, form), ',')
		text = ""
	}
	calls := m.Calls
	if form.Written {
		text, calls = withCalls(text, calls), nil
	}
	dst = wire.AppendString(append(dst, `{"role":`...), m.Role)
	if dst = append(dst, `,"content":`...); text == "" && calls != nil && form.NullContent {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, text)
	}
	for i, call := range calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		if form.TextArguments {
			call = withTextArguments(call)
		}
		dst = append(dst, call...)
	}
	if calls != nil {
		dst = append(dst, ']')
	}
	for _, x := range m.more {
		if x.key == thoughtName {
			if form.Thought == "thinking" && calls != nil && text != "" {
				continue
			}
			x.key = form.Thought
		}
		dst = x.appendTo(append(dst, ','))
	}
	return append(dst, '}')
}

// withCalls returns a text and the calls after it, as the model writes them.
func withCalls(text string, calls []json.RawMessage) string {
	out := []byte(text)
	for _, call := range calls {
		var c struct {
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		}
		_ = json.Unmarshal(call, &c) // it was read before
		arguments := []byte(c.Function.Arguments)
		if text := ""; json.Unmarshal(arguments, &text) == nil { // they are no JSON, and stay
			arguments = []byte(text)
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = dialect.AppendCall(out, c.Function.Name, arguments)
	}
	return string(out)
}

// withTextArguments returns a call whose arguments are a text with their JSON.
func withTextArguments(call json.RawMessage) json.RawMessage {
	return mapMember(call, "function", func(fn json.RawMessage) json.RawMessage {
		return mapMember(fn, "arguments", func(v json.RawMessage) json.RawMessage {
			if v[0] == '"' {
				return v
			}
			return wire.AppendString(nil, string(v))
		})
	})
}

// mapMember returns an object in which f has changed the member key.
func mapMember(object json.RawMessage, key string,
	f func(json.RawMessage) json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	_ = wire.EachMember(object, func(k string, v json.RawMessage) error { // it was read before
		if k == key {
			v = f(v)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = member{k, v}.appendTo(out)
		return nil
	})
	return append(out, '}')
}
