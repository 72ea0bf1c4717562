package model

import "encoding/json"

// A Grammar says which texts an answer may be. One of JSON, Lark and Regex is set.
type Grammar struct {
	JSON  json.RawMessage `json:"json,omitempty"`  // a JSON schema
	Lark  string          `json:"lark,omitempty"`  // rules, see package native
	Regex string          `json:"regex,omitempty"` // of the whole text

	// Around has the rules of an answer in which this is a part, @answer.
	Around string `json:"around,omitempty"`

	// Tools has the tool of each rule that holds a call of one, for errors.
	Tools map[string]string `json:"-"`
}
