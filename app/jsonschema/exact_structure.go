package jsonschema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// structure returns the rule of a value by its types.
func (e *exact) structure(s *value) string {
	types := allTypes
	if v := s.get("type"); v != nil && v.kind == text {
		types = []string{v.text}
	} else if v != nil {
		types = nil
		for _, t := range v.list {
			types = append(types, t.text)
		}
	}
	var list []string
	scalars := newList()
	for _, name := range types {
		switch name {
		case "object":
			list = append(list, e.members(s))
		case "array":
			list = append(list, e.elements(s))
		default:
			scalars.list = append(scalars.list, newText(name))
		}
	}
	if len(scalars.list) > 0 {
		rest := s.clone()
		rest.set("type", scalars)
		rest.removeStructure()
		list = append(list, "%json "+string(e.json(rest)))
	}
	return "(" + strings.Join(list, " | ") + ")"
}

// space returns the rule of optional white space.
func (e *exact) space() string {
	name := strings.ToUpper(e.prefix) + "_SPACE"
	if !e.spaced {
		e.spaced = true
		fmt.Fprintf(&e.rules, "%s: /%s/\n", name, Spacing)
	}
	return name + "?"
}

// between returns the rule of the comma between two parts.
func (e *exact) between() string { return e.space() + ` "," ` + e.space() }

// members returns the rule of an object. Its named properties come in their order, and others after
// them.
func (e *exact) members(s *value) string {
	for _, key := range []string{"patternProperties", "minProperties", "maxProperties"} {
		if s.get(key) != nil {
			return e.fail(s)
		}
	}
	properties := s.get("properties")
	if properties == nil {
		properties = newObject()
	}
	required := map[string]bool{}
	names := slices.Clone(properties.keys)
	if v := s.get("required"); v != nil {
		for _, x := range v.list {
			if required[x.text] = true; properties.get(x.text) == nil {
				names = append(names, x.text)
			}
		}
	}
	colon := " " + e.space() + ` ":" ` + e.space() + " "
	first, later := e.others(s, names, colon)
	for _, name := range slices.Backward(names) {
		x := propertyOf(s, name)
		if x.kind == falseKind {
			continue // surely not required
		}
		member := literal(literal(name)) + colon + e.value(x)
		if required[name] {
			first = e.addRule(member + " " + later)
			later = e.addRule(e.between() + " " + member + " " + later)
			continue
		}
		rest := first
		first = e.addRule(fmt.Sprintf("%s %s | %s", member, later, rest))
		later = e.addRule(fmt.Sprintf("(%s %s)? %s", e.between(), member, later))
	}
	return fmt.Sprintf(`"{" %s %s %s "}"`, e.space(), first, e.space())
}

// others returns the rules of the properties after the named ones: if none came before, and if one
// did.
func (e *exact) others(s *value, names []string, colon string) (first, later string) {
	x := &value{kind: trueKind}
	if v := s.get("additionalProperties"); v != nil {
		x = v
	}
	if x.kind == falseKind {
		return e.addRule(`""`), e.addRule(`""`)
	}
	name := strings.ToUpper(e.newName())
	body := `/"[^"\\\x00-\x1f\x7f]*"/`
	if len(names) > 0 {
		var taken []string
		for _, n := range names {
			taken = append(taken, literal(literal(n)))
		}
		body += " & ~(" + strings.Join(taken, " | ") + ")"
	}
	fmt.Fprintf(&e.rules, "%s: %s\n", name, body)
	member := e.addRule(name + colon + e.value(x))
	later = e.addRule(fmt.Sprintf("(%s %s)*", e.between(), member))
	return e.addRule(fmt.Sprintf("(%s %s)?", member, later)), later
}

// elements returns the rule of a list.
func (e *exact) elements(s *value) string {
	bound := func(key string, otherwise int) int {
		if v := s.get(key); v != nil {
			if n, err := strconv.Atoi(v.text); err == nil {
				return n
			}
		}
		return otherwise
	}
	lo, hi := bound("minItems", 0), bound("maxItems", unbounded)
	var prefix []*value
	if v := s.get("prefixItems"); v != nil {
		prefix = v.list
	}
	if hi != unbounded && len(prefix) > hi {
		prefix = prefix[:hi]
	}
	items := s.get("items")
	if items == nil {
		items = &value{kind: trueKind}
	}
	for i, x := range prefix {
		if x.kind == falseKind { // the list is shorter
			prefix, items = prefix[:i], x
			break
		}
	}
	inner := e.tail(items, max(0, lo-len(prefix)), hi, len(prefix))
	for i, x := range slices.Backward(prefix) {
		part := e.value(x) + " " + inner
		if i > 0 {
			part = e.between() + " " + part
		}
		if i >= lo {
			part = "(" + part + ")?"
		}
		inner = e.addRule(part)
	}
	return fmt.Sprintf(`"[" %s %s %s "]"`, e.space(), inner, e.space())
}

// tail returns the rule of the elements after the first n.
func (e *exact) tail(items *value, lo, hi, n int) string {
	if hi != unbounded {
		hi -= n
	}
	if items.kind == falseKind || hi == 0 {
		return `""`
	}
	item := e.addRule(e.value(items))
	times := func(low, high int) string {
		if high == unbounded {
			return fmt.Sprintf("{%d,}", low)
		}
		return fmt.Sprintf("{%d,%d}", low, high)
	}
	if n > 0 {
		return e.addRule(fmt.Sprintf("(%s %s)%s", e.between(), item, times(lo, hi)))
	}
	list := item
	if hi != 1 {
		list += fmt.Sprintf(" (%s %s)%s", e.between(), item,
			times(max(0, lo-1), max(unbounded, hi-1)))
	}
	if lo == 0 {
		list = "(" + list + ")?"
	}
	return e.addRule(list)
}
