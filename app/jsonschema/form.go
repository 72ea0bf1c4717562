package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

const (
	// maxBytes is the size up to which a schema is read, and up to which its form may grow.
	// llguidance reads as many in all grammars of a request.
	maxBytes = 1 << 20

	// maxSchemas bounds the schemas in all forms of a document. References multiply schemas.
	maxSchemas = 200_000
)

// Spacing is a regular expression for the white space between the parts of generated JSON. Without
// a bound a model may write white space forever.
const Spacing = `[\x20\x0A\x0D\x09]{1,32}`

// Options say how a schema is read. The zero value reads a whole schema, and leaves out what is not
// supported.
type Options struct {
	Strict bool     // refuse what is not supported
	Object bool     // the value is an object, even if the schema does not say so
	At     []string // the path from the root to the schema; nil: the root
	Rules  string   // the beginning of the names of rules; empty: "json"
}

// A Form is a schema in a form that llguidance follows.
type Form struct {
	JSON  json.RawMessage // the schema for llguidance; nil if the form needs rules
	Value string          // the value in a Lark rule
	Rules string          // the Lark rules that Value refers to, if any
}

// Lark returns a whole grammar of the value.
func (f *Form) Lark() string { return "start: " + f.Value + "\n" + f.Rules }

// An Error says why no grammar can express a schema.
type Error struct {
	Path    string // the place in the schema, as a JSON Pointer; "" for the whole
	Message string // what is wrong, and what to change

	// Impossible says that no value satisfies the schema.
	Impossible bool
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Place()[1:] + ": " + e.Message
}

// Place returns " at " and the place in the schema, or "" for the whole.
func (e *Error) Place() string {
	if e.Path == "" {
		return ""
	}
	return fmt.Sprintf(" at %.200s", strings.Map(printed, e.Path))
}

// printed returns a character, or a symbol for one that cannot be printed in a line.
func printed(c rune) rune {
	if unicode.IsPrint(c) {
		return c
	}
	return unicode.ReplacementChar
}

// A Document is a schema that has been read. Several forms may be made of its parts.
type Document struct {
	document
	draft    int
	lenient  bool   // its own options leave out what is not supported
	guidance *value // its own options for llguidance

	// What all forms have used so far.
	count   int // schemas written
	copied  int // bytes of schemas copied for several names
	bytes   int // of schemas written as JSON
	matched int // steps of matching strings
}

// Read reads a schema.
func Read(schema json.RawMessage) (*Document, error) {
	if len(schema) > maxBytes {
		return nil, &Error{Message: fmt.Sprintf("it has more than %d MiB", maxBytes>>20)}
	}
	root, err := read(schema)
	if err != nil {
		return nil, &Error{Message: "it cannot be read as JSON: " + err.Error()}
	}
	d := &Document{document: *newDocument(root), draft: 2020}
	if root.kind != object {
		return d, nil
	}
	if s := root.get("$schema"); s != nil {
		d.draft = draftOf(s.text)
	}
	if g := root.get("x-guidance"); g != nil && g.kind == object {
		d.guidance = g
		lenient := g.get("lenient")
		d.lenient = lenient != nil && lenient.kind == trueKind
	}
	return d, nil
}

// Compile returns the form of a schema. An error is an *[Error].
func Compile(schema json.RawMessage, o Options) (*Form, error) {
	d, err := Read(schema)
	if err != nil {
		return nil, err
	}
	return d.Compile(o)
}

// Lookup returns the schema of a reference in the root. ok is false if it does not exist, or if its
// text is longer than limit.
func (d *Document) Lookup(ref string, limit int) (schema json.RawMessage, ok bool) {
	to, ok := d.resolve(d.root, ref)
	if !ok || to.schema.size() > limit {
		return nil, false
	}
	return to.schema.append(nil), true
}

// CheckObject returns an *[Error] if no object satisfies a schema, strict or not. Nothing else that may be
// wrong with the schema is an error.
func CheckObject(schema json.RawMessage) *Error {
	d, err := Read(schema)
	if err != nil {
		return nil
	}
	_, err = d.tree(Options{Object: true})
	if e, ok := errors.AsType[*Error](err); ok && e.Impossible {
		return e
	}
	return nil
}

// Compile returns the form of the schema at o.At. An error is an *[Error].
func (d *Document) Compile(o Options) (*Form, error) {
	t, err := d.tree(o)
	if err != nil {
		return nil, err
	}
	return t.form(o, d.guidance)
}

// tree returns the tree of the schema at o.At.
func (d *Document) tree(o Options) (*tree, error) {
	c := &compiler{doc: d, strict: o.Strict && !d.lenient, numbers: map[*value]int{}}
	start := target{d.root, &place{}}
	for _, key := range o.At {
		next := start.schema.child(key)
		if next == nil {
			return nil, &Error{Path: start.at.under(key).String(), Message: "it is missing"}
		}
		start = target{next, start.at.under(key)}
	}
	c.start = start.schema
	root := c.schema(start.schema, start.at)
	for len(c.defs) < len(c.targets) { // compiling one may add others
		t := c.targets[len(c.defs)]
		c.defs = append(c.defs, c.schema(t.schema, t.at))
	}
	if c.err != nil {
		return nil, c.err
	}
	t := &tree{root: root, defs: c.defs, strict: c.strict, bytes: &d.bytes}
	if c.strict && d.guidance != nil {
		coerce := d.guidance.get("coerce_one_of")
		t.coerce = coerce != nil && coerce.kind == trueKind
	}
	if o.Object && root.kind != falseKind {
		if err := t.requireObject(); err != nil {
			return nil, err
		}
	}
	return t, t.simplify()
}

// requireObject restricts the root to objects. A root that is never one is refused.
func (t *tree) requireObject() error {
	switch s := t.root; {
	case t.typesOf(s, 0)&objectBit == 0:
		return &Error{Path: s.at.String(), Message: `it admits no object; let its type be "object"`,
			Impossible: true}
	case s.kind == trueKind:
		t.root = newObject()
		t.root.set("type", newText("object"))
	default:
		s.set("type", newText("object"))
	}
	return nil
}

// simplify makes the changes that need the whole tree.
func (t *tree) simplify() error {
	if err := t.cutCycles(); err != nil {
		return err
	}
	if err := t.decideChoices(); err != nil {
		return err
	}
	return t.removeUnsatisfiable()
}

// form returns the form of the tree.
func (t *tree) form(o Options, guidance *value) (*Form, error) {
	if guidance == nil {
		guidance = newObject()
		guidance.set("whitespace_pattern", newText(Spacing))
		if !t.strict {
			guidance.set("lenient", &value{kind: trueKind})
		}
	}
	e := newExact(t, o.Rules, guidance)
	f := &Form{}
	if !e.listsRounded(t.root) {
		f.JSON = e.json(t.root)
		f.Value = "%json " + string(f.JSON)
	} else {
		f.Value = e.value(t.root)
		f.Rules = e.rules.String()
	}
	if e.err != nil {
		return nil, e.err
	}
	if len(f.Value)+len(f.Rules) > maxBytes {
		return nil, errLarge()
	}
	return f, nil
}

// errLarge refuses a schema whose form would be too large.
func errLarge() *Error {
	return &Error{Message: fmt.Sprintf("it has more than %d MiB, with what its members refer to",
		maxBytes>>20)}
}
