package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

// A document is a whole schema and what references within it can name.
type document struct {
	root *value
	base *url.URL

	anchors map[string]target // by the URI with its fragment
	bases   map[*value]*url.URL
}

// A target is the schema of a reference.
type target struct {
	schema *value
	at     *place
}

// newDocument indexes a schema.
func newDocument(root *value) *document {
	d := &document{root: root, base: &url.URL{}, anchors: map[string]target{},
		bases: map[*value]*url.URL{}}
	d.index(root, d.base, &place{})
	return d
}

// dataKeywords have values that are not schemas, even if they look like one.
var dataKeywords = map[string]bool{
	"const": true, "enum": true, "default": true, "examples": true, "example": true,
}

// index finds the names of schemas within v. data of a property named like a keyword is indexed
// as well, which does no harm.
func (d *document) index(v *value, base *url.URL, at *place) {
	switch v.kind {
	case list:
		for i, x := range v.list {
			d.index(x, base, at.item(i))
		}
		return
	case object:
	default:
		return
	}
	for _, key := range []string{"$id", "id"} { // id is the name in draft 4
		id := v.get(key)
		if id == nil || id.kind != text {
			continue
		}
		u, err := base.Parse(id.text)
		if err != nil {
			continue
		}
		if fragment := u.Fragment; fragment != "" {
			d.name(base, fragment, v, at) // an anchor in draft 7
			continue
		}
		if key == "id" && !strings.ContainsAny(id.text, "/:.#") {
			continue // more likely a property's name
		}
		base = u
		d.name(base, "", v, at)
	}
	if base != d.base {
		d.bases[v] = base
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.get(key); a != nil && a.kind == text {
			d.name(base, a.text, v, at)
		}
	}
	for _, key := range v.keys {
		if !dataKeywords[key] {
			d.index(v.members[key], base, at.under(key))
		}
	}
}

// name registers a URI and a fragment for a schema, unless the name is taken.
func (d *document) name(base *url.URL, fragment string, v *value, at *place) {
	key := withoutFragment(base) + "#" + fragment
	if _, ok := d.anchors[key]; !ok {
		d.anchors[key] = target{v, at}
	}
}

func withoutFragment(u *url.URL) string {
	c := *u
	c.Fragment, c.RawFragment = "", ""
	return c.String()
}

// resolve returns the target of a reference in from. ok is false if the document does not have it.
func (d *document) resolve(from *value, ref string) (to target, ok bool) {
	base := d.bases[from]
	if base == nil {
		base = d.base
	}
	before, fragment, _ := strings.Cut(ref, "#")
	resource := target{d.root, &place{}}
	uri := withoutFragment(base)
	if before != "" {
		u, err := base.Parse(before)
		if err != nil {
			return target{}, false
		}
		uri = withoutFragment(u)
	}
	if uri != "" {
		if resource, ok = d.anchors[uri+"#"]; !ok {
			return target{}, false
		}
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		decoded = fragment
	}
	for _, f := range []string{decoded, fragment} { // some libraries do not encode
		if to, ok = d.find(resource, uri, f); ok {
			return to, true
		}
		// A reference is often written from the top, though a schema above it has an id.
		if to, ok = d.find(target{d.root, &place{}}, uri, f); ok {
			return to, true
		}
	}
	return target{}, false
}

// find returns what a decoded fragment names in a resource.
func (d *document) find(resource target, uri, fragment string) (target, bool) {
	if fragment == "" {
		return resource, true
	}
	pointer, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		to, ok := d.anchors[uri+"#"+fragment]
		return to, ok
	}
	to := resource
	for token := range strings.SplitSeq(pointer, "/") {
		next := to.schema.child(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if next == nil {
			if next = to.schema.child(token); next == nil {
				if pointer == "" { // "#/" for the whole
					return resource, true
				}
				return target{}, false
			}
		}
		to = target{next, to.at.under(token)}
	}
	return to, true
}

// child returns the member or element that a token of a JSON Pointer names, or nil.
func (v *value) child(token string) *value {
	switch v.kind {
	case object:
		return v.get(token)
	case list:
		i, err := strconv.Atoi(token)
		if err == nil && i >= 0 && i < len(v.list) && strconv.Itoa(i) == token {
			return v.list[i]
		}
	}
	return nil
}
