package server

import (
	"math"

	"tandem/engine"
)

// A chatRequest is the body of /v1/chat/completions.
type chatRequest struct{ chat }

func readChat(f *fields) (request, error) {
	c := &chatRequest{chat{params: params{promptParam: "messages"}}}
	c.read(f)
	c.maxTokens = f.int("max_tokens", 0, math.MaxInt32)
	if n := f.int("max_completion_tokens", 0, math.MaxInt32); n != nil {
		c.maxTokens = n
	}
	c.logprobs = f.bool("logprobs")
	if n := f.int("top_logprobs", 0, engine.MaxTopLogprobs); n != nil {
		if *n > 0 && !c.logprobs {
			f.fail("top_logprobs", "needs logprobs to be true.")
		}
		c.topLogprobs = *n
	}
	c.prediction = readPrediction(f)
	checkOutput(f)

	c.messages = readMessages(f)
	c.tools = readTools(f)
	c.thinking = readThinking(f)
	c.kwargs = c.thinking.into(f.raw("chat_template_kwargs"))
	if c.tools.forced && c.grammar != nil {
		f.fail("tool_choice", "asks for a call, which response_format has no room for; leave out one of both.")
	}
	if f.err != nil {
		return nil, f.err
	}
	return c, c.complete()
}

// checkOutput refuses what would change the kind of the answer.
func checkOutput(f *fields) {
	for _, key := range []string{"audio", "web_search_options"} {
		if f.raw(key) != nil {
			f.fail(key, "is not supported: the answer is text from the model alone.")
		}
	}
	if f.raw("modalities") == nil {
		return
	}
	for _, m := range f.strings("modalities") {
		if m != "text" {
			f.fail("modalities", "holds %q; only \"text\" is supported.", clip(m))
		}
	}
}

// readPrediction returns the text that the client expects to be generated.
func readPrediction(f *fields) string {
	o := f.object("prediction")
	if o == nil {
		return ""
	}
	if t := o.string("type"); o.err == nil && t != "content" {
		o.fail("type", "must be \"content\", not %q.", clip(t))
	}
	if o.raw("content") == nil {
		o.fail("content", "is missing.")
	}
	text := readContent(o)
	f.take(o)
	return text
}

// form implements request.
func (c *chatRequest) form() form {
	return choicesForm{members: chatMembers{functions: c.tools.functions}}
}
