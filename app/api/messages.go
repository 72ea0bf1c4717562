package api

import (
	"encoding/json"
	"iter"
	"slices"

	"tandem/app/wire"
)

// EachMessage yields the messages of a body. A body without messages is an error. The error of a
// message ends the list and becomes the body's.
func EachMessage(f *wire.Fields) iter.Seq[*wire.Fields] {
	const what = "must be a list of at least one message."
	list := f.List("messages", what)
	if len(list) == 0 {
		f.Fail("messages", what)
	}
	return func(yield func(*wire.Fields) bool) {
		for m := range f.Items("messages", list) {
			if m.Omitted = new(wire.Omissions); !yield(m) {
				return
			}
		}
	}
}

// ReadMessage reads one message of a chat and keeps its order of members. It turns newer and older
// forms of the protocol into the one that templates know. The role developer becomes system and
// function becomes tool. Content becomes text and arguments become objects. silent says that every message may
// leave out an empty content.
func ReadMessage(m *wire.Fields, silent bool) Message {
	m.As(ChatMessageShape)
	role := m.NeededWord("role")
	switch role {
	case "developer":
		role = "system"
	case "function":
		role = "tool"
	}
	var think func(string)
	out := Message{Role: role, omitted: m.Omitted}
	if role == "assistant" {
		think = out.Think
	}
	out.Say(ReadContent(m, "content", think))
	out.Say(readTranscript(m))
	out.Say(ReadMedia(m))
	if role == "assistant" {
		out.Say(m.String("refusal"))
	}
	thought := out.more != nil // it has one in its content
	out.Calls = readToolCalls(m)
	if needContent(m, &out, silent); m.Err() != nil {
		return out
	}
	for _, x := range m.Members().Without("role", "content", "refusal", "tool_calls", "function_call") {
		if mediaFields[x.Key] != "" {
			continue
		}
		if x.Key == "reasoning" || x.Key == "thinking" { // other servers' names for reasoning_content
			if m.Raw(thoughtName) != nil || x.Key == "thinking" && m.Raw("reasoning") != nil {
				continue
			}
			x.Key = thoughtName
		}
		// SDKs echo every field they know, and a template tests for presence.
		if string(x.Value) != "null" && !(x.Key == thoughtName && thought) {
			out.more = append(out.more, x)
		}
	}
	return out
}

// needContent fails a message without content: its words may be in a field that nothing reads. An answer may
// have calls or a thought in place of content, and some clients send answers of nothing but their role, as any
// message may be if it is silent.
func needContent(m *wire.Fields, out *Message, silent bool) {
	if m.Raw("content") != nil || out.Texts != nil || out.Calls != nil || m.Omitted != nil && m.Omitted.Kinds != nil {
		return
	}
	null := m.Values["content"] != nil
	switch {
	case (silent || out.Role == "assistant") && !slices.ContainsFunc(m.Members(), isUnread):
	case m.String("role") == "function" && null: // OpenAI's older results may have none
	default:
		m.FailMissing("content")
	}
}

// isUnread reports whether a member of a message may have words that nothing reads.
func isUnread(x wire.Member) bool {
	known := append(ChatMessageShape.Names(), "id", "thinking", "annotations", "cache_control", "reasoning_details")
	return !slices.Contains(known, x.Key) && !wire.SaysNothing(x.Value)
}

// readTranscript returns the words of an answer in sound.
func readTranscript(m *wire.Fields) string {
	const key = "audio"
	if v := m.Raw(key); v == nil || v[0] != '{' {
		return ""
	}
	o := m.Object(key)
	if o == nil {
		return ""
	}
	text := o.String("transcript")
	if text != "" {
		m.Rename(map[string]string{key: ""}) // its sound says the same
	}
	return text
}

// readToolCalls returns the calls of an assistant's message, each with arguments that are an object
// if they parse. A call without arguments has an empty object: templates walk through it.
func readToolCalls(m *wire.Fields) (calls []json.RawMessage) {
	const param = "tool_calls"
	v := m.Raw(param)
	if v == nil {
		return readFunctionCall(m)
	}
	for call := range m.Items(param, m.List(param, "must be a list.")) {
		calls = append(calls, readToolCall(call))
	}
	return calls
}

// readToolCall returns one call, one of a custom tool as one of a function. Some clients write its
// function's members beside its id.
func readToolCall(c *wire.Fields) json.RawMessage {
	kind := c.String("type")
	if (kind == CustomTool || kind == "" && c.Raw("custom") != nil) && c.Raw("function") == nil {
		return readCustomCall(c)
	}
	fn := c.Object("function")
	if fn != nil {
		return c.Members().With("function", readFunction(fn)).JSON()
	}
	if kind != "" && kind != "function" && c.Raw("function") == nil {
		c.Fail("type", "is \"function\" or \"custom\", not %q.", wire.Clip(kind))
		return nil
	}
	if c.Values["name"] == nil {
		c.FailMissing("function")
		return nil
	}
	call := wire.Members{{Key: "type", Value: wire.Quote("function")}}
	if id := c.Values["id"]; id != nil {
		call = call.With("id", id)
	}
	return call.With("function", readFunction(c.As(nil), "id", "type", "index")).JSON()
}

func readCustomCall(c *wire.Fields) json.RawMessage {
	custom := c.Object("custom")
	if custom == nil {
		custom = c.As(nil)
	}
	function := wire.Members{{Key: "name", Value: wire.Quote(wire.NeededText(custom, "name"))},
		{Key: "arguments", Value: TextArguments(custom.String("input"))}}
	return c.Members().Without("custom", "name", "input", "function").With("type", wire.Quote("function")).
		With("function", function.JSON()).JSON()
}

// readFunctionCall returns function_call, which is the older form of one call.
func readFunctionCall(m *wire.Fields) []json.RawMessage {
	fn := m.Object("function_call")
	if fn == nil {
		return nil
	}
	return []json.RawMessage{wrapFunction(readFunction(fn))}
}

// readFunction returns the function of a call without some members. It fails fn if that has no name.
func readFunction(fn *wire.Fields, without ...string) json.RawMessage {
	wire.NeededText(fn, "name")
	arguments := plainArguments(fn.Values["arguments"])
	return fn.Members().Without(without...).With("arguments", arguments).JSON()
}
