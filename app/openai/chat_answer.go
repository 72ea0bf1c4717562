package openai

import (
	"tandem/app/api"
	"tandem/app/dialect"
	"tandem/app/wire"
	"tandem/engine"
)

// A chatCompletion is the whole answer of /v1/chat/completions.
type chatCompletion struct {
	_       struct{}     `schema:"ChatCompletion"`
	ID      string       `json:"id"`
	Object  string       `json:"object" enum:"chat.completion"`
	Created int64        `json:"created" doc:"Unix seconds."`
	Model   string       `json:"model" doc:"The id."`
	Choices []chatChoice `json:"choices"`
	Usage   api.Usage    `json:"usage"`
	Timings api.Timings  `json:"timings"`
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      chatMessage   `json:"message"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason string        `json:"finish_reason" enum:"stop,length,tool_calls,function_call"`
	extras
}

// A chatMessage has the reasoning under both names that clients read. Its content is null only if
// there are calls in its place.
type chatMessage struct {
	_                struct{}        `schema:"ChatAnswer"`
	Role             string          `json:"role" enum:"assistant"`
	Content          *string         `json:"content"`
	Refusal          wire.AlwaysNull `json:"refusal"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	Reasoning        string          `json:"reasoning,omitempty"`
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
	FunctionCall     *functionCall   `json:"function_call,omitempty"`
}

type toolCall struct {
	_        struct{}      `schema:"ToolCall"`
	ID       string        `json:"id"`
	Type     string        `json:"type" enum:"function,custom"`
	Function *functionCall `json:"function,omitempty"`
	Custom   *customCall   `json:"custom,omitempty"`
}

// A customCall is the call of a tool with a text, or the text of such a call that is streamed.
type customCall struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments" doc:"A JSON object, as text."`
}

// A chatChunk is an event of a streamed answer of /v1/chat/completions.
type chatChunk struct {
	_       struct{}          `schema:"ChatCompletionChunk"`
	ID      string            `json:"id"`
	Object  string            `json:"object" enum:"chat.completion.chunk"`
	Created int64             `json:"created" doc:"Unix seconds."`
	Model   string            `json:"model" doc:"The id."`
	Choices []chatChunkChoice `json:"choices"`
	figures
}

type chatChunkChoice struct {
	Index        int           `json:"index"`
	Delta        chatDelta     `json:"delta"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason" enum:"stop,length,tool_calls,function_call"`
	extras
}

// A chatDelta is what a chunk adds to a message.
type chatDelta struct {
	_                struct{}       `schema:"ChatDelta"`
	Role             string         `json:"role,omitempty" enum:"assistant"`
	Content          *string        `json:"content,omitempty"`
	ReasoningContent *string        `json:"reasoning_content,omitempty"`
	Reasoning        *string        `json:"reasoning,omitempty"`
	ToolCalls        []toolDelta    `json:"tool_calls,omitempty"`
	FunctionCall     *functionDelta `json:"function_call,omitempty"`
}

// A toolDelta is the beginning of a call, or the next piece of its arguments.
type toolDelta struct {
	Index    int            `json:"index"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty" enum:"function,custom"`
	Function *functionDelta `json:"function,omitempty"`
	Custom   *customCall    `json:"custom,omitempty"`
}

type functionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// chatObjects are the objects of chat completions.
type chatObjects struct {
	// functions puts a call where the older API has its only call. It is set for a request that
	// offered functions and not tools.
	functions bool

	custom map[string]bool // see api.Toolbox
}

func (chatObjects) IDPrefix() string { return "chatcmpl-" }

func (o chatObjects) Whole(r *api.Reply) any {
	out := chatCompletion{ID: r.ID, Object: "chat.completion", Created: r.Created, Model: r.Name(),
		Usage: r.Usage(), Timings: r.Timings()}
	for _, c := range r.Shown() {
		choice := chatChoice{Index: c.Index, Message: o.message(c), FinishReason: o.reason(c),
			extras: extrasOf(r, c)}
		if r.Params.Logprobs {
			choice.Logprobs = chatLogprobsOf(r, c.NewlyScored())
		}
		out.Choices = append(out.Choices, choice)
	}
	return out
}

func (o chatObjects) message(c *api.Choice) chatMessage {
	text, calls := c.Answer.Joined(dialect.Text), c.Answer.Calls()
	out := chatMessage{Role: "assistant", Content: &text}
	out.ReasoningContent = c.Answer.Joined(dialect.Reasoning)
	out.Reasoning = out.ReasoningContent
	if text == "" && len(calls) > 0 {
		out.Content = nil
	}
	for _, b := range calls {
		call := functionCall{b.Name, string(b.Text)}
		if o.functions {
			out.FunctionCall = &call
			break
		}
		if o.custom[b.Name] {
			out.ToolCalls = append(out.ToolCalls, toolCall{ID: b.ID, Type: api.CustomTool,
				Custom: &customCall{b.Name, api.CallInput(b.Text)}})
			continue
		}
		out.ToolCalls = append(out.ToolCalls, toolCall{ID: b.ID, Type: "function", Function: &call})
	}
	return out
}

func (o chatObjects) chunk(r *api.Reply, p piece) any {
	out := chatChunk{ID: r.ID, Object: "chat.completion.chunk", Created: r.Created,
		Model: r.Name(), Choices: []chatChunkChoice{}, figures: p.figures}
	if c := p.choice; c != nil {
		choice := chatChunkChoice{Index: c.Index, Delta: o.delta(p), FinishReason: p.finish,
			extras: p.extras}
		if p.scored != nil {
			choice.Logprobs = chatLogprobsOf(r, p.scored)
		}
		out.Choices = append(out.Choices, choice)
	}
	return out
}

func (o chatObjects) delta(p piece) chatDelta {
	switch text := &p.part.Text; {
	case p.finish != nil:
		return chatDelta{}
	case p.first:
		return chatDelta{Role: "assistant", Content: new("")}
	case p.part.Kind == dialect.Reasoning:
		return chatDelta{ReasoningContent: text, Reasoning: text}
	case p.part.Kind == dialect.Text:
		return chatDelta{Content: text}
	}
	function := &functionDelta{p.part.Name, p.part.Text}
	if o.functions {
		return chatDelta{FunctionCall: function}
	}
	call, b := toolDelta{Index: p.part.Index}, p.choice.Answer.Call(p.part.Index)
	if p.part.Kind == dialect.Call {
		call.ID, call.Type = b.ID, "function"
	}
	switch {
	case !o.custom[b.Name]:
		call.Function = function
	case p.part.Kind == dialect.Call:
		call.Type, call.Custom = api.CustomTool, &customCall{Name: b.Name}
	default: // all arguments of a call come in one part
		call.Custom = &customCall{Input: api.CallInput(b.Text)}
	}
	return chatDelta{ToolCalls: []toolDelta{call}}
}

func (chatObjects) opens(*api.Choice) bool { return true }

// scored returns the tokens of the content. Thoughts and calls are not in the list.
func (chatObjects) scored(c *api.Choice, _ []engine.Token) []engine.Token { return c.NewlyScored() }

// reason returns the engine's finish reason, or the name for calls if the model waits for what they
// return.
func (o chatObjects) reason(c *api.Choice) string {
	switch {
	case !c.Calls():
		return string(c.Finish)
	case o.functions:
		return "function_call"
	}
	return "tool_calls"
}
