package native

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxMerged bounds the schemas that llguidance makes by joining others. It joins each
	// alternative of one schema with each of the other, and copies their contents. A list of 1,000
	// beside an object of 10,000 names makes ten million schemas, which take gigabytes.
	maxMerged = 500_000

	// maxOpened is the depth to which references inside joined schemas are followed. llguidance
	// opens one only where both sides have a property of the same name.
	maxOpened = 3
)

// merges estimates the schemas that llguidance makes by joining the schemas of one grammar.
type merges struct {
	made float64

	root   any
	opened map[opening]weight
}

// An opening is a reference and the depth to which references in it are followed.
type opening struct {
	ref  string
	deep int
}

// A weight is the size of a schema for joining: the schemas in it, and the ways in which another
// schema meets it.
type weight struct{ size, ways float64 }

var light = weight{1, 1}

// add counts the joined schemas of a whole schema.
func (m *merges) add(root any) {
	m.root, m.opened = root, map[opening]weight{}
	m.weigh(root, maxOpened)
}

// both returns the weight of two joined schemas.
func both(a, b weight) weight { return weight{a.size*b.ways + b.size*a.ways, a.ways * b.ways} }

// within adds a schema inside this one.
func (w *weight) within(x weight) {
	w.size += x.size
	w.ways = max(w.ways, x.ways)
}

// either adds an alternative.
func (w *weight) either(x weight) {
	w.size += x.size
	w.ways += x.ways
}

var (
	// silentKeywords say nothing about a value.
	silentKeywords = []string{
		"$schema", "$id", "id", "$anchor", "$comment", "title", "description", "default",
		"examples", "example", "deprecated", "readOnly", "writeOnly", "x-guidance",
	}
	// joinKeywords are joined with the keywords beside them.
	joinKeywords = []string{"const", "enum", "allOf", "anyOf", "oneOf", "$ref"}
	// nameKeywords have members that are names and no keywords.
	nameKeywords = []string{"properties", "patternProperties", "dependentSchemas", "dependencies"}
	// laterKeywords count where a reference leads to them.
	laterKeywords = []string{"$defs", "definitions"}
)

// weigh returns the weight of a schema and counts the schemas that are made of it.
func (m *merges) weigh(v any, deep int) weight {
	s, ok := v.(map[string]any)
	if !ok {
		return light
	}
	whole, said := light, false
	var parts []weight
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch x := s[key]; {
		case slices.Contains(silentKeywords, key):
		case slices.Contains(laterKeywords, key):
			m.weighAll(x, deep)
		case slices.Contains(joinKeywords, key):
			parts = append(parts, m.join(key, x, deep)...)
		case slices.Contains(nameKeywords, key):
			whole.within(m.weighAll(x, deep))
			said = true
		default:
			if list, ok := x.([]any); ok {
				whole.within(m.weighAll(list, deep))
			} else {
				whole.within(m.weigh(x, deep))
			}
			said = true
		}
	}
	if said {
		parts = append(parts, whole)
	}
	if len(parts) == 0 {
		return light
	}
	all := parts[0]
	for _, p := range parts[1:] {
		all = both(all, p)
		m.made += all.size
	}
	return all
}

// weighAll returns the weight of all members of a list or object.
func (m *merges) weighAll(v any, deep int) weight {
	sum := weight{0, 1}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			sum.within(m.weigh(x, deep))
		}
	case map[string]any:
		for _, x := range v {
			sum.within(m.weigh(x, deep))
		}
	}
	return sum
}

// join returns the weights of the schemas that a keyword joins.
func (m *merges) join(key string, v any, deep int) (parts []weight) {
	list, _ := v.([]any)
	switch key {
	case "allOf":
		for _, x := range list {
			parts = append(parts, m.weigh(x, deep))
		}
		return parts
	case "anyOf", "oneOf":
		if len(list) == 0 {
			return nil
		}
		var sum weight
		for _, x := range list {
			sum.either(m.weigh(x, deep))
		}
		return []weight{sum}
	case "enum":
		n := float64(max(1, len(list)))
		return []weight{{n, n}}
	case "$ref":
		ref, _ := v.(string)
		return []weight{m.open(opening{ref, deep})}
	}
	return []weight{light}
}

// open returns the weight of a reference's target. The target itself counts where it stands.
func (m *merges) open(o opening) weight {
	if o.deep == 0 {
		return light
	}
	w, ok := m.opened[o]
	if ok {
		return w
	}
	m.opened[o] = light // in case it refers to itself
	made := m.made
	w = m.weigh(find(m.root, o.ref), o.deep-1)
	m.made, m.opened[o] = made, w
	return w
}

// find returns the target of a reference within the schema, nil if there is none.
func find(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}
