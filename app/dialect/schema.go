package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// A kind is what the schema of a parameter makes of its text, where a dialect writes strings without
// quotes: a string stays as it is, anything else is JSON, or a string if it is none.
type kind int

const (
	kindTyped    kind = iota // no string, or nobody knows
	kindText                 // a string
	kindNullable             // a string, or null
)

const (
	// mostSchema bounds a tool's schema that is looked into, in bytes: it is what a
	// grammar may have.
	mostSchema = 1 << 20

	// mostRead bounds what is read of the schemas within it that refer to each other,
	// in bytes: their branches have branches. One that is not read admits nothing.
	mostRead = 4 << 20
)

// A schema is what of a JSON schema counts here.
type schema struct {
	left *int // of mostRead; of a tool's whole schema only

	raw        map[string]json.RawMessage
	Properties map[string]json.RawMessage
	Required   []string
	AnyOf      []json.RawMessage
	OneOf      []json.RawMessage
	Enum       []json.RawMessage
	Ref        string
	Defs       map[string]json.RawMessage // $defs
	Old        map[string]json.RawMessage // definitions, their older name
}

// readSchema reads what it can of a schema: a member of another form than it should have is as if it
// weren't there.
func readSchema(b json.RawMessage) schema {
	var s schema
	if json.Unmarshal(b, &s.raw) != nil {
		return schema{}
	}
	for key, to := range map[string]any{"properties": &s.Properties, "required": &s.Required, "anyOf": &s.AnyOf, "oneOf": &s.OneOf,
		"enum": &s.Enum, "$ref": &s.Ref, "$defs": &s.Defs, "definitions": &s.Old} {
		if v := s.raw[key]; v != nil && json.Unmarshal(v, to) != nil {
			continue
		}
	}
	return s
}

// readTool reads the schema of a tool's arguments.
func readTool(parameters json.RawMessage) schema {
	var s schema
	if len(parameters) <= mostSchema {
		s = readSchema(parameters)
	}
	s.left = new(int(mostRead))
	return s
}

// read reads a schema within s, a tool's.
func (s schema) read(b json.RawMessage) schema {
	if *s.left -= len(b) + 1; *s.left < 0 {
		return schema{}
	}
	return readSchema(b)
}

// types returns those it names, nil if none.
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

// shape returns the types of a schema within s, nil if it doesn't tell them all, and the strings it
// lists.
func (s schema) shape(within schema) (types, texts []string) {
	if to, ok := s.refer(within); ok {
		within = to
	}
	types = within.types()
	values := within.Enum
	if c := within.raw["const"]; c != nil {
		values = append(values, c)
	}
	for _, v := range values {
		var text string
		if json.Unmarshal(v, &text) == nil && string(v) != "null" {
			texts = append(texts, text)
		}
	}
	if types == nil && values != nil && len(texts) == len(values) {
		types = []string{"string"}
	}
	if text, null := s.admits(within, 0); types == nil && text && null && len(within.AnyOf)+len(within.OneOf) == 2 {
		types = []string{"string", "null"}
	}
	return types, texts
}

// refer returns the schema that one within s refers to.
func (s schema) refer(within schema) (schema, bool) {
	if _, name, ok := strings.Cut(within.Ref, "#/$defs/"); ok {
		return s.read(s.Defs[name]), true
	}
	if _, name, ok := strings.Cut(within.Ref, "#/definitions/"); ok {
		return s.read(s.Old[name]), true
	}
	return schema{}, false
}

// kindOf returns the kind of a tool's parameter.
func kindOf(parameters json.RawMessage, key string) kind { return readTool(parameters).kindOf(key) }

// kindOf returns that of a property.
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

// admits reports whether a schema within s has strings, and null, among its values.
func (s schema) admits(within schema, depth int) (text, null bool) {
	if depth > 8 || *s.left < 0 { // of schemas that refer to each other
		return false, false
	}
	types := within.types()
	text, null = slices.Contains(types, "string"), slices.Contains(types, "null")
	if types == nil {
		for _, v := range append(within.Enum[:len(within.Enum):len(within.Enum)], within.raw["const"]) {
			text = text || strings.HasPrefix(string(v), `"`)
			null = null || string(v) == "null"
		}
	}
	for _, other := range slices.Concat(within.AnyOf, within.OneOf) {
		t, n := s.admits(s.read(other), depth+1)
		text, null = text || t, null || n
	}
	if to, ok := s.refer(within); ok {
		t, n := s.admits(to, depth+1)
		text, null = text || t, null || n
	}
	return text, null
}
