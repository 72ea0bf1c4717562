package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/jsonschema"
)

// A kind says how to read a parameter's text where a dialect writes strings without quotes. A
// string stays as it is. Any other value is JSON, or a string if it is not valid JSON.
type kind int

const (
	kindTyped    kind = iota // not a string, or unknown
	kindText                 // a string
	kindNullable             // a string or null
)

const (
	// maxSchema is the size in bytes up to which a tool's schema is read. A grammar may be as
	// large.
	maxSchema = 1 << 20

	// maxRead is the number of bytes read in all of the schemas within a tool's schema. These
	// refer to each other, and their branches branch again. A schema beyond the bound admits no
	// value.
	maxRead = 4 << 20
)

// A schema holds the members of a JSON schema that the package uses.
type schema struct {
	left  *int   // the rest of maxRead; only in a tool's whole schema
	whole *whole // likewise

	raw        map[string]json.RawMessage
	Properties map[string]json.RawMessage
	Required   []string
	AnyOf      []json.RawMessage
	OneOf      []json.RawMessage
	Enum       []json.RawMessage
	Ref        string
}

// A whole is a tool's schema, read when a reference in it is followed.
type whole struct {
	text     json.RawMessage
	document *jsonschema.Document
}

// readSchema reads a schema. It ignores a member of the wrong type.
func readSchema(b json.RawMessage) schema {
	var s schema
	if json.Unmarshal(b, &s.raw) != nil {
		return schema{}
	}
	for key, to := range map[string]any{
		"properties": &s.Properties, "required": &s.Required, "anyOf": &s.AnyOf, "oneOf": &s.OneOf,
		"enum": &s.Enum, "$ref": &s.Ref,
	} {
		if v := s.raw[key]; v != nil && json.Unmarshal(v, to) != nil {
			continue
		}
	}
	return s
}

// readParameters reads the schema of a tool's arguments. One above maxSchema reads as empty.
func readParameters(parameters json.RawMessage) schema {
	var s schema
	if len(parameters) <= maxSchema {
		s = readSchema(parameters)
	}
	s.left, s.whole = new(int(maxRead)), &whole{text: parameters}
	return s
}

// read reads a schema within s, which is a tool's schema. Beyond maxRead it returns an empty one.
func (s schema) read(b json.RawMessage) schema {
	if *s.left -= len(b) + 1; *s.left < 0 {
		return schema{}
	}
	return readSchema(b)
}

// types returns the JSON types that the schema names, or nil if it names none.
func (s schema) types() []string {
	var list []string
	var one string
	if json.Unmarshal(s.raw["type"], &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(s.raw["type"], &list) != nil {
		return nil
	}
	return list
}

// shape returns the types of a schema within s, and the strings and the numbers that it lists.
// types is nil if the schema does not name all its types.
func (s schema) shape(within schema) (types, texts, numbers []string) {
	if to, ok := s.resolve(within); ok {
		within = to
	}
	types = within.types()
	values := within.Enum
	if c := within.raw["const"]; c != nil {
		values = append(values, c)
	}
	for _, v := range values {
		var text string
		switch {
		case string(v) == "null":
		case json.Unmarshal(v, &text) == nil:
			texts = append(texts, text)
		case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
			numbers = append(numbers, string(v))
		}
	}
	if types == nil && values != nil && len(texts)+len(numbers) == len(values) {
		if texts != nil {
			types = append(types, "string")
		}
		if numbers != nil {
			types = append(types, "number")
		}
	}
	text, null := s.admits(within, 0)
	if types == nil && text && null && len(within.AnyOf)+len(within.OneOf) == 2 {
		types = []string{"string", "null"}
	}
	return types, texts, numbers
}

// A length bounds the number of a string's characters. Above maxLength it is no bound: a grammar with a
// larger one is slow to build, and no answer is that long.
type length struct{ least, most int }

const maxLength = 1 << 20

// repeat returns the number of characters as a regular expression has it.
func (l length) repeat() string {
	switch {
	case l.most <= maxLength:
		return fmt.Sprintf("{%d,%d}", l.least, l.most)
	case l.least > 0:
		return fmt.Sprintf("{%d,}", l.least)
	}
	return "*"
}

// lengthOf returns the bounds of the strings that a schema within s admits. If several of its branches
// admit strings, it reads none of these.
func (s schema) lengthOf(within schema, depth int) length {
	if to, ok := s.resolve(within); ok {
		within = to
	}
	l := length{0, maxLength + 1}
	for key, to := range map[string]*int{"minLength": &l.least, "maxLength": &l.most} {
		var n float64
		if json.Unmarshal(within.raw[key], &n) == nil && 0 <= n && n <= maxLength {
			*to = int(n)
		}
	}
	var texts []schema
	for _, other := range slices.Concat(within.AnyOf, within.OneOf) {
		branch := s.read(other)
		if text, _ := s.admits(branch, depth); text {
			texts = append(texts, branch)
		}
	}
	if len(texts) == 1 && depth < 8 {
		branch := s.lengthOf(texts[0], depth+1)
		l = length{max(l.least, branch.least), min(l.most, branch.most)}
	}
	if l.least > l.most {
		return length{0, maxLength + 1}
	}
	return l
}

// resolve returns the schema in s to which a schema within s refers. It returns false if the schema
// has no reference, or a broken one.
func (s schema) resolve(within schema) (schema, bool) {
	if within.Ref == "" {
		return schema{}, false
	}
	if s.whole.document == nil {
		d, err := jsonschema.Read(s.whole.text)
		if err != nil {
			return schema{}, false
		}
		s.whole.document = d
	}
	to, ok := s.whole.document.Lookup(within.Ref, max(0, *s.left))
	if !ok {
		return schema{}, false
	}
	return s.read(to), true
}

// kindOf returns the kind of a tool's parameter.
func kindOf(parameters json.RawMessage, key string) kind {
	return readParameters(parameters).kindOf(key)
}

// kindOf returns the kind of a property.
func (s schema) kindOf(key string) kind {
	property, ok := s.Properties[key]
	if !ok {
		return kindTyped
	}
	text, null := s.admits(s.read(property), 0)
	switch {
	case text && null:
		return kindNullable
	case text:
		return kindText
	}
	return kindTyped
}

// admits reports whether a schema within s admits strings, and whether it admits null.
func (s schema) admits(within schema, depth int) (text, null bool) {
	if depth > 8 || *s.left < 0 { // schemas may refer to each other in a circle
		return false, false
	}
	types := within.types()
	text, null = slices.Contains(types, "string"), slices.Contains(types, "null")
	if types == nil {
		for _, v := range slices.Concat(within.Enum, []json.RawMessage{within.raw["const"]}) {
			text = text || strings.HasPrefix(string(v), `"`)
			null = null || string(v) == "null"
		}
	}
	for _, other := range slices.Concat(within.AnyOf, within.OneOf) {
		t, n := s.admits(s.read(other), depth+1)
		text, null = text || t, null || n
	}
	if to, ok := s.resolve(within); ok {
		t, n := s.admits(to, depth+1)
		text, null = text || t, null || n
	}
	return text, null
}
