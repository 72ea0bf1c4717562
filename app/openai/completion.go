package openai

import (
	"encoding/json"

	"tandem/app/api"
	"tandem/app/wire"
)

// maxLegacyLogprobs is the older API's limit.
const maxLegacyLogprobs = 5

// A completionRequest is the body of /v1/completions.
type completionRequest struct{ api.Completion }

func readCompletion(f *wire.Fields) (api.Request, error) {
	c := newCompletion(f.As(completionRequestShape))
	c.Fill = c.Suffix != ""
	return c, c.Check(f)
}

// newCompletion reads the fields one by one. Check looks at them together.
func newCompletion(f *wire.Fields) *completionRequest {
	c := &completionRequest{api.Completion{Params: api.Params{PromptParam: "prompt"}}}
	c.Read(f)
	c.MaxTokens = api.ReadLimit(f, "max_tokens")
	if n := f.Whole("logprobs"); n != nil {
		c.Logprobs, c.TopLogprobs = true, *n
	}
	c.KeepPrompt = f.Bool("echo")
	c.PromptLogprobs = c.KeepPrompt && c.Logprobs
	c.ReadBestOf(f)
	c.readPrompt(f)
	c.Suffix = f.String("suffix")
	api.RefuseForms(f, "response_format")
	return c
}

func (c *completionRequest) Check(f *wire.Fields) error {
	if c.Fill && len(c.Texts) == 0 {
		f.Fail("suffix", "needs the prompt as text.")
	}
	if c.Fill && c.KeepPrompt {
		f.Fail("echo", "cannot be combined with suffix.")
	}
	return f.Err()
}

// readTexts reads the texts of a field in their four forms: one text, several, the token ids of
// one, and a list of such lists.
func readTexts(f *wire.Fields, key string) (texts []string, tokens []json.RawMessage) {
	const what = "must be a string, a list of strings, a list of token ids or a list of such lists, " +
		"and not empty."
	v := f.Raw(key)
	if v == nil {
		f.FailMissing(key)
		return nil, nil
	}
	first, n := wire.FirstValues(v, 1)
	switch {
	case v[0] == '"':
		texts = []string{f.String(key)}
	case n <= 0:
		f.Fail(key, what)
	case first[0][0] == '"':
		texts = f.Strings(key)
	case first[0][0] == '[':
		tokens = f.List(key, what)
	default: // the ids are read when the context is known
		tokens = []json.RawMessage{v}
	}
	return texts, tokens
}

func (c *completionRequest) readPrompt(f *wire.Fields) {
	c.Texts, c.Tokens = readTexts(f, "prompt")
	c.Several = max(len(c.Texts), len(c.Tokens))
	if n := c.Continuations(); n > api.MaxChoices {
		f.Fail("prompt",
			"asks for %d continuations (prompts times n, or best_of); %d are allowed in one "+
				"request.", n, api.MaxChoices)
	}
}

func (c *completionRequest) Format() api.ReplyFormat {
	return choicesFormat{objects: completionObjects{}}
}
