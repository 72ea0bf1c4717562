package jsonschema

import (
	"slices"
	"strconv"
)

// maxPatterns bounds the patterns of names in one object.
const maxPatterns = 100

// readObject reads the keywords of objects.
func (s *scope) readObject() {
	if s.objectRead {
		return
	}
	s.objectRead = true
	properties := s.readProperties()
	additional, at := s.in.get("additionalProperties"), s.at.under("additionalProperties")
	if additional != nil && additional.kind != object && !additional.isBool() {
		s.bad(at, "additionalProperties is a schema, true or false")
		additional = nil
	}
	patterns, whole := s.readPatterns(properties)
	switch {
	case !whole:
		additional = nil // it would refuse the names of the omitted patterns
	case additional != nil:
		additional = s.schema(additional, at)
	}
	all := slices.ContainsFunc(patterns, func(p namePattern) bool {
		return p.schema.kind == falseKind && p.pattern.matchesAll()
	})
	if all { // no name is left
		patterns, additional = nil, falseSchema(at, "its name matches a pattern that admits no value; change one of the two")
	}
	if len(properties.keys) > 0 {
		s.out.set("properties", properties)
	}
	if len(patterns) > 0 {
		v := newObject()
		for _, p := range patterns {
			v.set(p.pattern.String(), p.schema)
		}
		s.out.set("patternProperties", v)
	}
	if additional != nil && additional.kind != trueKind {
		s.out.set("additionalProperties", additional)
	}
	s.readRequired(properties, patterns, additional)
	s.readNameCounts(properties, patterns, additional)
}

// readProperties returns the schemas of the named properties.
func (s *scope) readProperties() *value {
	out, at := newObject(), s.at.under("properties")
	v := s.in.get("properties")
	if v == nil || v.kind != object {
		return out
	}
	for _, name := range v.keys {
		out.set(name, s.schema(v.members[name], at.under(name)))
	}
	return out
}

// A namePattern is a pattern of names and the schema of their values.
type namePattern struct {
	pattern *pattern
	schema  *value
}

// readPatterns returns the patterns of names. One that few names match becomes properties. whole is
// false if one had to be left out.
func (s *scope) readPatterns(properties *value) (patterns []namePattern, whole bool) {
	v, at := s.in.get("patternProperties"), s.at.under("patternProperties")
	switch {
	case v == nil:
		return nil, true
	case v.kind != object:
		s.bad(at, "patternProperties is an object of schemas")
		return nil, false
	case len(v.keys) > maxPatterns:
		s.fail(at, "an object has %d patterns of names, and %d are possible", len(v.keys),
			maxPatterns)
		return nil, false
	}
	whole = true
	for _, source := range v.keys {
		p, err := readPattern(source)
		if err != nil {
			s.badPattern(at.under(source), err)
			whole = false
			continue
		}
		x := s.schema(v.members[source], at.under(source))
		words, finite := p.words(manyWords)
		switch {
		case !finite:
			patterns = append(patterns, namePattern{p, x})
		case len(words) <= fewWords || !slices.ContainsFunc(words, func(name string) bool {
			return properties.get(name) == nil
		}):
			s.copyOf(x, len(words), at.under(source))
			for _, name := range words {
				properties.set(name, together(properties.get(name), x))
			}
		default:
			patterns = append(patterns, namePattern{p, x})
		}
	}
	if !s.strict && !disjoint(patterns) {
		return nil, false
	}
	return patterns, whole
}

// copyOf counts a schema that is copied for n names. Nested, such schemas would make a form too
// large for memory.
func (s *scope) copyOf(x *value, n int, at *place) {
	if n < 2 || s.err != nil {
		return
	}
	if s.doc.copied += (n - 1) * x.size(); s.doc.copied > maxBytes {
		s.fail(at, "with each name that the pattern matches, the schema has more than %d MiB",
			maxBytes>>20)
	}
}

// together returns the conjunction of two schemas. b may be nil.
func together(a, b *value) *value {
	switch {
	case a == nil || a.kind == trueKind:
		return b
	case b.kind == trueKind || a == b:
		return a
	case a.kind == falseKind:
		return a
	case b.kind == falseKind:
		return b
	}
	all := newObject()
	all.at = a.at
	all.set("allOf", newList(a, b))
	return all
}

// disjoint reports whether surely no name matches two patterns. llguidance accepts only such
// patterns.
func disjoint(patterns []namePattern) bool {
	for i, p := range patterns {
		for _, q := range patterns[:i] {
			a, known := p.pattern.first()
			b, both := q.pattern.first()
			if !known || !both || !a.disjoint(b) {
				return false
			}
		}
	}
	return true
}

// readRequired reads the names that must be there.
func (s *scope) readRequired(properties *value, patterns []namePattern, additional *value) {
	v, at := s.in.get("required"), s.at.under("required")
	if v == nil {
		return
	}
	if v.kind != list {
		s.bad(at, "required is a list of names")
		return
	}
	closed := additional != nil && additional.kind == falseKind
	matches := s.matchAny(patterns)
	names := newList()
	seen := map[string]bool{}
	for i, x := range v.list {
		switch {
		case x.kind != text:
			s.bad(at.item(i), "required is a list of names")
			continue
		case seen[x.text]:
			continue
		}
		seen[x.text] = true
		if closed && properties.get(x.text) == nil && !matches(x.text) {
			s.exclude(at.item(i), "the name is required, and the schema admits no such "+
				"property; add it to properties", "object")
			continue
		}
		names.list = append(names.list, x)
	}
	if len(names.list) > 0 {
		s.out.set("required", names)
	}
}

// matchAny returns a function that reports whether a name may match one of the patterns.
func (s *scope) matchAny(patterns []namePattern) func(name string) bool {
	var list []func(string) bool
	for _, p := range patterns {
		list = append(list, s.doc.matcher(p.pattern))
	}
	return func(name string) bool {
		return slices.ContainsFunc(list, func(matches func(string) bool) bool {
			return matches == nil || matches(name)
		})
	}
}

// readNameCounts reads minProperties and maxProperties. llguidance counts names only if all named
// properties are required, or if the count is one among them.
func (s *scope) readNameCounts(properties *value, patterns []namePattern, additional *value) {
	lo, hasLeast := s.counted("minProperties")
	hi, hasMost := s.counted("maxProperties")
	required := 0
	if v := s.out.get("required"); v != nil {
		required = len(v.list)
	}
	switch {
	case hasLeast && hasMost && lo > hi:
		s.exclude(s.at, "minProperties is greater than maxProperties; change one of the two", "object")
		return
	case hasMost && required > hi:
		s.exclude(s.at, "more names are required than maxProperties admits; change one of the two", "object")
		return
	}
	closed := additional != nil && additional.kind == falseKind
	more := max(0, lo-required)
	if more == 0 && !hasMost {
		return
	}
	optional := s.optional(properties)
	if more > optional && closed && len(patterns) == 0 {
		s.exclude(s.at.under("minProperties"), "the schema admits fewer properties than "+
			"minProperties asks for; change one of the two", "object")
		return
	}
	if optional > 0 {
		one := more <= 1 && (!hasMost || hi-required == 1) && len(patterns) == 0 && closed
		if !one {
			s.bad(s.at, "minProperties and maxProperties can be honoured only if all properties "+
				"are required: leave them out, or require them")
			return
		}
	}
	if hasLeast {
		s.out.set("minProperties", newNumber(strconv.Itoa(lo)))
	}
	if hasMost {
		s.out.set("maxProperties", newNumber(strconv.Itoa(hi)))
	}
}

// optional returns the number of named properties that may be missing.
func (s *scope) optional(properties *value) int {
	n := 0
	for _, name := range properties.keys {
		if properties.members[name].kind != falseKind {
			n++
		}
	}
	if v := s.out.get("required"); v != nil {
		for _, x := range v.list {
			if properties.get(x.text) != nil {
				n--
			}
		}
	}
	return n
}
