package roomtest

import (
	"encoding/json"
	"strings"
	"testing"

	"tandem/app/anthropic"
	"tandem/app/api"
)

// A MessageBlock is a content block of a message.
type MessageBlock struct {
	Type, Text, Thinking, Signature, ID, Name string
	Input                                     json.RawMessage
}

func (b MessageBlock) String() string {
	switch b.Type {
	case "text":
		return "text " + b.Text
	case "thinking":
		return "thinking " + b.Thinking
	}
	return b.Type + " " + b.Name + string(b.Input)
}

// A MessageReply is a message.
type MessageReply struct {
	ID, Type, Role, Model string
	Content               []MessageBlock
	StopReason            *string `json:"stop_reason"`
	StopSequence          *string `json:"stop_sequence"`
	Usage                 anthropic.MessageUsage
	Timings               *api.Timings
}

// String returns the content of a reply and why it ended.
func (r MessageReply) String() string {
	var parts []string
	for _, b := range r.Content {
		parts = append(parts, b.String())
	}
	parts = append(parts, Value(r.StopReason))
	if r.StopSequence != nil {
		parts = append(parts, *r.StopSequence)
	}
	return strings.Join(parts, "|")
}

// A MessageEvent is one event of a stream.
type MessageEvent struct {
	Type         string
	Index        *int
	Message      *MessageReply
	ContentBlock *MessageBlock `json:"content_block"`
	Delta        *struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string  `json:"partial_json"`
		StopReason                      *string `json:"stop_reason"`
		StopSequence                    *string `json:"stop_sequence"`
	}
	Usage   *anthropic.MessageUsage
	Timings *api.Timings
	Error   *struct{ Type, Message string }
}

// ReadMessageEvents reads a stream. Its events have the names of their types.
func ReadMessageEvents(t testing.TB, body string) (list []MessageEvent) {
	t.Helper()
	for chunk := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(chunk, "\ndata: ")
		var e MessageEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type ||
			strings.Contains(data, "\n") {
			t.Fatalf("an event %q: %v", chunk, err)
		}
		list = append(list, e)
	}
	return list
}

// JoinMessage joins the events of a stream as clients do, and checks their order.
func JoinMessage(t testing.TB, events []MessageEvent) (r MessageReply) {
	t.Helper()
	fail := func(e MessageEvent) {
		t.Fatalf("event %+v after %v of %d blocks", e, r.StopReason, len(r.Content))
	}
	open, ended := false, false
	var input string
	for i, e := range events {
		if (i == 0) != (e.Type == "message_start") || ended {
			fail(e)
		}
		block := func() *MessageBlock {
			if !open || *e.Index != len(r.Content)-1 {
				fail(e)
			}
			return &r.Content[*e.Index]
		}
		switch e.Type {
		case "message_start":
			r = *e.Message
			if r.Content == nil || len(r.Content) > 0 || r.StopReason != nil ||
				r.Usage.Input == 0 || r.Usage.Output != 0 {
				fail(e)
			}
		case "content_block_start":
			if open || *e.Index != len(r.Content) || r.StopReason != nil ||
				e.ContentBlock.Text+e.ContentBlock.Thinking+e.ContentBlock.Signature != "" ||
				(e.ContentBlock.Type == "tool_use") != (string(e.ContentBlock.Input) == "{}") {
				fail(e)
			}
			r.Content = append(r.Content, *e.ContentBlock)
			open, input = true, ""
		case "content_block_delta":
			b := block()
			switch d := e.Delta; b.Type + " " + d.Type {
			case "text text_delta":
				b.Text += d.Text
			case "thinking thinking_delta":
				b.Thinking += d.Thinking
			case "thinking signature_delta":
				b.Signature = d.Signature
			case "tool_use input_json_delta":
				input += d.PartialJSON
			default:
				fail(e)
			}
		case "content_block_stop":
			if b := block(); b.Type == "tool_use" {
				b.Input = json.RawMessage(input)
			}
			open = false
		case "message_delta":
			if open || r.StopReason != nil || e.Delta.StopReason == nil {
				fail(e)
			}
			r.StopReason, r.StopSequence, r.Usage, r.Timings = e.Delta.StopReason,
				e.Delta.StopSequence, *e.Usage, e.Timings
		case "message_stop":
			ended = r.StopReason != nil
		default:
			fail(e)
		}
	}
	if !ended {
		t.Fatalf("a stream without an end: %+v", r)
	}
	return r
}
