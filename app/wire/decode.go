package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tandem/app/control"
)

// Decode reads an object's fields into the struct that into points to, by the names of its JSON
// tags. A field without a tag is left alone, except that the fields of an embedded struct count as
// the struct's own. These tags state what a field must be, once for each type:
//
//	need:"name a model"     it may not be missing, empty or 0; the text says what to do
//	min:"1" max:"200"    the bounds of a number
//	either:"chat,code"      one of two words; it may be empty only with omitempty
//	oneof:"coupled,..."     one of several words, or empty
//
// An unknown field is an error too, because it may be misspelt. The error names the first field that
// is wrong. Decode panics for a field of a type that it does not know.
func Decode(f *Fields, into any) error {
	v := reflect.ValueOf(into).Elem()
	f.refuseUnknown(v)
	f.decode(v)
	if f.Err() == nil {
		f.need(v)
	}
	return f.Err()
}

// refuseUnknown fails for the first field that the struct lacks.
func (f *Fields) refuseUnknown(v reflect.Value) {
	known := fieldNames(v.Type())
	for _, name := range f.names {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			f.Fail(Clip(name), "is no field here; this takes none.")
		default:
			f.Fail(Clip(name), "is no field here; this takes %s.", strings.Join(known, ", "))
		}
	}
}

// fieldNames returns the names of the fields that decode reads into a struct.
func fieldNames(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			names = append(names, fieldNames(field.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

func (f *Fields) decode(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			f.decode(v.Field(i))
		case name != "" && name != "-":
			f.decodeField(v.Field(i), field.Tag, name)
		}
	}
}

// decodeField reads one field. If it is absent, v stays as it is.
func (f *Fields) decodeField(v reflect.Value, tag reflect.StructTag, name string) {
	if f.Raw(name) == nil && tag.Get("either") == "" {
		return
	}
	lo, hi := bounds(tag)
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = f.word(name, tag)
	case **string:
		*p = new(f.word(name, tag))
	case *bool:
		*p = f.Bool(name)
	case **bool:
		*p = new(f.Bool(name))
	case *int:
		if n := f.Int(name, int(lo), int(hi)); n != nil {
			*p = *n
		}
	case **int:
		*p = f.Int(name, int(lo), int(hi))
	case **float64:
		*p = f.Number(name, lo, hi)
	case *int64:
		*p = f.Id(name)
	case **int64:
		*p = new(f.Id(name))
	case *json.RawMessage:
		*p = f.blob(name)
	default:
		panic(fmt.Sprintf("wire.Decode knows no field of type %s (%s)", v.Type(), name))
	}
}

// word reads a string and checks it against the words of its tag.
func (f *Fields) word(name string, tag reflect.StructTag) string {
	if words := tag.Get("oneof"); words != "" {
		return f.OneOf(name, strings.Split(words, ","))
	}
	s := f.String(name)
	words := strings.Split(tag.Get("either"), ",")
	if len(words) != 2 || s == "" && strings.HasSuffix(tag.Get("json"), ",omitempty") {
		return s
	}
	if !slices.Contains(words, s) {
		f.Fail(name, "must be %q or %q, not %q.", control.Word(words[0]), control.Word(words[1]),
			Clip(s))
	}
	return s
}

// bounds returns the bounds of a number's tag.
func bounds(tag reflect.StructTag) (lo, hi float64) {
	bound := func(key string, otherwise float64) float64 {
		text, ok := tag.Lookup(key)
		if !ok {
			return otherwise
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err) // the tag is in our source
		}
		return n
	}
	return bound("min", math.MinInt32), bound("max", math.MaxInt32)
}

// need fails for the first needed field that is missing.
func (f *Fields) need(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		hint, needed := field.Tag.Lookup("need")
		switch {
		case field.Anonymous && name == "":
			f.need(v.Field(i))
		case !needed:
		case v.Field(i).Kind() == reflect.Bool && f.Raw(name) != nil: // false counts as present
		case v.Field(i).IsZero():
			f.Fail(name, "is missing: %s.", control.Word(hint))
		}
	}
}
