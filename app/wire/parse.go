package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tandem/app/control"
)

// ParseFields reads one object. It refuses anything after it.
func ParseFields(b []byte, path string) (*Fields, error) {
	f := &Fields{Values: map[string]json.RawMessage{}, names: make([]string, 0, 4), Path: path}
	err := EachMember(b, func(key string, value json.RawMessage) error {
		if _, twice := f.Values[key]; twice {
			return namedTwice(path, key)
		}
		f.Values[key] = value
		f.names = append(f.names, key)
		return nil
	})
	if _, ok := errors.AsType[*control.Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, Invalid(strings.TrimSuffix(path, "."),
			"%s is not a valid JSON object: %v.", nameObject(path), err)
	}
	return f, nil
}

// nameObject returns what errors call an object. path stands before the names of its fields.
func nameObject(path string) control.Word {
	if path == "" {
		return "The body"
	}
	return control.Word(strings.TrimSuffix(path, "."))
}

// namedTwice refuses an object. A name that the client chose is not the param, because the history
// keeps params.
func namedTwice(path, key string) error {
	return Invalid(strings.TrimSuffix(path, "."), "%s names %q twice.", nameObject(path), key)
}

// EachMember calls f for each member of the object b, in b's order.
func EachMember(b []byte, f func(key string, value json.RawMessage) error) error {
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
