package jsonschema

import (
	"iter"
	"slices"
	"strconv"
)

// rootNumber is the number of a tree's root. Definitions have the numbers from 0 on.
const rootNumber = -1

// A tree is a schema in the part of JSON Schema that llguidance follows. References lead to
// #/$defs/N, where N is the number of a definition, or to the root as #.
type tree struct {
	root   *value
	defs   []*value
	strict bool
	coerce bool // the schema itself treats oneOf as anyOf
	typed  int  // schemas whose types were computed
	bytes  *int // of schemas written as JSON, for all forms of the document
}

// target returns the schema of a reference in the tree, and its number.
func (t *tree) target(ref string) (*value, int) {
	if ref == "#" {
		return t.root, rootNumber
	}
	n, err := strconv.Atoi(ref[len(defsPrefix):])
	if err != nil {
		panic("jsonschema: a reference of our own is " + ref)
	}
	return t.defs[n], n
}

// numbered yields the root and the definitions with their numbers.
func (t *tree) numbered() iter.Seq2[int, *value] {
	return func(yield func(int, *value) bool) {
		for n := rootNumber; n < len(t.defs); n++ {
			if !yield(n, t.schema(n)) {
				return
			}
		}
	}
}

// schema returns the schema with a number.
func (t *tree) schema(n int) *value {
	if n < 0 {
		return t.root
	}
	return t.defs[n]
}

// referrers returns the numbers of the schemas that refer to each one.
func (t *tree) referrers() map[int][]int {
	from := map[int][]int{}
	for n, d := range t.numbered() {
		walk(d, func(s *value) {
			if ref := s.get("$ref"); ref != nil {
				_, to := t.target(ref.text)
				from[to] = append(from[to], n)
			}
		})
	}
	return from
}

// walk calls visit for a schema and all schemas in it that have keywords.
func walk(s *value, visit func(*value)) {
	if s.kind == object {
		visit(s)
		each(s, func(_ string, x *value, _ func(*value)) { walk(x, visit) })
	}
}

// each calls visit for the schemas directly within s, with functions that replace them.
func each(s *value, visit func(at string, x *value, replace func(*value))) {
	if s.kind != object {
		return
	}
	for _, key := range s.keys {
		v := s.members[key]
		switch {
		case key == "items" || key == "additionalProperties":
			visit(key, v, func(x *value) { s.set(key, x) })
		case key == "properties" || key == "patternProperties":
			for _, name := range slices.Clone(v.keys) {
				visit(key, v.members[name], func(x *value) { v.set(name, x) })
			}
		case key == "prefixItems" || slices.Contains(applicators, key):
			for i, x := range v.list {
				visit(key, x, func(x *value) { v.list[i] = x })
			}
		}
	}
}

var applicators = []string{"allOf", "anyOf", "oneOf"}
