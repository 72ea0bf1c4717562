package jsonschema

import "slices"

// cutCycles handles references that have to be joined with the keywords beside them before their
// target is known. llguidance cannot join these. A strict schema keeps them, and is refused;
// another loses the keywords beside them.
func (t *tree) cutCycles() error {
	w := &cycleCutter{tree: t, seen: map[int]bool{}, open: map[int]bool{}}
	w.walk(t.root, false)
	return w.err
}

// cycleCutter walks a tree in the order in which llguidance reads it.
type cycleCutter struct {
	*tree
	seen, open map[int]bool // definitions: read or being read; being read
	err        error
}

// walk reads a schema. joined says whether it applies together with others.
func (w *cycleCutter) walk(s *value, joined bool) {
	if s.kind != object {
		return
	}
	if ref := s.get("$ref"); ref != nil {
		to, n := w.target(ref.text)
		if !w.seen[n] {
			w.seen[n], w.open[n] = true, true
			w.walk(to, false)
			delete(w.open, n)
		}
		if w.open[n] && (joined || len(s.keys) > 1) {
			w.cut(s, ref, joined)
		}
	}
	all := s.get("allOf")
	beside := joined || len(s.keys) > 1 || all != nil && len(all.list) > 1
	each(s, func(key string, x *value, _ func(*value)) {
		w.walk(x, beside && slices.Contains(applicators, key))
	})
}

// cut removes the keywords beside a reference, or the reference itself.
func (w *cycleCutter) cut(s, ref *value, joined bool) {
	if w.strict {
		if w.err == nil {
			w.err = &Error{Path: s.at.under("$ref").String(), Message: "a reference to a schema " +
				"that contains it cannot have other keywords beside it: remove these"}
		}
		return
	}
	if joined {
		s.remove("$ref")
		return
	}
	for _, key := range slices.Clone(s.keys) {
		if key != "$ref" {
			s.remove(key)
		}
	}
}
