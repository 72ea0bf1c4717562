package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// A chatRequest is the body of /v1/chat/completions.
type chatRequest struct{ api.Conversation }

func readChat(f *wire.Fields) (api.Request, error) {
	f.As(chatRequestShape)
	c := &chatRequest{api.Conversation{Params: api.Params{PromptParam: "messages"}}}
	c.Read(f)
	c.MaxTokens = api.ReadLimit(f, "max_tokens")
	if n := api.ReadLimit(f, "max_completion_tokens"); n != nil {
		c.MaxTokens = n
	}
	c.Logprobs = f.Bool("logprobs")
	if n := f.Whole("top_logprobs"); n != nil {
		if *n > 0 && !c.Logprobs {
			f.Fail("top_logprobs", "needs logprobs to be true.")
		}
		c.TopLogprobs = *n
	}
	c.Prediction = readPrediction(f)
	checkOutput(f)
	api.RefuseForms(f, "response_format")

	goesOn := f.Bool("continue_final_message")
	for m := range api.EachMessage(f) {
		c.Messages = append(c.Messages, api.ReadMessage(m, false))
		// Of the messages the last decides, in Mistral's words or in Moonshot's.
		c.ContinueFinal = goesOn || m.Bool("prefix") || m.Bool("partial")
	}
	c.Tools = api.ReadTools(f)
	c.Thinking = api.ReadThinking(f)
	c.Kwargs = f.Raw("chat_template_kwargs")
	if f.Err() != nil {
		return nil, f.Err()
	}
	return c, c.Complete()
}

// checkOutput refuses fields that would change the kind of the answer.
func checkOutput(f *wire.Fields) {
	for _, key := range []string{"audio", "moderation", "web_search_options"} {
		if f.Raw(key) != nil {
			f.Fail(key, "is not supported: the answer is text from the model alone.")
		}
	}
	if f.Raw("modalities") == nil {
		return
	}
	for _, m := range f.Strings("modalities") {
		if m != "text" {
			f.Fail("modalities", "holds %q; only \"text\" is supported.", wire.Clip(m))
		}
	}
}

// readPrediction returns the text that the client expects to be generated.
func readPrediction(f *wire.Fields) string {
	o := f.Object("prediction")
	if o == nil {
		return ""
	}
	if t := o.String("type"); t != "content" {
		o.Fail("type", "must be \"content\", not %q.", wire.Clip(t))
	}
	if o.Raw("content") == nil {
		o.FailMissing("content")
	}
	text := api.ReadContent(o, "content", nil)
	return text
}

func (c *chatRequest) Format() api.ReplyFormat {
	return choicesFormat{objects: chatObjects{c.Tools.Functions, c.Tools.Custom}}
}
