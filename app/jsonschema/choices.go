package jsonschema

import "slices"

// maxCompared bounds the pairs of schemas that are compared for oneOf.
const maxCompared = 200_000

// decideChoices makes anyOf of each oneOf. The two differ where a value fits two of the schemas,
// and no grammar can express that.
func (t *tree) decideChoices() error {
	c := &comparison{tree: t, left: maxCompared}
	for _, s := range t.all() {
		options := s.get("oneOf")
		if options == nil {
			continue
		}
		if t.strict && !t.coerce && !c.exclude(options.list) {
			return &Error{Path: options.at.String(), Message: "oneOf is supported only if no " +
				"value matches two of its schemas: use anyOf, or give each a required property " +
				"with a different const"}
		}
		s.remove("oneOf")
		if s.get("anyOf") == nil {
			s.set("anyOf", options)
			continue
		}
		both := newObject()
		both.at = s.at
		both.set("anyOf", options)
		parts := newList(both)
		if v := s.get("allOf"); v != nil {
			parts.list = append(slices.Clone(v.list), both)
		}
		s.set("allOf", parts)
	}
	return nil
}

// all returns the schemas of the tree that have keywords.
func (t *tree) all() (list []*value) {
	for _, d := range t.numbered() {
		walk(d, func(s *value) { list = append(list, s) })
	}
	return list
}

// A comparison finds schemas that have no value in common.
type comparison struct {
	*tree
	left int // comparisons
}

// exclude reports whether surely no value fits two of the schemas.
func (c *comparison) exclude(list []*value) bool {
	for i, a := range list {
		for _, b := range list[:i] {
			if !c.disjoint(a, b, 0) {
				return false
			}
		}
	}
	return true
}

// disjoint reports whether two schemas surely have no value in common.
func (c *comparison) disjoint(a, b *value, level int) bool {
	if c.left--; c.left < 0 || level > 16 {
		return false
	}
	switch {
	case a.kind == falseKind || b.kind == falseKind:
		return true
	case a.kind == trueKind || b.kind == trueKind:
		return false
	}
	if c.partDisjoint(a, b, level) || c.partDisjoint(b, a, level) {
		return true
	}
	ofA, ofB := c.typesOf(a, 0), c.typesOf(b, 0)
	if ofA&ofB == 0 {
		return true
	}
	if x, y := valuesOf(a), valuesOf(b); x != nil && y != nil {
		return !slices.ContainsFunc(x, func(v *value) bool {
			return slices.ContainsFunc(y, v.maybeEqual)
		})
	}
	if ofA|ofB != objectBit {
		return false
	}
	for _, s := range []*value{a, b} {
		required := s.get("required")
		if required == nil {
			continue
		}
		for _, name := range required.list {
			if c.disjoint(propertyOf(a, name.text), propertyOf(b, name.text), level+1) {
				return true
			}
		}
	}
	return false
}

// partDisjoint reports whether a part of a is disjoint from b. The part admits all values of a, so
// that a is disjoint from b too.
func (c *comparison) partDisjoint(a, b *value, level int) bool {
	if ref := a.get("$ref"); ref != nil {
		if to, _ := c.target(ref.text); c.disjoint(to, b, level+1) {
			return true
		}
	}
	one := func(x *value) bool { return c.disjoint(x, b, level+1) }
	if v := a.get("allOf"); v != nil && slices.ContainsFunc(v.list, one) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		v := a.get(key)
		if v != nil && !slices.ContainsFunc(v.list, func(x *value) bool { return !one(x) }) {
			return true
		}
	}
	return false
}

// valuesOf returns the values that a schema lists, or nil.
func valuesOf(s *value) []*value {
	if v := s.get("const"); v != nil {
		return []*value{v}
	}
	if v := s.get("enum"); v != nil {
		return v.list
	}
	return nil
}

// propertyOf returns the schema of a property, or one that admits more.
func propertyOf(s *value, name string) *value {
	if v := s.get("properties"); v != nil && v.get(name) != nil {
		return v.get(name)
	}
	if v := s.get("additionalProperties"); v != nil && s.get("patternProperties") == nil {
		return v
	}
	return &value{kind: trueKind}
}

// maybeEqual reports whether two values may be equal. Arrays and objects may always be.
func (v *value) maybeEqual(x *value) bool {
	if v.kind == x.kind && (v.kind == list || v.kind == object) {
		return true
	}
	return v.equal(x)
}

// equal reports whether two values are the same. Objects are equal if they have the same members.
func (v *value) equal(x *value) bool {
	if v.kind != x.kind || len(v.list) != len(x.list) || len(v.keys) != len(x.keys) {
		return false
	}
	for i := range v.list {
		if !v.list[i].equal(x.list[i]) {
			return false
		}
	}
	for _, key := range v.keys {
		if y := x.get(key); y == nil || !v.get(key).equal(y) {
			return false
		}
	}
	if v.kind == number && v.text != x.text {
		a, known := rational(v)
		b, both := rational(x)
		return known && both && a.Cmp(b) == 0
	}
	return v.text == x.text || v.kind != text && v.kind != number
}
