package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"tandem/app/model"
)

// A completionRequest is the body of /v1/completions.
type completionRequest struct {
	params
	texts  []string          // prompts as text, or
	tokens []json.RawMessage // as lists of token ids
	suffix string
	fill   bool // what stands before suffix, by the model's tokens for that
}

// maxLegacyLogprobs is the older API's bound.
const maxLegacyLogprobs = 5

func readCompletion(f *fields) (request, error) {
	c := newCompletion(f)
	c.fill = c.suffix != ""
	return c, c.check(f)
}

// newCompletion reads the fields one by one; check looks at them together.
func newCompletion(f *fields) *completionRequest {
	c := &completionRequest{params: params{promptParam: "prompt"}}
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

// common implements request.
func (c *completionRequest) common() *params { return &c.params }

// form implements request.
func (c *completionRequest) form() form { return choicesForm{members: completionMembers{}} }

// prompts implements request.
func (c *completionRequest) prompts(m model.Model) ([]*prompt, error) {
	var out []*prompt
	for i, v := range c.tokens {
		param := "prompt"
		if len(c.tokens) > 1 {
			param = fmt.Sprintf("prompt[%d]", i)
		}
		ids, err := tokenIDs(v, m.VocabSize(), param)
		if err != nil {
			return nil, err
		}
		p := &prompt{ids: ids}
		if c.keepPrompt {
			p.text = m.Tokenizer().Decode(ids)
		}
		out = append(out, p)
	}
	for _, text := range c.texts {
		if err := checkLength(m, c.promptParam, len(text)+len(c.suffix)); err != nil {
			return nil, err
		}
		if !c.fill {
			ids, err := m.Tokenizer().Encode(text, true)
			if err != nil {
				return nil, err
			}
			p := &prompt{ids: ids, text: text}
			if c.promptLogprobs {
				if lead, ok := strings.CutSuffix(m.Tokenizer().Decode(p.ids), text); ok {
					p.lead = utf8.RuneCountInString(lead)
				}
			}
			out = append(out, p)
			continue
		}
		fim, ok := m.Tokenizer().FIM()
		if !ok {
			return nil, invalid("suffix", "The model %s has no fill-in-the-middle tokens; send the prompt without a suffix.", m.ID())
		}
		ids, err := encodeFIM(m, fim, text, c.suffix)
		if err != nil {
			return nil, err
		}
		out = append(out, &prompt{ids: ids})
	}
	return out, nil
}

// encodeFIM asks for what stands between prefix and suffix, which are plain
// text, whatever tokens they spell.
func encodeFIM(m model.Model, fim model.FIM, prefix, suffix string) ([]int32, error) {
	var out []int32
	for i, part := range [...]string{fim.Prefix, prefix, fim.Suffix, suffix, fim.Middle} {
		var ids []int32
		var err error
		if i%2 == 1 {
			ids, err = m.Tokenizer().EncodePlain(part)
		} else {
			ids, err = m.Tokenizer().Encode(part, i == 0)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	return out, nil
}
