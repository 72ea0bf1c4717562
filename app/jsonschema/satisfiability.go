package jsonschema

import (
	"slices"
	"strconv"
)

// maxWeighed bounds the schemas that are examined to find those without a value.
const maxWeighed = 1_000_000

// A satisfiability check finds the schemas that no finite value satisfies. Generation would fail
// there, or never end.
type satisfiability struct {
	*tree
	root bool   // the root has a value
	live []bool // the definitions that have one
	left int
}

// removeUnsatisfiable replaces schemas that no finite value satisfies by false. It returns an error
// if the whole schema is one.
func (t *tree) removeUnsatisfiable() error {
	m := &satisfiability{tree: t, live: make([]bool, len(t.defs)), left: maxWeighed}
	referrers := t.referrers()
	queue := []int{rootNumber}
	for i := range t.defs {
		queue = append(queue, i)
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		switch {
		case n < 0 && !m.root && m.unsatisfiable(t.root) == nil:
			m.root = true
		case n >= 0 && !m.live[n] && m.unsatisfiable(t.defs[n]) == nil:
			m.live[n] = true
		default:
			continue
		}
		queue = append(queue, referrers[n]...)
	}
	if why := m.unsatisfiable(t.root); why != nil {
		return &Error{Path: why.at.String(), Message: why.text, Impossible: true}
	}
	for i := range t.defs {
		if !m.live[i] {
			t.defs[i] = &value{kind: trueKind} // it is no longer referenced
		}
	}
	for _, s := range t.all() {
		each(s, func(_ string, x *value, replace func(*value)) {
			if why := m.unsatisfiable(x); why != nil && x.kind != falseKind {
				replace(why)
			}
		})
	}
	return nil
}

// unsatisfiable returns a false schema whose text says why no finite value satisfies s, or nil.
func (m *satisfiability) unsatisfiable(s *value) *value {
	if m.left--; m.left < 0 {
		return nil
	}
	switch s.kind {
	case falseKind:
		return s
	case trueKind:
		return nil
	}
	if ref := s.get("$ref"); ref != nil {
		_, n := m.target(ref.text)
		if n < 0 && !m.root || n >= 0 && !m.live[n] {
			if n >= 0 && m.defs[n].kind == falseKind {
				return m.defs[n]
			}
			return falseSchema(s.at.under("$ref"), "what it refers to holds itself without end; require less of it")
		}
	}
	if v := s.get("allOf"); v != nil {
		for _, x := range v.list {
			if why := m.unsatisfiable(x); why != nil {
				return why
			}
		}
		if why := m.disjointValues(s, v.list); why != nil {
			return why
		}
	}
	if v := s.get("anyOf"); v != nil {
		var why *value
		for _, x := range v.list {
			if why = m.unsatisfiable(x); why == nil {
				break
			}
		}
		if why != nil {
			return why
		}
	}
	if s.hasApplicators() && m.typesOf(s, 0) == 0 {
		return falseSchema(s.at, "its parts have no type in common; change one of them")
	}
	return m.unsatisfiableTypes(s)
}

// disjointValues returns a part that lists no value that another part or the schema itself lists, or
// nil.
func (m *satisfiability) disjointValues(s *value, parts []*value) *value {
	before := valuesOf(s)
	for _, x := range parts {
		for n := 0; x.get("$ref") != nil && len(x.keys) == 1 && n < 16; n++ { // a circle has no end
			at := x.at
			to, _ := m.target(x.get("$ref").text)
			copied := *to
			copied.at = at
			x = &copied
		}
		values := valuesOf(x)
		if values == nil {
			continue
		}
		if before == nil {
			before = values
			continue
		}
		m.left -= len(before) * len(values)
		if m.left < 0 {
			return nil
		}
		var both []*value
		for _, v := range before {
			if slices.ContainsFunc(values, v.maybeEqual) {
				both = append(both, v)
			}
		}
		if before = both; before == nil {
			return falseSchema(x.at, "its const or enum has no value in common with what is "+
				"beside it; change one of the two")
		}
	}
	return nil
}

// unsatisfiableTypes returns why no value of the schema's types satisfies it, or nil.
func (m *satisfiability) unsatisfiableTypes(s *value) (why *value) {
	types := s.get("type")
	if types == nil {
		return nil
	}
	if types.kind == text {
		types = newList(types)
	}
	for _, t := range types.list {
		why = nil
		switch t.text {
		case "object":
			why = m.unsatisfiableObject(s)
		case "array":
			why = m.unsatisfiableList(s)
		}
		if why == nil {
			return nil
		}
	}
	return why
}

func (m *satisfiability) unsatisfiableObject(s *value) *value {
	required := s.get("required")
	if required == nil {
		return nil
	}
	for _, name := range required.list {
		if why := m.unsatisfiable(propertyOf(s, name.text)); why != nil {
			return why
		}
	}
	return nil
}

func (m *satisfiability) unsatisfiableList(s *value) *value {
	lo := s.get("minItems")
	if lo == nil {
		return nil
	}
	n, err := strconv.Atoi(lo.text)
	if err != nil {
		return nil
	}
	prefixLen := 0
	if v := s.get("prefixItems"); v != nil {
		prefixLen = len(v.list)
		for _, x := range v.list[:min(n, prefixLen)] {
			if why := m.unsatisfiable(x); why != nil {
				return why
			}
		}
	}
	if items := s.get("items"); items != nil && n > prefixLen {
		return m.unsatisfiable(items)
	}
	return nil
}
