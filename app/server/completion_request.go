package server

import (
	"encoding/json"
	"math"
)

// maxLegacyLogprobs is the older API's bound.
const maxLegacyLogprobs = 5

// A completionRequest is the body of /v1/completions.
type completionRequest struct{ completion }

func readCompletion(f *fields) (request, error) {
	c := newCompletion(f)
	c.fill = c.suffix != ""
	return c, c.check(f)
}

// newCompletion reads the fields one by one; check looks at them together.
func newCompletion(f *fields) *completionRequest {
	c := &completionRequest{completion{params: params{promptParam: "prompt"}}}
	c.read(f)
	c.maxTokens = f.int("max_tokens", 0, math.MaxInt32)
	if n := f.int("logprobs", 0, maxLegacyLogprobs); n != nil {
		c.logprobs, c.topLogprobs = true, *n
	}
	c.keepPrompt = f.bool("echo")
	c.promptLogprobs = c.keepPrompt && c.logprobs
	c.readBestOf(f)
	c.readPrompt(f)
	c.suffix = f.string("suffix")
	return c
}

func (c *completionRequest) check(f *fields) error {
	if c.fill && len(c.texts) == 0 {
		f.fail("suffix", "needs the prompt as text.")
	}
	if c.fill && c.keepPrompt {
		f.fail("echo", "cannot be combined with suffix.")
	}
	return f.err
}

// readPrompt takes the four forms of a prompt.
func (c *completionRequest) readPrompt(f *fields) {
	v := f.raw("prompt")
	var list []json.RawMessage
	switch {
	case v == nil:
		f.fail("prompt", "is missing.")
	case v[0] == '"':
		c.texts = []string{f.string("prompt")}
	case json.Unmarshal(v, &list) != nil || len(list) == 0:
		f.fail("prompt", "must be a string, a list of strings, a list of token ids or a list of such lists, and not empty.")
	case list[0][0] == '"':
		c.texts = f.strings("prompt")
	case list[0][0] == '[':
		c.tokens = list
	default:
		c.tokens = []json.RawMessage{v}
	}
	c.several = max(len(c.texts), len(c.tokens))
	if n := c.continuations(); n > maxChoices {
		f.fail("prompt", "asks for %d continuations (prompts times n, or best_of); %d are allowed in one request.", n, maxChoices)
	}
}

// form implements request.
func (c *completionRequest) form() form { return choicesForm{members: completionMembers{}} }
