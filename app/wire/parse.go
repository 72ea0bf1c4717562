package wire

import (
	"encoding/json"
	"errors"
	"strings"

	"tandem/app/control"
)

// ParseFields reads one object. It refuses anything after it.
func ParseFields(b []byte, path string) (*Fields, error) {
	f := &Fields{Values: map[string]json.RawMessage{}, names: make([]string, 0, 4), Path: path,
		err: new(error)}
	if path != "" && b[0] != '{' { // a value, which is not empty
		return nil, Invalid(strings.TrimSuffix(path, "."), "%s must be an object.", nameObject(path))
	}
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
			"%s is not a valid JSON object: %v.", nameObject(path), asWord(err))
	}
	return f, nil
}

// asWord returns an error as an operand of which the history may keep what is ours.
func asWord(err error) any {
	if f, ok := errors.AsType[fault](err); ok {
		return control.Word(f)
	}
	return err
}

// nameObject returns what errors call the object whose fields have that path.
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
