package jsonschema

import (
	"fmt"
	"slices"
	"strings"
)

// defsPrefix begins the references of a tree.
const defsPrefix = "#/$defs/"

// A compiler rewrites schemas.
type compiler struct {
	doc    *Document
	strict bool
	start  *value // the schema that becomes the root

	targets []target // targets of references
	defs    []*value // their schemas, as far as these are written
	numbers map[*value]int
	err     error
}

// bad refuses a keyword that is not supported. If the schema is not strict, the caller leaves the
// keyword out.
func (c *compiler) bad(at *place, format string, args ...any) {
	if c.strict {
		c.fail(at, format, args...)
	}
}

// fail refuses a schema, strict or not.
func (c *compiler) fail(at *place, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Path: at.String(), Message: fmt.Sprintf(format, args...)}
	}
}

// falseSchema returns the schema that admits no value.
func falseSchema(at *place, format string, args ...any) *value {
	return &value{kind: falseKind, text: fmt.Sprintf(format, args...), at: at}
}

// draftOf returns the draft that $schema names: 4, 6, 7, 2019 or 2020.
func draftOf(uri string) int {
	for _, d := range []struct {
		part  string
		draft int
	}{{"draft-04", 4}, {"draft-06", 6}, {"draft-07", 7}, {"2019-09", 2019}} {
		if strings.Contains(uri, d.part) {
			return d.draft
		}
	}
	return 2020
}

// unsupported are the keywords that llguidance does not have, with the draft that introduced them.
var unsupported = map[string]int{
	"not": 4, "uniqueItems": 4, "dependencies": 4, "contains": 6, "propertyNames": 6,
	"if": 7, "then": 7, "else": 7, "minContains": 2019, "maxContains": 2019,
	"dependentRequired": 2019, "dependentSchemas": 2019, "unevaluatedItems": 2019,
	"unevaluatedProperties": 2019, "$recursiveRef": 2019, "$dynamicRef": 2020,
}

// isNoOp reports whether an unsupported keyword has no effect.
func isNoOp(s *value, key string) bool {
	v := s.get(key)
	switch key {
	case "uniqueItems", "not":
		return v.kind == falseKind
	case "then", "else":
		return s.get("if") == nil
	case "minContains", "maxContains":
		return s.get("contains") == nil
	case "unevaluatedItems", "unevaluatedProperties", "propertyNames":
		return v.kind == trueKind
	}
	return false
}

// admitsAll reports whether a schema is true or empty.
func admitsAll(v *value) bool {
	return v.kind == trueKind || v.kind == object && len(v.keys) == 0
}

// schema rewrites a schema.
func (c *compiler) schema(v *value, at *place) *value {
	if c.doc.count++; c.doc.count > maxSchemas {
		c.fail(nil, "it has more than %d schemas, with what its members refer to", maxSchemas)
	}
	if c.err != nil {
		return &value{kind: trueKind}
	}
	switch v.kind {
	case trueKind:
		return &value{kind: trueKind, at: at}
	case falseKind:
		return falseSchema(at, "it is false, which admits no value; leave it out, or write true")
	case object:
	default:
		c.bad(at, "a schema is an object, true or false")
		return &value{kind: trueKind, at: at}
	}
	s := &scope{compiler: c, in: v, out: newObject(), at: at}
	s.out.at = at
	s.readTypes()
	for _, key := range v.keys {
		if key == "not" && admitsAll(v.get(key)) {
			return falseSchema(at.under(key), "it excludes every value; leave not out")
		}
		if draft, ok := unsupported[key]; ok && draft <= c.doc.draft && !isNoOp(v, key) {
			c.bad(at.under(key), "%s cannot be honoured: leave it out", key)
		}
		switch x := v.get(key); {
		case key == "properties" && x.kind != object:
			c.bad(at.under(key), "properties is an object of schemas")
			continue
		case key == "prefixItems" && x.kind != list:
			c.bad(at.under(key), "prefixItems is a list of schemas")
			continue
		}
		switch key {
		case "const", "enum":
			s.readValues(key)
		case "allOf", "anyOf", "oneOf":
			s.readParts(key)
		case "$ref":
			s.readReference()
		case "properties", "patternProperties", "additionalProperties":
			if s.admitsType("object") {
				s.readObject()
			}
		case "items", "prefixItems":
			if s.admitsType("array") {
				s.readArray()
			}
		}
	}
	s.readBounds()
	s.filterValues()
	if s.none != nil {
		return s.none
	}
	s.writeTypes()
	return s.out
}

// A scope is one schema that is being written.
type scope struct {
	*compiler
	in, out *value
	at      *place
	types   []string // nil: all
	none    *value   // no value satisfies the schema

	objectRead, arrayRead bool
}

var allTypes = []string{"null", "boolean", "number", "string", "array", "object"}

// admitsType reports whether a value of the type may satisfy the schema.
func (s *scope) admitsType(name string) bool {
	return s.types == nil || slices.Contains(s.types, name) ||
		name == "number" && slices.Contains(s.types, "integer")
}

// exclude removes types. If no type is left, no value satisfies the schema.
func (s *scope) exclude(at *place, reason string, names ...string) {
	if s.types == nil {
		s.types = slices.Clone(allTypes)
	}
	s.types = slices.DeleteFunc(s.types, func(t string) bool { return slices.Contains(names, t) })
	if len(s.types) == 0 && s.none == nil {
		s.none = falseSchema(at, "%s", reason)
	}
}

// readTypes reads the types. Without a type, a schema with properties is an object's, and one with
// items an array's.
func (s *scope) readTypes() {
	v := s.in.get("type")
	if v == nil {
		s.inferType()
		return
	}
	entries, at := []*value{v}, s.at.under("type")
	if v.kind == list {
		entries = v.list
	}
	if len(entries) == 0 {
		s.none = falseSchema(at, "it lists no type; name one, or leave type out")
	}
	var types []string
	for _, entry := range entries {
		name := entry.text
		if !s.strict {
			name = strings.ToLower(name) // some programs write STRING
		}
		if entry.kind != text || !slices.Contains(allTypes, name) && name != "integer" {
			s.bad(at, "%.40s is no type: types are null, boolean, integer, number, string, "+
				"array and object", entry.append(nil))
			if name == "any" {
				return
			}
			continue
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	s.types = types
}

func (s *scope) inferType() {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return s.in.get(key) != nil })
	}
	switch {
	case has("const", "enum"):
	case has("properties", "required", "additionalProperties", "patternProperties",
		"minProperties", "maxProperties"):
		s.types = []string{"object"}
	case has("items", "prefixItems", "minItems", "maxItems", "additionalItems"):
		s.types = []string{"array"}
	}
}

func (s *scope) writeTypes() {
	if s.types == nil {
		return
	}
	types := newList()
	for _, name := range s.types {
		types.list = append(types.list, newText(name))
	}
	if len(types.list) == 1 {
		types = types.list[0]
	}
	s.out.keys = append([]string{"type"}, s.out.keys...)
	s.out.members["type"] = types
}

// readParts reads allOf, anyOf or oneOf.
func (s *scope) readParts(key string) {
	v, at := s.in.get(key), s.at.under(key)
	if v.kind == list && len(v.list) == 0 && key != "allOf" {
		s.none = falseSchema(at, "it lists no schema that a value could fit; add one, or leave %s out", key)
		return
	}
	if v.kind != list || len(v.list) == 0 {
		s.bad(at, "%s is a list of at least one schema", key)
		return
	}
	parts := newList()
	for i, x := range v.list {
		parts.list = append(parts.list, s.schema(x, at.item(i)))
	}
	parts.at = at
	s.out.set(key, parts)
}

// readReference reads $ref.
func (s *scope) readReference() {
	v, at := s.in.get("$ref"), s.at.under("$ref")
	if v.kind != text {
		s.bad(at, "$ref is a text")
		return
	}
	to, ok := s.doc.resolve(s.in, v.text)
	switch {
	case !ok:
		s.bad(at, "the reference %.80q leads nowhere in this schema", v.text)
		return
	case to.schema.kind != object && !to.schema.isBool():
		s.bad(at, "the reference %.80q leads to what is no schema", v.text)
		return
	case to.schema == s.start:
		s.out.set("$ref", newText("#"))
		return
	}
	n, ok := s.numbers[to.schema]
	if !ok {
		n = len(s.targets)
		s.numbers[to.schema] = n
		s.targets = append(s.targets, to)
	}
	s.out.set("$ref", newText(fmt.Sprintf("%s%d", defsPrefix, n)))
}
