package wire

import (
	"math"
	"slices"
)

// A Shape says which values a JSON value may have. The readers of a body take bounds and words from
// it, and the OpenAPI document is made from it. A Shape never changes: its methods return a changed
// copy. Any goroutine may use it.
type Shape struct {
	name   string // of the schema in OpenAPI; empty if it has no schema of its own
	doc    string
	kind   string   // JSON type; empty for any
	words  []any    // the allowed values; nil for any
	lo, hi *float64 // of a number, of a text's characters, or of a list's items; nil for no bound
	items  *Shape   // of a list
	fields []Field  // of an object
	values *Shape   // of an object's other fields; nil for any
	either []*Shape // the value has one of these
	both   []*Shape // the value has all of these
	null   bool     // it may be null
	more   map[string]any
}

// A Field is a field of an object.
type Field struct {
	name   string
	doc    string
	shape  *Shape
	absent bool // it may be left out
	null   bool // it may be null, which counts as left out
}

// Required returns a field that must be present.
func Required(name string, s *Shape, doc ...string) Field {
	return Field{name: name, shape: s, doc: first(doc)}
}

// Optional returns a field of a request that may be absent or null.
func Optional(name string, s *Shape, doc ...string) Field {
	return Field{name: name, shape: s, doc: first(doc), absent: true, null: true}
}

// OmitOnly returns a field that may be absent, but not null.
func OmitOnly(name string, s *Shape, doc ...string) Field {
	return Field{name: name, shape: s, doc: first(doc), absent: true}
}

func first(doc []string) string {
	if doc == nil {
		return ""
	}
	return doc[0]
}

// MaxExact is the largest whole number n with every number up to n exact in JSON.
const MaxExact = 1<<53 - 1

// The shapes without bounds.
var (
	Anything  = &Shape{}
	String    = &Shape{kind: "string"}
	Bool      = &Shape{kind: "boolean"}
	Number    = &Shape{kind: "number"}
	Integer   = &Shape{kind: "integer"}
	Null      = &Shape{kind: "null"}
	AnyMap    = &Shape{kind: "object"}                    // an object with any fields
	AnyObject = AnyMap.With("additionalProperties", true) // the same, where the document says so
	NonEmpty  = String.Min(1)                             // not empty
	DateTime  = String.With("format", "date-time")        // RFC 3339
	TokenID   = Int(0, math.MaxInt32)
)

// NumberBetween returns a number between two bounds. math.MaxFloat64 is no bound.
func NumberBetween(lo, hi float64) *Shape { return Number.Min(lo).Max(hi) }

// Int returns a whole number between two bounds.
func Int(lo, hi float64) *Shape { return Integer.Min(lo).Max(hi) }

// Enum returns a choice among words.
func Enum(words ...string) *Shape {
	s := &Shape{}
	for _, w := range words {
		s.words = append(s.words, w)
	}
	return s
}

// EnumOrEmpty returns a choice among words. It may be empty, which counts as absent.
func EnumOrEmpty(words ...string) *Shape { return Enum(append([]string{""}, words...)...) }

// Values returns the shape of one of several values.
func Values(values ...any) *Shape { return &Shape{words: values} }

// Const returns the shape of one value.
func Const(v any) *Shape { return &Shape{words: []any{v}} }

// List returns a list of any length.
func List(items *Shape) *Shape { return &Shape{kind: "array", items: items} }

// Object returns an object with fields. It may have others.
func Object(fields ...Field) *Shape { return &Shape{kind: "object", fields: fields} }

// Typed returns an object whose field type is kind, with further fields.
func Typed(kind string, fields ...Field) *Shape {
	return Object(Required("type", Const(kind))).Add(fields...)
}

// Map returns an object whose names are the client's.
func Map(values *Shape) *Shape { return &Shape{kind: "object", values: values} }

// Either returns a value that has one of several shapes.
func Either(shapes ...*Shape) *Shape { return &Shape{either: shapes} }

// AllOf returns a value that has all of several shapes.
func AllOf(shapes ...*Shape) *Shape { return &Shape{both: shapes} }

// Min bounds a number, the characters of a text or the items of a list.
func (s Shape) Min(n float64) *Shape {
	s.lo = &n
	return &s
}

// Max sets the upper bound that goes with Min. math.MaxFloat64 is no bound.
func (s Shape) Max(n float64) *Shape {
	if s.hi = &n; n == math.MaxFloat64 {
		s.hi = nil
	}
	return &s
}

// OrNull also allows null.
func (s Shape) OrNull() *Shape {
	if s.name != "" { // the schema of this name has no null
		return Either(&s, Null)
	}
	s.null = true
	return &s
}

// Named gives a shape a name. OpenAPI then has a schema of that name and refers to it.
func (s Shape) Named(name string) *Shape {
	s.name = name
	return &s
}

// Doc describes a shape.
func (s Shape) Doc(text string) *Shape {
	s.doc = text
	return &s
}

// With adds a keyword of JSON schema that no reader uses.
func (s Shape) With(keyword string, v any) *Shape {
	more := map[string]any{keyword: v}
	for k, v := range s.more {
		more[k] = v
	}
	s.more = more
	return &s
}

// Add returns an object with further fields.
func (s Shape) Add(fields ...Field) *Shape {
	s.fields = slices.Concat(s.fields, fields)
	return &s
}

// Or returns an object that also has one of several shapes.
func (s Shape) Or(shapes ...*Shape) *Shape {
	s.either = shapes
	return &s
}

// Names returns the names of an object's fields.
func (s *Shape) Names() (names []string) {
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}
