package wire

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"tandem/app/control"
)

// Fields is a JSON object whose values are read one by one, by exact name, so that an error names
// its field. A field that is null counts as absent, and unknown fields are ignored. An object and
// the objects inside it have one error, the first.
type Fields struct {
	Values map[string]json.RawMessage
	Path   string   // before the names in errors, e.g. "messages[0]."
	names  []string // of Values, in the client's order
	shape  *Shape   // of the object; nil if no table has it
	err    *error

	// Omitted takes what can be left out, here and in the objects inside. If it is nil, that is an
	// error of the body.
	Omitted *Omissions
}

// Omissions are what is left out of an object.
type Omissions struct {
	Err   error    // the first, as the error that it is where nothing can be left out
	Kinds []string // of all

	TextPart string // the route's type of a part that is text; empty for "text"
}

// Add adds kinds, if o is not nil.
func (o *Omissions) Add(kinds ...string) {
	if o != nil {
		o.Kinds = append(o.Kinds, kinds...)
	}
}

// Err returns the first error, or nil.
func (f *Fields) Err() error { return *f.err }

// fail sets the error unless there is one.
func (f *Fields) fail(err error) {
	if *f.err == nil {
		*f.err = err
	}
}

// Apart returns the fields with an error of their own and without a shape.
func (f *Fields) Apart() *Fields {
	return &Fields{Values: f.Values, Path: f.Path, names: f.names, err: new(error)}
}

// As gives an object its shape, and the objects inside it theirs. Real, Whole and Word take bounds
// and words from it. Reading a name that the shape lacks panics.
func (f *Fields) As(s *Shape) *Fields {
	f.shape = s
	return f
}

// Members returns the fields in the client's order, null ones too.
func (f *Fields) Members() (list Members) {
	for _, name := range f.names {
		list = append(list, Member{name, f.Values[name]})
	}
	return list
}

// Rename gives fields other names and keeps the order. It removes a field whose new name is empty.
// It fails f if a new name is there already.
func (f *Fields) Rename(names map[string]string) {
	kept := f.names[:0]
	for _, name := range f.names {
		to, ok := names[name]
		if !ok {
			kept = append(kept, name)
			continue
		}
		v := f.Values[name]
		delete(f.Values, name)
		if to == "" {
			continue
		}
		if _, twice := f.Values[to]; twice {
			f.fail(namedTwice(f.Path, to))
		}
		f.Values[to], kept = v, append(kept, to)
	}
	f.names = kept
}

// Omit leaves something of that kind out. Unless Omitted takes it, it fails f with the error.
func (f *Fields) Omit(kind, key, format string, args ...any) {
	into := f
	if f.Omitted != nil {
		into = &Fields{Path: f.Path, err: &f.Omitted.Err}
	}
	f.Omitted.Add(kind)
	into.Fail(key, format, args...)
}

func (f *Fields) Fail(key, format string, args ...any) {
	if f.Err() == nil {
		f.fail(Invalid(f.Path+key, "%s "+format, append([]any{f.Path + key}, args...)...))
	}
}

// Raw returns the value, or nil if it is absent.
func (f *Fields) Raw(key string) json.RawMessage {
	f.shape.mustHave(f.Path, key)
	v := f.Values[key]
	if string(v) == "null" {
		return nil
	}
	return v
}

func IsNumber(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

func (f *Fields) String(key string) (s string) {
	if v := f.Raw(key); v != nil && json.Unmarshal(v, &s) != nil {
		f.Fail(key, "must be a string.")
	}
	return s
}

func (f *Fields) Bool(key string) (b bool) {
	if v := f.Raw(key); v != nil && json.Unmarshal(v, &b) != nil {
		f.Fail(key, "must be true or false.")
	}
	return b
}

// ReadOptional reads a field, or returns nil if it is absent.
func ReadOptional[T any](f *Fields, key string, read func(key string) T) *T {
	if f.Raw(key) == nil {
		return nil
	}
	return new(read(key))
}

// Number reads a number between two bounds. It returns nil for an absent field.
func (f *Fields) Number(key string, lo, hi float64) *float64 {
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	x, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil || !IsNumber(v):
		f.Fail(key, "must be a number.")
	case x < lo && hi == math.MaxFloat64:
		f.Fail(key, "must be at least %v, not %s.", lo, v)
	case x < lo || x > hi:
		f.Fail(key, "must be between %v and %v, not %s.", lo, hi, v)
	default:
		return &x
	}
	return nil
}

// Int reads a whole number between two bounds. It returns nil for an absent field.
func (f *Fields) Int(key string, lo, hi int) *int {
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	x, ok := WholeNumber(v)
	switch {
	case !ok:
		f.Fail(key, "must be a whole number.")
	case x < int64(lo) && hi == math.MaxInt32:
		f.Fail(key, "must be at least %d, not %d.", lo, x)
	case x < int64(lo) || x > int64(hi):
		f.Fail(key, "must be between %d and %d, not %d.", lo, hi, x)
	default:
		return new(int(x))
	}
	return nil
}

// Real reads a number within the bounds of the shape. It returns nil for an absent field.
func (f *Fields) Real(key string) *float64 {
	lo, hi := f.shape.bounds(key)
	return f.Number(key, lo, hi)
}

// Whole reads a whole number within the bounds of the shape. It returns nil for an absent field.
func (f *Fields) Whole(key string) *int {
	lo, hi := f.shape.bounds(key)
	return f.Int(key, int(lo), int(hi))
}

// Word reads one of the shape's words. It returns an empty string for an absent field.
func (f *Fields) Word(key string) string { return f.OneOf(key, f.shape.choices(key)) }

// NeededWord is Word for a field that must be one of the words.
func (f *Fields) NeededWord(key string) string {
	word := f.Word(key)
	if word == "" {
		f.Fail(key, "must be %s, not %q.", control.Words(f.shape.choices(key)), word)
	}
	return word
}

// WholeNumber reads an integer. A client may write it as 16.0.
func WholeNumber(v json.RawMessage) (int64, bool) {
	if !IsNumber(v) {
		return 0, false
	}
	if x, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return x, true
	}
	x, err := strconv.ParseFloat(string(v), 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// Strings reads a string or a list of strings. It returns nil for an absent field.
func (f *Fields) Strings(key string) []string {
	const what = "must be a string or a list of strings."
	v := f.Raw(key)
	if v == nil {
		return nil
	}
	if v[0] == '"' {
		return []string{f.String(key)}
	}
	list := f.List(key, what)
	many := make([]string, len(list))
	for i, v := range list {
		if v[0] != '"' || json.Unmarshal(v, &many[i]) != nil {
			f.Fail(key, what)
			return nil
		}
	}
	return many
}

// Object reads an object. It returns nil for an absent field.
func (f *Fields) Object(key string) *Fields {
	v := f.Raw(key)
	if v == nil || f.Err() != nil {
		return nil
	}
	return f.child(v, key, f.shape.inside(key, false))
}

// Item reads v, the i-th object of the list key of f. It returns nil if v is no object.
func (f *Fields) Item(key string, i int, v json.RawMessage) *Fields {
	return f.child(v, fmt.Sprintf("%s[%d]", key, i), f.shape.inside(key, true))
}

// child reads an object inside f, or fails f and returns nil.
func (f *Fields) child(v json.RawMessage, name string, s *Shape) *Fields {
	o, err := ParseFields(v, f.Path+name+".")
	if err != nil {
		f.fail(err)
		return nil
	}
	o.shape, o.err, o.Omitted = s, f.err, f.Omitted
	return o
}

// Items yields the objects of the list key of f, up to the first error.
func (f *Fields) Items(key string, list []json.RawMessage) iter.Seq[*Fields] {
	return func(yield func(*Fields) bool) {
		for i, v := range list {
			if o := f.Item(key, i, v); o == nil || !yield(o) || f.Err() != nil {
				return
			}
		}
	}
}

// OneOf reads a string that is one of several. It returns an empty text for an absent field.
func (f *Fields) OneOf(key string, known []string) string {
	v := f.String(key)
	if v != "" && !slices.Contains(known, v) {
		f.Fail(key, "must be %s, not %q.", control.Words(known), Clip(v))
	}
	return v
}

// Needed reads an object. It fails f if that is absent.
func Needed(f *Fields, key string) *Fields {
	o := f.Object(key)
	if o == nil {
		f.FailMissing(key)
	}
	return o
}

// FailMissing fails f for a field that is absent, null or empty, and says which.
func (f *Fields) FailMissing(key string) {
	switch v := f.Values[key]; {
	case v == nil:
		f.Fail(key, "is missing.")
	case string(v) == "null":
		f.Fail(key, "must not be null.")
	default:
		f.Fail(key, "must not be empty.")
	}
}

func NeededName(f *Fields) string { return NeededString(f, "name") }

// NeededString reads a string. It fails f if that is absent or empty.
func NeededString(f *Fields, key string) string {
	s := f.String(key)
	if s == "" {
		f.FailMissing(key)
	}
	return s
}

// NeededText reads a string that may be empty. It fails f if that is absent.
func NeededText(f *Fields, key string) string {
	if f.Raw(key) == nil {
		f.FailMissing(key)
	}
	return f.String(key)
}

// blob returns a value that must be an object, as it was sent, or nil if it is absent.
func (f *Fields) blob(key string) json.RawMessage {
	if f.Object(key) == nil {
		return nil
	}
	return f.Raw(key)
}

// Id reads the id of a row; 0 if it is absent.
func (f *Fields) Id(key string) int64 {
	v := f.Raw(key)
	if v == nil {
		return 0
	}
	n, ok := WholeNumber(v)
	if !ok || n < 0 || n > math.MaxInt64/2 {
		f.Fail(key, "must be an id, a whole number.")
		return 0
	}
	return n
}
