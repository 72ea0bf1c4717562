package jsonschema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// An exact writes a tree as a Lark grammar. Where a schema lists a number that llguidance's %json would
// round, it writes rules down to that number. All other schemas become %json.
type exact struct {
	*tree
	prefix   string
	guidance *value

	listed map[*value]bool   // whether a schema lists such a number, or refers to one that does
	made   map[*value]string // rules of definitions
	spaced bool              // the rule of white space was added
	rules  strings.Builder
	count  int
	err    error
}

func newExact(t *tree, prefix string, guidance *value) *exact {
	if prefix == "" {
		prefix = "json"
	}
	e := &exact{tree: t, prefix: prefix, guidance: guidance, listed: map[*value]bool{},
		made: map[*value]string{}}
	var found []int
	for n, d := range t.numbered() {
		walk(d, func(s *value) {
			e.listed[d] = e.listed[d] || slices.ContainsFunc(valuesOf(s), hasRounded)
		})
		if e.listed[d] {
			found = append(found, n)
		}
	}
	referrers := t.referrers()
	for len(found) > 0 {
		n := found[0]
		found = found[1:]
		for _, from := range referrers[n] {
			if d := t.schema(from); !e.listed[d] {
				e.listed[d] = true
				found = append(found, from)
			}
		}
	}
	return e
}

// listsRounded reports whether a schema, in itself or by reference, lists a number to be rounded.
func (e *exact) listsRounded(s *value) bool {
	found, known := e.listed[s]
	if known || s.kind != object {
		return found
	}
	found = slices.ContainsFunc(valuesOf(s), hasRounded)
	if ref := s.get("$ref"); ref != nil && !found {
		to, _ := e.target(ref.text)
		found = e.listed[to]
	}
	each(s, func(_ string, x *value, _ func(*value)) { found = e.listsRounded(x) || found })
	e.listed[s] = found
	return found
}

// hasRounded reports whether a value has a number that llguidance would round.
func hasRounded(v *value) bool {
	switch v.kind {
	case number:
		return !faithful(v.text)
	case list:
		return slices.ContainsFunc(v.list, hasRounded)
	case object:
		return slices.ContainsFunc(v.keys, func(key string) bool { return hasRounded(v.get(key)) })
	}
	return false
}

// fail refuses a schema that the rules cannot express.
func (e *exact) fail(s *value) string {
	if e.err == nil {
		e.err = &Error{Path: s.at.String(), Message: "its numbers have more digits than can be kept " +
			"beside its other keywords: write them as texts, or leave the other keywords out"}
	}
	return `""`
}

// json returns a schema for llguidance, with the definitions that it refers to.
func (e *exact) json(s *value) []byte {
	out := newObject()
	if s.kind == object {
		out = s.clone()
	}
	defs, queue := newObject(), []*value{s}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if x.kind != object {
			continue
		}
		if ref := x.get("$ref"); ref != nil {
			if to, n := e.target(ref.text); n >= 0 {
				name := ref.text[len(defsPrefix):]
				if defs.get(name) == nil {
					defs.set(name, to)
					queue = append(queue, to)
				}
			}
		}
		each(x, func(_ string, y *value, _ func(*value)) { queue = append(queue, y) })
	}
	out.keys = append([]string{"x-guidance"}, out.keys...)
	out.members["x-guidance"] = e.guidance
	if len(defs.keys) > 0 {
		out.set("$defs", defs)
	}
	text := out.append(nil)
	if *e.bytes += len(text); *e.bytes > maxBytes && e.err == nil {
		e.err = errLarge()
	}
	return text
}

// addRule adds a rule and returns its name.
func (e *exact) addRule(body string) string {
	name := e.newName()
	fmt.Fprintf(&e.rules, "%s: %s\n", name, body)
	return name
}

func (e *exact) newName() string {
	e.count++
	return fmt.Sprintf("%s_x%d", e.prefix, e.count)
}

// literal returns the Lark literal of a string.
func literal(s string) string { return string(appendText(nil, s)) }

// value returns the rule of a value by a schema.
func (e *exact) value(s *value) string {
	if e.err != nil {
		return `""`
	}
	if !e.listsRounded(s) {
		return "%json " + string(e.json(s))
	}
	beside := slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return key == "type" })
	only := func(key string) bool { return len(beside) == 1 && beside[0] == key }
	switch {
	case valuesOf(s) != nil:
		return e.values(s)
	case only("$ref") && s.get("type") == nil:
		to, _ := e.target(s.get("$ref").text)
		return e.definition(to)
	case only("allOf") && len(s.get("allOf").list) == 1 && s.get("type") == nil:
		return e.value(s.get("allOf").list[0])
	case only("anyOf"):
		return e.options(s)
	case slices.ContainsFunc(beside, func(key string) bool {
		return key == "$ref" || slices.Contains(applicators, key)
	}):
		return e.fail(s)
	}
	return e.structure(s)
}

// definition returns the rule of a definition.
func (e *exact) definition(s *value) string {
	name, ok := e.made[s]
	if !ok {
		name = e.newName()
		e.made[s] = name
		body := e.value(s)
		fmt.Fprintf(&e.rules, "%s: %s\n", name, body)
	}
	return name
}

// options returns the rule of one of several schemas.
func (e *exact) options(s *value) string {
	var list []string
	types := s.get("type")
	for _, x := range s.get("anyOf").list {
		switch {
		case x.kind == falseKind:
			continue
		case types != nil && (x.kind != object || x.get("type") == nil ||
			!slices.Equal(types.append(nil), x.get("type").append(nil))):
			return e.fail(s)
		}
		list = append(list, e.value(x))
	}
	return "(" + strings.Join(list, " | ") + ")"
}

// values returns the rule of a value that a schema lists. Each number keeps its digits.
func (e *exact) values(s *value) string {
	var rules []string
	others := newList()
	for _, v := range valuesOf(s) {
		switch {
		case !hasRounded(v):
			others.list = append(others.list, v)
		case v.kind != number && len(s.keys) > 1 && !s.onlyTyped():
			return e.fail(s)
		case v.kind == number && !s.hasApplicators() && s.admits(v):
			rules = append(rules, literal(v.text))
		case v.kind != number:
			rules = append(rules, literal(string(v.append(nil))))
		case s.hasApplicators():
			return e.fail(s)
		}
	}
	if len(others.list) > 0 {
		rest := s.clone()
		rest.remove("const")
		rest.set("enum", others)
		if rest.removeStructure() && slices.ContainsFunc(others.list, func(v *value) bool {
			return v.kind == list || v.kind == object
		}) || s.hasApplicators() {
			return e.fail(s)
		}
		rules = append(rules, "%json "+string(e.json(rest)))
	}
	if rules == nil {
		return e.fail(s)
	}
	return "(" + strings.Join(rules, " | ") + ")"
}

// onlyTyped reports whether a schema has values and at most a type beside them.
func (s *value) onlyTyped() bool {
	return len(s.keys) == 1 || len(s.keys) == 2 && s.get("type") != nil
}

// removeStructure removes the keywords of objects and lists. It reports whether there were any.
func (s *value) removeStructure() (had bool) {
	for _, key := range []string{"properties", "patternProperties", "additionalProperties",
		"required", "minProperties", "maxProperties", "items", "prefixItems", "minItems",
		"maxItems"} {
		had = had || s.get(key) != nil
		s.remove(key)
	}
	return had
}

func (s *value) hasApplicators() bool {
	return s.get("$ref") != nil || slices.ContainsFunc(applicators, func(key string) bool {
		return s.get(key) != nil
	})
}

// admits reports whether a schema's bounds admit a number.
func (s *value) admits(v *value) bool {
	if m := s.get("multipleOf"); m != nil {
		n, known := rational(v)
		r, ok := rational(m)
		if !known || !ok || !new(big.Rat).Quo(n, r).IsInt() {
			return false
		}
	}
	return compare(v, s.get("minimum")) >= 0 && compare(s.get("maximum"), v) >= 0 &&
		(s.get("exclusiveMinimum") == nil || compare(v, s.get("exclusiveMinimum")) > 0) &&
		(s.get("exclusiveMaximum") == nil || compare(s.get("exclusiveMaximum"), v) > 0)
}

// compare compares two numbers. One that is missing compares as equal, and one that is too long for
// arithmetic as less.
func compare(a, b *value) int {
	if a == nil || b == nil {
		return 0
	}
	x, known := rational(a)
	y, both := rational(b)
	if !known || !both {
		return -1
	}
	return x.Cmp(y)
}
