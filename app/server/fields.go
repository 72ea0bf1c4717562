package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tandem/app/control"
)

// fields is a JSON object whose values are read one by one, by exact name, so
// that an error names its field. The first error sticks. A field that is null
// counts as absent, and unknown fields are nobody's business.
type fields struct {
	values map[string]json.RawMessage
	path   string // before the names in errors, e.g. "messages[0]."
	err    error
}

// parseFields reads one object and nothing after it.
func parseFields(b []byte, path string) (*fields, error) {
	where := "The body"
	if path != "" {
		where = strings.TrimSuffix(path, ".")
	}
	f := &fields{values: map[string]json.RawMessage{}, path: path}
	err := eachMember(b, func(key string, value json.RawMessage) error {
		if _, twice := f.values[key]; twice {
			// A name of the client's own is no param: the history keeps those.
			return invalid(strings.TrimSuffix(path, "."), "%s names %q twice.", control.Word(where), key)
		}
		f.values[key] = value
		return nil
	})
	if _, ok := errors.AsType[*control.Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, invalid(strings.TrimSuffix(path, "."), "%s is not a valid JSON object: %v.", control.Word(where), err)
	}
	return f, nil
}

// eachMember calls f for each member of the object b, in b's order.
func eachMember(b []byte, f func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return syntax(err)
	}
	if t != json.Delim('{') {
		return errors.New("it does not start with {")
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return syntax(err)
		}
		key, ok := k.(string)
		if !ok {
			return errors.New("a name is not a string")
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return syntax(err)
		}
		if err := f(key, v); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return syntax(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows it at byte %d", d.InputOffset())
	}
	return nil
}

func syntax(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w at byte %d", err, e.Offset)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends early")
	}
	return err
}

func (f *fields) fail(key, format string, args ...any) {
	if f.err == nil {
		f.err = invalid(f.path+key, "%s "+format, append([]any{f.path + key}, args...)...)
	}
}

// raw returns the value, or nil if it is absent.
func (f *fields) raw(key string) json.RawMessage {
	v := f.values[key]
	if string(v) == "null" {
		return nil
	}
	return v
}

func isNumber(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

func (f *fields) string(key string) (s string) {
	if v := f.raw(key); v != nil && json.Unmarshal(v, &s) != nil {
		f.fail(key, "must be a string.")
	}
	return s
}

func (f *fields) bool(key string) (b bool) {
	if v := f.raw(key); v != nil && json.Unmarshal(v, &b) != nil {
		f.fail(key, "must be true or false.")
	}
	return b
}

// optional reads a field, or returns nil if it is absent.
func optional[T any](f *fields, key string, read func(key string) T) *T {
	if f.raw(key) == nil {
		return nil
	}
	return new(read(key))
}

// number returns nil for an absent field.
func (f *fields) number(key string, least, most float64) *float64 {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	x, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil || !isNumber(v):
		f.fail(key, "must be a number.")
	case x < least && most == math.MaxFloat64:
		f.fail(key, "must be at least %v, not %s.", least, v)
	case x < least || x > most:
		f.fail(key, "must lie between %v and %v, not %s.", least, most, v)
	default:
		return &x
	}
	return nil
}

// int returns nil for an absent field.
func (f *fields) int(key string, least, most int) *int {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	x, ok := wholeNumber(v)
	switch {
	case !ok:
		f.fail(key, "must be a whole number.")
	case x < int64(least) && most == math.MaxInt32:
		f.fail(key, "must be at least %d, not %d.", least, x)
	case x < int64(least) || x > int64(most):
		f.fail(key, "must lie between %d and %d, not %d.", least, most, x)
	default:
		return new(int(x))
	}
	return nil
}

// wholeNumber reads an integer, also one that a client wrote as 16.0.
func wholeNumber(v json.RawMessage) (int64, bool) {
	if !isNumber(v) {
		return 0, false
	}
	if x, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return x, true
	}
	x, err := strconv.ParseFloat(string(v), 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// strings reads a string or a list of strings.
func (f *fields) strings(key string) []string {
	v := f.raw(key)
	var one string
	var many []string
	switch {
	case v == nil:
	case json.Unmarshal(v, &one) == nil:
		return []string{one}
	case json.Unmarshal(v, &many) != nil:
		f.fail(key, "must be a string or a list of strings.")
	}
	return many
}

// object returns nil for an absent field.
func (f *fields) object(key string) *fields {
	v := f.raw(key)
	if v == nil || f.err != nil {
		return nil
	}
	o, err := parseFields(v, f.path+key+".")
	if err != nil {
		f.err = err
		return nil
	}
	return o
}

// take keeps the first error of a nested object as this one's.
func (f *fields) take(o *fields) {
	if f.err == nil && o != nil {
		f.err = o.err
	}
}

// oneOf reads a string that is one of several, empty for an absent one.
func (f *fields) oneOf(key string, known []string) string {
	v := f.string(key)
	if f.err == nil && v != "" && !slices.Contains(known, v) {
		f.fail(key, "is one of %q, not %q.", control.Words(known), clip(v))
	}
	return v
}

// needed returns an object that may not be left out, or fails f.
func needed(f *fields, key string) *fields {
	o := f.object(key)
	if o == nil {
		f.fail(key, "is missing.")
	}
	return o
}

func neededName(f *fields) string {
	name := f.string("name")
	if f.err == nil && name == "" {
		f.fail("name", "is missing.")
	}
	return name
}

// neededText returns a text that may be empty, but not left out.
func neededText(f *fields, key string) string {
	if f.raw(key) == nil {
		f.fail(key, "is missing.")
	}
	return f.string(key)
}

// blob returns a value that must be an object, which is kept as it is; nil if it
// is absent.
func (f *fields) blob(key string) json.RawMessage {
	if f.object(key) == nil {
		return nil
	}
	return f.raw(key)
}

// id reads the id of a row; 0 if it is absent.
func (f *fields) id(key string) int64 {
	v := f.raw(key)
	if v == nil {
		return 0
	}
	n, ok := wholeNumber(v)
	if !ok || n < 0 || n > math.MaxInt64/2 {
		f.fail(key, "must be an id, a whole number.")
		return 0
	}
	return n
}
