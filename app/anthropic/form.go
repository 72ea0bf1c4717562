package anthropic

import (
	"context"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A messageForm is the form of Anthropic's messages, which have one choice.
type messageForm struct{ wire.ServerSent }

func (messageForm) IDPrefix() string { return "msg_" }

// AppendFailure implements wire.Framing.
func (m messageForm) AppendFailure(dst []byte, f wire.Failure) []byte {
	_, body := wire.AnthropicFailure(f)
	return m.AppendEvent(dst, "error", body)
}

// AppendSilence implements wire.Framing. It sends a ping, which may come at any time, also before
// the message begins.
func (m messageForm) AppendSilence(dst []byte) []byte {
	return m.AppendEvent(dst, "ping", []byte(`{"type":"ping"}`))
}

// signature is the signature of every thought. Programs send it back with the thought, and Tandem
// does not check it.
const signature = "VGFuZGVt"

// MessageUsage counts tokens. Cached tokens are not part of the input.
type MessageUsage struct {
	Input        int `json:"input_tokens" doc:"That were computed."`
	CacheCreated int `json:"cache_creation_input_tokens"` // always 0: Tandem charges nothing for it
	CacheRead    int `json:"cache_read_input_tokens"`
	Output       int `json:"output_tokens"`
	Details      struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func messageUsageOf(r *api.Reply) MessageUsage {
	t := r.Total()
	u := MessageUsage{Input: t.PromptTokens - t.CachedTokens, CacheRead: t.CachedTokens,
		Output: t.CompletionTokens}
	u.Details.Thinking = t.Thoughts
	return u
}

// silent is the only block of an answer without words: programs look for the first block.
var silent = api.Block{Kind: dialect.Text}

// Whole implements api.Form.
func (m messageForm) Whole(r *api.Reply) []byte {
	c := r.Choices[0]
	b := m.appendHead(nil, r)
	for i := range c.Answer.Blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &c.Answer.Blocks[i])
	}
	if len(c.Answer.Blocks) == 0 {
		b = appendBlock(b, &silent)
	}
	b = m.appendStop(append(b, "],"...), r, c)
	b = wire.AppendMember(b, "usage", messageUsageOf(r))
	b = wire.AppendMember(b, "timings", r.Timings())
	return append(b, '}')
}

// appendHead appends a message up to its content.
func (messageForm) appendHead(dst []byte, r *api.Reply) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), r.ID)
	dst = wire.AppendString(append(dst, `,"type":"message","role":"assistant","model":`...),
		r.Model.ID())
	return append(dst, `,"content":[`...)
}

// appendBlock appends a block that has ended.
func appendBlock(dst []byte, b *api.Block) []byte {
	switch b.Kind {
	case dialect.Reasoning:
		dst = wire.AppendString(append(dst, `{"type":"thinking","thinking":`...), string(b.Text))
		dst = wire.AppendString(append(dst, `,"signature":`...), signature)
	case dialect.Call:
		dst = append(appendToolUse(dst, b), inputOf(b)...)
	default:
		dst = wire.AppendString(append(dst, `{"type":"text","text":`...), string(b.Text))
	}
	return append(dst, '}')
}

// appendToolUse appends a call up to its input.
func appendToolUse(dst []byte, b *api.Block) []byte {
	dst = wire.AppendString(append(dst, `{"type":"tool_use","id":`...), b.ID)
	dst = wire.AppendString(append(dst, `,"name":`...), b.Name)
	return append(dst, `,"input":`...)
}

// inputOf returns a call's arguments. If they were cut off, it returns only the complete members,
// as the vendor's libraries do with a stream. The stop reason says that the rest is missing.
func inputOf(b *api.Block) []byte {
	if b.Complete() {
		return b.Text
	}
	return api.WholeMembers(b.Text)
}

// appendStop appends the reason why a choice ended.
func (messageForm) appendStop(dst []byte, r *api.Reply, c *api.Choice) []byte {
	dst = wire.AppendString(append(dst, `"stop_reason":`...), stopReason(r, c))
	if c.Stopped == "" {
		return append(dst, `,"stop_sequence":null`...)
	}
	return wire.AppendString(append(dst, `,"stop_sequence":`...), c.Stopped)
}

// stopReason returns the reason in Anthropic's words. A run that is cancelled from the menu ends
// like one that a limit cuts short.
func stopReason(r *api.Reply, c *api.Choice) string {
	switch room := r.Model.ContextLength() - len(c.Prompt.IDs); {
	case c.Stopped != "":
		return "stop_sequence"
	case c.Calls():
		return "tool_use"
	case c.Finish == engine.FinishStop:
		return "end_turn"
	case context.Cause(r.Run.Ctx) != wire.ErrRunCancelled && room < *r.Params.MaxTokens:
		return "model_context_window_exceeded"
	}
	return "max_tokens"
}
