package nn

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Unfinite stands for NaN and Infinity in a config.json that was made readable by package models.
// No float64 holds it, so a field that is read refuses it, and all others pass it over.
const Unfinite = "1e999"

// ReadConfig reads config.json, or a part of it, into v.
func ReadConfig(config []byte, v any) error {
	err := json.Unmarshal(config, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok &&
		wrong.Value == "number "+Unfinite {
		return fmt.Errorf("config.json: %s is NaN or Infinity, which no model can compute with",
			wrong.Field)
	}
	if err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	return nil
}

// ReadTextConfig reads what config.json says of the text model into v: its text_config, or all of it
// where there is none. It returns what all of it says of the head.
func ReadTextConfig(config []byte, v any) (head HeadArgs, err error) {
	var outer struct {
		HeadArgs
		TextConfig json.RawMessage `json:"text_config"`
	}
	if err := ReadConfig(config, &outer); err != nil {
		return head, err
	}
	if len(outer.TextConfig) > 0 {
		config = outer.TextConfig
	}
	return outer.HeadArgs, ReadConfig(config, v)
}
