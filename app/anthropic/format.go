package anthropic

import (
	"context"

	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A messageFormat is the form of Anthropic's messages, which have one choice.
type messageFormat struct{ wire.ServerSent }

func (messageFormat) IDPrefix() string { return "msg_" }

func (m messageFormat) AppendFailure(dst []byte, f wire.Failure) []byte {
	_, failure := wire.AnthropicFailureOf(f)
	return m.AppendEvent(dst, "error", wire.Encode(failure))
}

func (m messageFormat) AppendSilence(dst []byte) []byte {
	return m.AppendEvent(dst, "ping", wire.Encode(ping{"ping"}))
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

func (messageFormat) Whole(r *api.Reply) any {
	c := r.Choices[0]
	out := message{messageHead: headOf(r), stop: stopOf(r, c), Usage: messageUsageOf(r),
		Timings: r.Timings()}
	for i := range c.Answer.Blocks {
		out.Content = append(out.Content, newBlock(&c.Answer.Blocks[i]))
	}
	if len(c.Answer.Blocks) == 0 {
		out.Content = append(out.Content, newBlock(&silent))
	}
	return out
}

// headOf returns a message up to its content.
func headOf(r *api.Reply) messageHead {
	return messageHead{r.ID, "message", "assistant", r.Model.ID(), []block{}}
}

func stopOf(r *api.Reply, c *api.Choice) stop {
	s := stop{StopReason: stopReason(r, c)}
	if c.Stopped != "" {
		s.StopSequence = &c.Stopped
	}
	return s
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
