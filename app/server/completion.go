package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"tandem/app/model"
)

// A completion is a request whose prompts are texts or tokens, as they are.
type completion struct {
	params
	texts  []string          // prompts as text, or
	tokens []json.RawMessage // as lists of token ids
	suffix string
	fill   bool // what stands before suffix, by the model's tokens for that
}

// common implements request.
func (c *completion) common() *params { return &c.params }

// prompts implements request.
func (c *completion) prompts(m model.Model) ([]*prompt, error) {
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
