package jsonschema

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// readValues reads const or enum.
func (s *scope) readValues(key string) {
	v, at := s.in.get(key), s.at.under(key)
	values := []*value{v}
	if key == "enum" {
		if v.kind != list {
			s.bad(at, "enum is a list of at least one value")
			return
		}
		if len(v.list) == 0 {
			s.none = falseSchema(at, "it lists no value; add one, or leave enum out")
			return
		}
		values = v.list
	}
	s.doc.count += len(values) / 8
	fit := slices.DeleteFunc(slices.Clone(values), func(x *value) bool { return !s.fits(x) })
	if len(fit) == 0 {
		s.none = falseSchema(at, "no value of %s has the schema's type; change one of the two", key)
		return
	}
	if before := valuesOf(s.out); before != nil { // both const and enum
		fit = slices.DeleteFunc(fit, func(x *value) bool {
			return !slices.ContainsFunc(before, x.equal)
		})
		if s.out.remove("const"); len(fit) == 0 {
			s.none = falseSchema(at, "const is no value of enum; change one of the two")
			return
		}
		key = "enum"
	}
	if key == "enum" {
		v = newList(fit...)
	}
	s.out.set(key, v)
}

// fits reports whether a value has one of the schema's types.
func (s *scope) fits(v *value) bool {
	switch v.kind {
	case null:
		return s.admitsType("null")
	case trueKind, falseKind:
		return s.admitsType("boolean")
	case text:
		return s.admitsType("string")
	case list:
		return s.admitsType("array")
	case object:
		return s.admitsType("object")
	}
	return s.types == nil || slices.Contains(s.types, "number") ||
		slices.Contains(s.types, "integer") && isInteger(v.text)
}

// filterValues removes the strings and numbers that the schema lists and its bounds refuse.
func (s *scope) filterValues() {
	values := valuesOf(s.out)
	if values == nil {
		return
	}
	fits := s.bounds()
	fit := slices.DeleteFunc(slices.Clone(values), func(x *value) bool { return !fits(x) })
	if !s.strict {
		s.out.remove("format") // the values say more
	}
	switch {
	case len(fit) == 0:
		s.none = falseSchema(s.at, "no value that it lists fits the keywords beside; change one of them")
	case len(fit) < len(values):
		s.out.set("enum", newList(fit...))
	}
}

// bounds returns a function that reports whether the schema's bounds admit a string or a number.
func (s *scope) bounds() func(v *value) bool {
	var matches func(string) bool
	out := s.out
	if p := out.get("pattern"); p != nil {
		if read, err := readPattern(p.text); err == nil {
			matches = s.doc.matcher(read)
		}
	}
	return func(v *value) bool {
		switch v.kind {
		case number:
			return out.admits(v)
		case text:
			n := newNumber(strconv.Itoa(utf8.RuneCountInString(v.text)))
			return compare(n, out.get("minLength")) >= 0 && compare(out.get("maxLength"), n) >= 0 &&
				(matches == nil || matches(v.text))
		}
		return true
	}
}
