package tokenizer

import (
	"encoding/json"
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
			Type       string            `json:"type"`
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
	}
	return unsupported("post_processor", name)
}

func (t *template) wrap(where string, raw json.RawMessage) error {
	type part struct {
		ID     string `json:"id"`
		TypeID int    `json:"type_id"`
	}
	var c struct {
		Type   string `json:"type"`
		Single []struct {
			Sequence     *part `json:"Sequence"`
			SpecialToken *part `json:"SpecialToken"`
		} `json:"single"`
		Pair          json.RawMessage `json:"pair"` // for two texts; not used
		SpecialTokens map[string]struct {
			ID     string   `json:"id"`
			IDs    []int32  `json:"ids"`
			Tokens []string `json:"tokens"`
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
			if texts == 0 {
				prefix = append(prefix, token.IDs...)
			} else {
				suffix = append(suffix, token.IDs...)
			}
		default:
			return unsupported(where,
				"a template for one text with other parts than $A and special tokens")
		}
	}
	if texts != 1 {
		return unsupported(where, "a template for one text without exactly one $A")
	}
	if t.set {
		// The reference takes the tokens of the first template for a text of their own.
		return unsupported(where, "a second template")
	}
	*t = template{prefix, suffix, true}
	if len(t.prefix) > maxSpecials || len(t.suffix) > maxSpecials {
		return tooLarge(where, "it adds more than %d tokens", maxSpecials)
	}
	return nil
}
