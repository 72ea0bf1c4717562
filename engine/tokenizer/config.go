package tokenizer

import (
	"encoding/json"
	"slices"
	"strconv"
)

// config has the fields of tokenizer_config.json that change the ids. The other fields are for the
// libraries that wrote the file.
type config struct {
	BOS         tokenName             `json:"bos_token"`
	EOS         tokenName             `json:"eos_token"`
	AddBOS      *bool                 `json:"add_bos_token"`
	AddEOS      *bool                 `json:"add_eos_token"`
	AddedTokens map[string]addedToken `json:"added_tokens_decoder"` // by id
}

// tokenName is a token given as its text or as an object that holds it.
type tokenName string

func (n *tokenName) UnmarshalJSON(data []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*n = tokenName(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(n))
}

func parseConfig(data []byte) (*config, error) {
	var c config
	if len(data) == 0 {
		return &c, nil
	}
	if len(data) > maxFileBytes {
		return nil, tooLarge("tokenizer_config.json",
			"it has %d bytes; the limit is %d", len(data), maxFileBytes)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, invalid("tokenizer_config.json", "%v; download the file again", err)
	}
	if len(c.AddedTokens) > maxAdded {
		return nil, tooLarge("tokenizer_config.json",
			"there are %d added tokens; the limit is %d", len(c.AddedTokens), maxAdded)
	}
	return &c, nil
}

// added returns the added tokens, sorted by id.
func (c *config) added() ([]addedToken, error) {
	var out []addedToken
	for key, token := range c.AddedTokens {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return nil, invalid("tokenizer_config.json",
				"added_tokens_decoder has the key %q, which is not an id", key)
		}
		token.ID = id
		out = append(out, token)
	}
	slices.SortFunc(out, func(a, b addedToken) int { return int(a.ID - b.ID) })
	return out, nil
}

// apply lets the configuration override the template's BOS and EOS.
func (c *config) apply(t *Tokenizer) error {
	if c.BOS != "" {
		t.bos, t.hasBOS = t.ID(string(c.BOS))
	}
	if c.EOS != "" {
		t.eos, t.hasEOS = t.ID(string(c.EOS))
	}
	if c.AddBOS != nil {
		if *c.AddBOS && !t.hasBOS {
			return invalid("tokenizer_config.json",
				"add_bos_token is set but bos_token %.40q is not in the vocabulary", c.BOS)
		}
		if t.hasBOS {
			t.template.prefix = setToken(t.template.prefix, t.bos, *c.AddBOS, 0)
		}
	}
	if c.AddEOS != nil {
		if *c.AddEOS && !t.hasEOS {
			return invalid("tokenizer_config.json",
				"add_eos_token is set but eos_token %.40q is not in the vocabulary", c.EOS)
		}
		if t.hasEOS {
			t.template.suffix = setToken(t.template.suffix, t.eos, *c.AddEOS,
				len(t.template.suffix))
		}
	}
	return nil
}

// setToken returns ids with id in them or without it. It inserts id at index at if it is missing.
func setToken(ids []int32, id int32, want bool, at int) []int32 {
	switch {
	case want && !slices.Contains(ids, id):
		return slices.Insert(ids, at, id)
	case !want:
		return slices.DeleteFunc(ids, func(have int32) bool { return have == id })
	}
	return ids
}
