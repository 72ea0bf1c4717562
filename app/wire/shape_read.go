package wire

import (
	"fmt"
	"math"
	"slices"
)

// each calls f for s and for its alternatives and parts, until f returns true.
func (s *Shape) each(f func(*Shape) bool) bool {
	if s == nil {
		return false
	}
	if f(s) {
		return true
	}
	deeper := func(sub *Shape) bool { return sub.each(f) }
	return slices.ContainsFunc(s.either, deeper) || slices.ContainsFunc(s.both, deeper)
}

// mustHave panics if the shape declares fields and key is not one of them.
func (s *Shape) mustHave(path, key string) {
	declares := func(s *Shape) bool { return s.fields != nil || s.values != nil }
	if !s.each(declares) || s.each(func(s *Shape) bool { return s.field(key) != nil }) {
		return
	}
	panic(fmt.Sprintf("wire: the shape of the body has no %s%s", path, key))
}

// field returns the shape of a field that s itself declares, or nil.
func (s *Shape) field(key string) *Shape {
	for _, f := range s.fields {
		if f.name == key {
			return f.shape
		}
	}
	return s.values
}

// find calls f for the shapes that a field may have, until f returns true.
func (s *Shape) find(key string, f func(*Shape) bool) bool {
	return s.each(func(s *Shape) bool { return s.field(key).each(f) })
}

// bounds returns the bounds of a field that is a number.
func (s *Shape) bounds(key string) (lo, hi float64) {
	if !s.find(key, func(s *Shape) bool {
		if s.lo == nil || s.kind != "number" && s.kind != "integer" {
			return false
		}
		lo, hi = *s.lo, math.MaxFloat64
		if s.hi != nil {
			hi = *s.hi
		}
		return true
	}) {
		panic(fmt.Sprintf("wire: the shape of the body has no bounds for %s", key))
	}
	return lo, hi
}

// choices returns the allowed words of a field, in the order of the shape and its alternatives.
func (s *Shape) choices(key string) (words []string) {
	s.find(key, func(s *Shape) bool {
		for _, v := range s.words {
			if w, ok := v.(string); ok && w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		return false
	})
	if words == nil {
		panic(fmt.Sprintf("wire: the shape of the body has no words for %s", key))
	}
	return words
}

// inside returns the shape of the objects in a field, or in its list; nil for any.
func (s *Shape) inside(key string, list bool) *Shape {
	var found []*Shape
	s.find(key, func(s *Shape) bool {
		switch {
		case list && s.items != nil:
			found = append(found, s.items)
		case !list && (s.fields != nil || s.values != nil):
			found = append(found, s)
		}
		return false
	})
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	return Either(found...)
}
