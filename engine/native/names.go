package native

import (
	"fmt"
	"slices"
)

// llguidance takes time by the square of the names of an object, by their cube where there is to be one
// of them at least, and by more than that of patterns, each of which it compares with each: 8,000 names,
// or 600 of such, take ten seconds, and 1,000 patterns minutes. What there is in all it bounds itself.
const (
	mostNames    = 2000   // of an object, all that holds together taken as one
	mostPatterns = 100    // of names, of an object
	mostLeast    = 40_000 // squares of the names of closed objects with minProperties, in all
)

// names count what some schemas say of the names of objects.
type names struct {
	err   error
	least int

	root   any
	opened map[string]object // references
}

// An object is what a schema says of one, with all that holds together with it.
type object struct {
	names, patterns int
	closed, least   bool // there are no others; some there must be
}

// add counts those of a whole schema.
func (n *names) add(root any) {
	n.root, n.opened = root, map[string]object{}
	n.each(root)
	if n.least > mostLeast {
		n.fail("minProperties leaves too much open: the squares of the numbers of names beside it make more than %d", mostLeast)
	}
}

func (n *names) fail(format string, args ...any) {
	if n.err == nil {
		n.err = &GrammarError{Kind: KindLimit, Message: fmt.Sprintf(format, args...)}
	}
}

// each counts a value and all values within it.
func (n *names) each(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n.each(x)
		}
	case map[string]any:
		o := n.object(v)
		if o.names > mostNames {
			n.fail("an object has %d names of properties, and %d are possible", o.names, mostNames)
		}
		if o.patterns > mostPatterns {
			n.fail("an object has %d patterns of names, and %d are possible", o.patterns, mostPatterns)
		}
		if o.least && o.closed && !stands(v) {
			n.least += o.names * o.names
		}
		for _, x := range v {
			n.each(x)
		}
	}
}

// annotations are keywords beside which nothing has to hold together, as llguidance has them.
var annotations = []string{
	"$anchor", "$defs", "definitions", "$schema", "$id", "id", "$comment", "title", "description", "default",
	"readOnly", "writeOnly", "examples", "contentMediaType", "contentEncoding",
}

// stands reports whether a schema only stands for others, a reference or alternatives: no object
// is made for it then, and theirs are made once, however often they are referred to.
func stands(s map[string]any) bool {
	others := 0
	for key, x := range s {
		switch key {
		case "$ref", "anyOf", "oneOf":
			others++
		case "allOf":
			list, _ := x.([]any)
			others += len(list)
		default:
			if !slices.Contains(annotations, key) {
				return false
			}
		}
	}
	return others == 1
}

// besides counts the names of required that are not in properties, of which llguidance makes some.
func besides(properties map[string]any, required []any) int {
	var more map[string]bool
	for _, x := range required {
		name, _ := x.(string)
		if _, ok := properties[name]; ok || more[name] {
			continue
		}
		if more == nil {
			more = map[string]bool{}
		}
		more[name] = true
	}
	return len(more)
}

// object returns what a schema says of an object. Of alternatives each counts by itself.
func (n *names) object(v any) (o object) {
	s, _ := v.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	required, _ := s["required"].([]any)
	least, _ := s["minProperties"].(float64)
	o = object{len(properties) + besides(properties, required), len(patterns), s["additionalProperties"] == false, least > 0}
	with := func(x object) {
		o.names += x.names
		o.patterns += x.patterns
		o.closed, o.least = o.closed || x.closed, o.least || x.least
	}
	all, _ := s["allOf"].([]any)
	for _, x := range all {
		with(n.object(x))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		var widest object
		list, _ := s[key].([]any)
		for _, x := range list {
			y := n.object(x)
			widest = object{max(widest.names, y.names), max(widest.patterns, y.patterns), widest.closed || y.closed, widest.least || y.least}
		}
		with(widest)
	}
	if ref, ok := s["$ref"].(string); ok {
		x, ok := n.opened[ref]
		if !ok {
			n.opened[ref] = object{} // where it refers to itself
			x = n.object(find(n.root, ref))
			n.opened[ref] = x
		}
		with(x)
	}
	return o
}
