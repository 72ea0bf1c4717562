package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// A Completion is a request whose prompts are texts or tokens that no template changes.
type Completion struct {
	Params
	Texts  []string          // prompts as text, or
	Tokens []json.RawMessage // as lists of token ids
	Suffix string
	Fill   bool // asks for the text before suffix, by the model's fill-in-the-middle tokens
}

func (c *Completion) Common() *Params { return &c.Params }
func (*Completion) Offers() *Toolbox  { return nil }

func (c *Completion) Prompts(ctx context.Context, m model.Model) ([]*Prompt, error) {
	var out []*Prompt
	for i, v := range c.Tokens {
		param := "prompt"
		if len(c.Tokens) > 1 {
			param = fmt.Sprintf("prompt[%d]", i)
		}
		ids, err := TokenIDs(v, m, param)
		if err != nil {
			return nil, err
		}
		p := &Prompt{IDs: ids}
		if c.KeepPrompt {
			p.Text = m.Tokenizer().Decode(ids)
		}
		out = append(out, p)
	}
	for _, text := range c.Texts {
		if err := CheckLength(m, c.PromptParam, len(text)+len(c.Suffix)); err != nil {
			return nil, err
		}
		if !c.Fill {
			ids, err := EncodeAlone(m.Tokenizer(), text)
			if err != nil {
				return nil, err
			}
			p := &Prompt{IDs: ids, Text: text}
			if c.PromptLogprobs {
				if lead, ok := strings.CutSuffix(m.Tokenizer().Decode(p.IDs), text); ok {
					p.Lead = utf8.RuneCountInString(lead)
				}
			}
			out = append(out, p)
			continue
		}
		fim, ok := m.Tokenizer().FIM()
		if !ok {
			return nil, wire.Invalid("suffix",
				"The model %s has no fill-in-the-middle tokens; send the prompt without a suffix.",
				control.Word(m.ID()))
		}
		p, err := fillPrompt(m, fim, text, c.Suffix)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// EncodeAlone returns the tokens of a whole prompt, with those that the tokenizer puts around it, such
// as a BOS. If a client's own template wrote the BOS already, none is added.
func EncodeAlone(t model.Tokenizer, text string) ([]int32, error) {
	ids, err := t.Encode(text, true)
	if err != nil || len(ids) < 2 || !slices.Contains(ids[1:min(len(ids), maxLead+1)], ids[0]) {
		return ids, err
	}
	lead, _, err := marksOf(t)
	if err != nil {
		return nil, err
	}
	if n := len(lead); 2*n <= len(ids) && slices.Equal(ids[n:2*n], lead) {
		return ids[n:], nil
	}
	return ids, nil
}

// maxLead bounds the tokens before a text. Tokenizers have one or two.
const maxLead = 8

// marksOf returns the special tokens that a tokenizer adds before and after a text.
func marksOf(t model.Tokenizer) (lead, tail []int32, err error) {
	const text = "a"
	whole, err := t.Encode(text, true)
	if err != nil {
		return nil, nil, err
	}
	bare, err := t.Encode(text, false)
	if err != nil || len(bare) == 0 {
		return nil, nil, err
	}
	for n := range len(whole) - len(bare) + 1 {
		if end := n + len(bare); slices.Equal(whole[n:end], bare) {
			return whole[:n], whole[end:], nil
		}
	}
	return nil, nil, nil
}

// beforeGap is how many tokens before a gap are remembered with what filled it: as many as a drafter
// compares.
const beforeGap = 32

// fillPrompt returns a prompt that asks for the text between prefix and suffix. Both are plain text,
// whatever tokens they spell.
func fillPrompt(m model.Model, fim model.FIM, prefix, suffix string) (*Prompt, error) {
	p := &Prompt{before: []int32{}}
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
		if i == 1 {
			p.before = append(p.before, ids[max(0, len(ids)-beforeGap):]...)
		}
		p.IDs = append(p.IDs, ids...)
	}
	return p, nil
}
