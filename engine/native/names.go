package native

import "slices"

// llguidance's time grows faster than the names of an object:
//
//   - by the square of the names: 8,000 take ten seconds
//   - by their cube in a closed object with minProperties: 600 take ten seconds
//   - faster still with patterns, since it compares each with each: 1,000 take minutes
//
// It bounds the sum over all objects itself.
const (
	maxNames         = 2000   // names in an object, together with the schemas that hold beside it
	maxPatterns      = 100    // patterns of names in an object
	maxMinProperties = 40_000 // sum of the squares of names, over closed objects with minProperties
)

// names counts the names of properties in the schemas of one grammar.
type names struct {
	err           error
	minProperties int

	root   any
	opened map[string]object // references
}

// An object counts the names of one object, together with the schemas that hold beside it.
type object struct {
	names, patterns int
	closed          bool // other names are refused
	minProperties   bool // minProperties asks for some
}

// add counts the names in a whole schema.
func (n *names) add(root any) {
	n.root, n.opened = root, map[string]object{}
	n.each(root)
	if n.minProperties > maxMinProperties {
		n.fail("minProperties leaves too much open: the squares of the numbers of names beside it "+
			"make more than %d", maxMinProperties)
	}
}

func (n *names) fail(format string, args ...any) {
	if n.err == nil {
		n.err = tooMuch(format, args...)
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
		if o.names > maxNames {
			n.fail("an object has %d names of properties, and %d are possible", o.names, maxNames)
		}
		if o.patterns > maxPatterns {
			n.fail("an object has %d patterns of names, and %d are possible",
				o.patterns, maxPatterns)
		}
		if o.minProperties && o.closed && !stands(v) {
			n.minProperties += o.names * o.names
		}
		for _, x := range v {
			n.each(x)
		}
	}
}

// annotations are the keywords that llguidance does not join with others.
var annotations = []string{
	"$anchor", "$defs", "definitions", "$schema", "$id", "id", "$comment", "title", "description",
	"default", "readOnly", "writeOnly", "examples", "contentMediaType", "contentEncoding",
}

// stands reports whether a schema is only a reference or only alternatives. llguidance makes no
// object of it, and makes their objects once.
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

// besides counts the names in required that are not in properties. llguidance makes properties of
// them.
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

// object counts the names that a schema gives an object. Among alternatives the largest counts.
func (n *names) object(v any) (o object) {
	s, _ := v.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	required, _ := s["required"].([]any)
	minProperties, _ := s["minProperties"].(float64)
	o = object{
		names:         len(properties) + besides(properties, required),
		patterns:      len(patterns),
		closed:        s["additionalProperties"] == false,
		minProperties: minProperties > 0,
	}
	with := func(x object) {
		o.names += x.names
		o.patterns += x.patterns
		o.closed, o.minProperties = o.closed || x.closed, o.minProperties || x.minProperties
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
			widest = object{
				names:         max(widest.names, y.names),
				patterns:      max(widest.patterns, y.patterns),
				closed:        widest.closed || y.closed,
				minProperties: widest.minProperties || y.minProperties,
			}
		}
		with(widest)
	}
	if ref, ok := s["$ref"].(string); ok {
		x, ok := n.opened[ref]
		if !ok {
			n.opened[ref] = object{} // in case it refers to itself
			x = n.object(find(n.root, ref))
			n.opened[ref] = x
		}
		with(x)
	}
	return o
}
