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
