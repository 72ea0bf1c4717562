package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
)

// template has the tokens that the post-processor puts around the tokens of a text.
type template struct {
	prefix, suffix []int32
	set            bool
}

// parse reads the post-processor.
func (t *template) parse(raw json.RawMessage, depth int) error {
	if absent(raw) {
		return nil
	}
	name, err := typeOf("post_processor", raw)
	if err != nil {
		return err
	}
	where := "post_processor " + name
	switch name {
	case "Sequence":
		var c struct {
			Processors []json.RawMessage `json:"processors"`
		}
		if err := component(where, raw, &c); err != nil {
			return err
		}
		if depth >= maxDepth || len(c.Processors) > maxStages {
			return tooLarge(where,
				"there are more than %d processors or %d sequences in each other",
				maxStages, maxDepth)
		}
		for _, sub := range c.Processors {
			if err := t.parse(sub, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "ByteLevel": // trims offsets, which this package does not return
		_, err := parseByteLevel(where, raw)
		return err
	case "TemplateProcessing":
		return t.wrap(where, raw)
	case "BertProcessing", "RobertaProcessing":
		return t.enclose(where, raw)
	}
	return unsupported("post_processor", name)
}

// enclose reads the token before a text and the one after it, each with its id.
func (t *template) enclose(where string, raw json.RawMessage) error {
	type token struct {
		text string
		id   int32
	}
	read := func(pair []json.RawMessage, v *token) error {
		if len(pair) != 2 {
			return errors.New("not a pair")
		}
		return errors.Join(json.Unmarshal(pair[0], &v.text), json.Unmarshal(pair[1], &v.id))
	}
	var c struct {
		CLS []json.RawMessage `json:"cls"`
		SEP []json.RawMessage `json:"sep"`
	}
	if err := component(where, raw, &c); err != nil {
		return err
	}
	var cls, sep token
	if err := cmp.Or(read(c.CLS, &cls), read(c.SEP, &sep)); err != nil {
		return invalid(where, "cls or sep is not a token and its id")
	}
	return t.fill(where, []int32{cls.id}, []int32{sep.id})
}

// fill sets the template, which must be the only one.
func (t *template) fill(where string, prefix, suffix []int32) error {
	if t.set {
		// The reference takes the tokens of the first template for a text of their own.
		return unsupported(where, "a second template")
	}
	*t = template{prefix, suffix, true}
	return nil
}

func (t *template) wrap(where string, raw json.RawMessage) error {
	type part struct {
		ID     string `json:"id"`
		TypeID int    `json:"type_id"`
	}
	var c struct {
		Single []struct {
			Sequence     *part `json:"Sequence"`
			SpecialToken *part `json:"SpecialToken"`
		} `json:"single"`
		Pair          json.RawMessage `json:"pair"` // for two texts; not used
		SpecialTokens map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := component(where, raw, &c); err != nil {
		return err
	}
	var prefix, suffix []int32
	texts := 0
	for _, p := range c.Single {
		switch {
		case p.Sequence != nil && p.SpecialToken == nil && p.Sequence.ID == "A":
			texts++
		case p.SpecialToken != nil && p.Sequence == nil:
			token, ok := c.SpecialTokens[p.SpecialToken.ID]
			if !ok {
				return invalid(where, "special token %q has no ids", p.SpecialToken.ID)
			}
			side := &prefix
			if texts > 0 {
				side = &suffix
			}
			// Parts and ids multiply, so the limit is looked at before they are joined.
			if len(*side)+len(token.IDs) > maxSpecials {
				return tooLarge(where, "it adds more than %d tokens", maxSpecials)
			}
			*side = append(*side, token.IDs...)
		default:
			return unsupported(where,
				"a template for one text with other parts than $A and special tokens")
		}
	}
	if texts != 1 {
		return unsupported(where, "a template for one text without exactly one $A")
	}
	return t.fill(where, prefix, suffix)
}
