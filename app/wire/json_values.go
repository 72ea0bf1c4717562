package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"tandem/app/control"
)

// Limits of what a body may hold, besides its size. A list of token ids has the model's context as
// its limit: see EachValue.
const (
	// MaxValues limits the values of a body, at all levels. The ids of a prompt do not count. A
	// bias for each token of a vocabulary fits.
	MaxValues = 300_000

	// MaxItems limits the values of one list, such as the messages of a chat.
	MaxItems = 1 << 14
)

// EachMember calls f for each member of the object b, in b's order. The values are parts of b.
func EachMember(b []byte, f func(key string, value json.RawMessage) error) error {
	start := bytes.TrimLeft(b, " \t\r\n")
	if len(start) > 0 && start[0] == '[' {
		return fault("it does not start with {")
	}
	if err := checkSyntax(b); err != nil {
		return err
	}
	if start[0] != '{' {
		return fault("it does not start with {")
	}
	for at := skip(start, 1); start[at] != '}'; {
		end := valueEnd(start, at)
		key, err := unquote(start[at:end])
		if err != nil {
			return err
		}
		at = skip(start, skip(start, end)+1) // after the colon
		end = valueEnd(start, at)
		if err := f(key, start[at:end:end]); err != nil {
			return err
		}
		if at = skip(start, end); start[at] == ',' {
			at = skip(start, at+1)
		}
	}
	return nil
}

// unquote returns the text of a JSON string.
func unquote(b []byte) (s string, err error) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), nil
	}
	err = json.Unmarshal(b, &s)
	return s, err
}

// EachValue yields the values of v without a copy, and nothing if v is no list. v is valid JSON.
func EachValue(v json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		if len(v) == 0 || v[0] != '[' {
			return
		}
		for at := skip(v, 1); v[at] != ']'; {
			end := valueEnd(v, at)
			if !yield(v[at:end:end]) {
				return
			}
			if at = skip(v, end); v[at] == ',' {
				at = skip(v, at+1)
			}
		}
	}
}

// FirstValues returns the first values of the list v, at most hi, and the number of all. The
// number is -1 if v is no list. v is valid JSON.
func FirstValues(v json.RawMessage, hi int) (list []json.RawMessage, n int) {
	if len(v) == 0 || v[0] != '[' {
		return nil, -1
	}
	for value := range EachValue(v) {
		if n++; n <= hi {
			list = append(list, value)
		}
	}
	return list, n
}

// List reads a list of at most MaxItems values. what is the sentence's rest for a value that is no
// list. It returns nil for an absent field.
func (f *Fields) List(key, what string) []json.RawMessage {
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	list, n := FirstValues(v, MaxItems)
	switch {
	case n < 0:
		f.Fail(key, "%s", control.Word(what))
	case n > MaxItems:
		f.Fail(key, "may hold %d values, not %d.", MaxItems, n)
		return nil
	}
	return list
}

// checkSyntax says where b is no JSON. It copies nothing.
func checkSyntax(b []byte) error {
	err := json.Unmarshal(b, &ignored{})
	e, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case !ok:
		return err
	case e.Error() == "unexpected end of JSON input":
		return fault("it ends early")
	case strings.HasSuffix(e.Error(), "after top-level value"):
		return fault(fmt.Sprintf("something follows it at byte %d", e.Offset-1))
	}
	return fmt.Errorf("%w at byte %d", e, e.Offset)
}

// A fault of a JSON text, in words that have nothing of the text.
type fault string

func (f fault) Error() string { return string(f) }

// ignored takes any JSON value and keeps nothing.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// skip returns the index of the first byte from at on that is no white space.
func skip(b []byte, at int) int {
	for b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r' {
		at++
	}
	return at
}

// valueEnd returns the index after the value that begins at an index of valid JSON.
func valueEnd(b []byte, at int) int {
	depth := 0
	for ; at < len(b); at++ {
		switch b[at] {
		case '"':
			for at++; b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 { // the end of what surrounds a number or word
				return at
			}
			if depth == 0 {
				return at + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// CountValues returns the number of values in a JSON text and how many objects and lists are open at
// most. Ids in a list of the body itself, or in a list of such lists, do not count as values.
func CountValues(b []byte) (values, nesting int) {
	objects, lists, last := 0, 0, byte(0)
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch c {
		case ' ', '\n', '\t', '\r':
			continue
		case '{':
			objects++
		case '}':
			objects--
		case '[':
			lists++
		case ']':
			lists--
		}
		nesting = max(nesting, objects+lists)
		if last == ',' || last == '[' || last == '{' {
			number := c == '-' || c >= '0' && c <= '9'
			if !number || objects != 1 || lists == 0 {
				values++
			}
		}
		if last = c; c == '"' {
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return values, nesting
}

// SaysNothing reports whether a value is absent or empty, or an object of such values, as clients
// with unset settings write it.
func SaysNothing(v json.RawMessage) bool {
	switch string(v) {
	case "", "null", "false", `""`:
		return true
	}
	if list, n := FirstValues(v, 1); n >= 0 {
		return len(list) == 0
	}
	var o map[string]json.RawMessage
	if v[0] != '{' || json.Unmarshal(v, &o) != nil {
		return false
	}
	for _, x := range o {
		switch string(x) {
		case "null", "false", `""`, "[]", "{}":
		default:
			return false
		}
	}
	return true
}
