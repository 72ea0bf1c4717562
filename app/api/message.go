package api

import (
	"bytes"
	"encoding/json"
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

	broken  int             // calls whose arguments are a string, as they are not a JSON object
	omitted *wire.Omissions // what of it the model cannot read; nil for nothing

	more wire.Members // in the client's order; a thought is called thoughtName
}

// thoughtName is the member of a message that holds a thought, until the template's name for it is
// known.
const thoughtName = "reasoning_content"

// NewMessage returns a message of one text.
func NewMessage(role, text string) Message { return Message{Role: role, Texts: []string{text}} }

// NewResult returns the message of a tool's result, without its text. name is the tool's, empty if
// it is not known.
func NewResult(id, name string) Message {
	m := Message{Role: "tool", more: wire.Members{{Key: resultIDName, Value: wire.Quote(id)}}}
	if name != "" {
		m.more = append(m.more, wire.Member{Key: "name", Value: wire.Quote(name)})
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

// Omits notes what of a piece of the message the model cannot read. If several pieces become one message,
// it keeps the error of the last one.
func (m *Message) Omits(o *wire.Omissions) {
	if m.omitted != nil && m.omitted != o {
		o.Kinds = append(m.omitted.Kinds, o.Kinds...)
	}
	m.omitted = o
}

// Think adds a thought, a blank line after an earlier one, unless it is empty.
func (m *Message) Think(text string) {
	if text == "" {
		return
	}
	for i, x := range m.more {
		if x.Key == thoughtName {
			open := x.Value[:len(x.Value)-1] // without the quote that ends it
			m.more[i].Value = append(open, wire.AppendString(nil, "\n\n"+text)[1:]...)
			return
		}
	}
	m.more = append(m.more, wire.Member{Key: thoughtName, Value: wire.Quote(text)})
}

// unquoted returns the text of a member that is a string, otherwise an empty one.
func (m *Message) unquoted(key string) string { return unquote(m.more.Get(key)) }

// unquote returns the text of a value that is a string, otherwise an empty one.
func unquote(v json.RawMessage) (text string) {
	_ = json.Unmarshal(v, &text) // else it is empty
	return text
}

// Call adds a call of a tool. arguments may be an object, a string with an object, or nil.
func (m *Message) Call(id, name string, arguments json.RawMessage) {
	function := wire.Members{{Key: "name", Value: wire.Quote(name)},
		{Key: "arguments", Value: plainArguments(arguments)}}
	m.Calls = append(m.Calls, wire.Members{{Key: "id", Value: wire.Quote(id)},
		{Key: "type", Value: wire.Quote("function")},
		{Key: "function", Value: function.JSON()}}.JSON())
}

// ReadArguments returns the arguments of a call. They are an object or one as text, which may be broken;
// absent they are an empty one.
func ReadArguments(f *wire.Fields, key string) json.RawMessage {
	v := f.Raw(key)
	args := plainArguments(v)
	if args[0] != '{' && !strings.HasPrefix(strings.TrimSpace(unquote(v)), "{") {
		f.Object(key) // says what is wrong
	}
	return args
}

// plainArguments returns v. If v is a string that holds a JSON object, it returns that object,
// because most templates walk through the arguments of a call. If v is absent or null, it returns
// an empty object. Anything else, such as the arguments of a call that was cut, it returns as a string.
func plainArguments(v json.RawMessage) json.RawMessage {
	none := json.RawMessage("{}")
	if len(v) == 0 || string(v) == "null" {
		return none
	}
	var text string
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		inner := bytes.TrimSpace([]byte(text))
		if len(inner) == 0 || string(inner) == "null" {
			return none
		}
		if inner[0] == '{' && wire.CheckText(inner) == nil && json.Valid(inner) {
			return inner
		}
		return v
	}
	if v[0] == '{' {
		return v
	}
	return wire.Quote(string(v))
}

// WholeMembers returns a JSON object that may have no end, with only the members that are whole. A
// number at the end may go on, so it is none of them.
func WholeMembers(text []byte) json.RawMessage {
	var out wire.Members
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return out.JSON()
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil ||
			wire.IsNumber(v) && d.InputOffset() == int64(len(text)) {
			break
		}
		out = append(out, wire.Member{Key: key, Value: v})
	}
	return out.JSON()
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
	if m.broken > 0 && !form.AnyArguments {
		calls = withArguments(calls, wholeArguments)
	}
	if form.Written != (dialect.WrittenCalls{}) {
		text, calls = withCalls(text, calls, form.Written), nil
	}
	dst = wire.AppendString(append(dst, `{"role":`...), m.Role)
	if dst = append(dst, `,"content":`...); text == "" && calls != nil && form.NullContent {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, text)
	}
	if form.TextArguments {
		calls = withArguments(calls, textArguments)
	}
	if calls != nil {
		dst = append(append(dst, `,"tool_calls":`...), wire.JoinValues(calls)...)
	}
	for _, x := range m.more {
		if x.Key == thoughtName {
			if form.Thought == "thinking" && calls != nil && text != "" {
				continue
			}
			x.Key = form.Thought
		}
		dst = x.AppendTo(append(dst, ','))
	}
	return append(dst, '}')
}

// withCalls returns a text and the calls after it, as the model writes them.
func withCalls(text string, calls []json.RawMessage, form dialect.WrittenCalls) string {
	var objects [][]byte
	for _, raw := range calls {
		_, function := readCall(raw)
		arguments := []byte(function.Get("arguments"))
		if text := ""; json.Unmarshal(arguments, &text) == nil { // they are no JSON, and stay
			arguments = []byte(text)
		}
		objects = append(objects, dialect.CallObject(unquote(function.Get("name")), arguments))
	}
	return string(form.Append([]byte(text), objects...))
}

// withArguments returns calls with other arguments.
func withArguments(calls []json.RawMessage, other func(v json.RawMessage) json.RawMessage) (list []json.RawMessage) {
	for _, raw := range calls {
		call, function := readCall(raw)
		function = function.With("arguments", other(function.Get("arguments")))
		list = append(list, call.With("function", function.JSON()).JSON())
	}
	return list
}

// textArguments returns arguments as a string.
func textArguments(v json.RawMessage) json.RawMessage {
	if v[0] == '"' {
		return v
	}
	return wire.Quote(string(v))
}

// wholeArguments returns arguments as an object. Of a string it has the members that are whole.
func wholeArguments(v json.RawMessage) json.RawMessage {
	if v[0] != '"' {
		return v
	}
	text := []byte(unquote(v))
	if wire.CheckText(text) != nil {
		text = nil
	}
	return WholeMembers(text)
}
