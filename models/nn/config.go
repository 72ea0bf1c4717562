package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// NonFinite replaces NaN and Infinity in a config.json that package models reads. No float64 holds
// it, so it is an error in a field that is read, and ignored in all others.
const NonFinite = "1e999"

// ReadConfig reads config.json, or a part of it, into v.
func ReadConfig(config []byte, v any) error {
	err := json.Unmarshal(config, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok &&
		wrong.Value == "number "+NonFinite {
		return fmt.Errorf("config.json: %s is NaN or Infinity, which no model can compute with",
			wrong.Field)
	}
	if err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	return checkFloats(reflect.ValueOf(v), "")
}

// CheckKeys refuses a JSON object with a key that is not known, by a message in which %q names it. A
// null value is ignored.
func CheckKeys(text []byte, message string, known ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, key) && string(fields[key]) != "null" {
			return Unsupported(message, key)
		}
	}
	return nil
}

// Limits of a number that is not 0. A float32 holds it and 1 divided by it.
const (
	minFloat = 1.0 / (1 << 126)
	maxFloat = 1 << 126
)

// checkFloats refuses numbers from which float32 computes 0, Infinity or NaN. name is the name of
// the field that holds v.
func checkFloats(v reflect.Value, name string) error {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if n := math.Abs(v.Float()); n > maxFloat || n > 0 && n < minFloat {
			return fmt.Errorf("config.json: %s is %v, which no float32 computes with", name, v.Float())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkFloats(v.Elem(), name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			inner, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				inner = name
			}
			if err := checkFloats(v.Field(i), inner); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // JSON that was not read yet
		}
		for i := range v.Len() {
			if err := checkFloats(v.Index(i), name); err != nil {
				return err
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if err := checkFloats(value, key.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadTextConfig reads what config.json says about the text model into v: its text_config, or all
// of it. It returns what all of it says about the head.
func ReadTextConfig(config []byte, v any) (head LMHeadArgs, err error) {
	var outer struct {
		LMHeadArgs
		TextConfig json.RawMessage `json:"text_config"`
	}
	if err := ReadConfig(config, &outer); err != nil {
		return head, err
	}
	if len(outer.TextConfig) > 0 {
		config = outer.TextConfig
	}
	return outer.LMHeadArgs, ReadConfig(config, v)
}
