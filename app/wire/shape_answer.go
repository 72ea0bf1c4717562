package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// AnswerOf returns the shape of a struct as encoding/json writes it. A field with omitempty or
// omitzero may be absent, as may the fields of an embedded pointer. Any other pointer may be null.
// An int32 is the id of a token, and a json.RawMessage an object. Further tags describe a field:
//
//	doc    a sentence about it
//	enum   the values that it or its items may have, between commas
//
// A blank field with the tag schema names the struct in OpenAPI, and its doc describes the struct.
// A type that writes itself has a method Shape. AnswerOf panics for a type that no answer has, at
// the program's start.
func AnswerOf[T any]() *Shape { return shapeOf(reflect.TypeFor[T]()) }

// AlwaysNull is the type of a field that is always null.
type AlwaysNull = *struct{}

func shapeOf(t reflect.Type) *Shape {
	if t.Kind() != reflect.Pointer {
		if v, ok := reflect.Zero(t).Interface().(interface{ Shape() *Shape }); ok {
			return v.Shape()
		}
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return DateTime
	case reflect.TypeFor[json.RawMessage]():
		return AnyObject
	case reflect.TypeFor[AlwaysNull]():
		return Null
	}
	switch t.Kind() {
	case reflect.String:
		return String
	case reflect.Bool:
		return Bool
	case reflect.Int, reflect.Int64:
		return Integer
	case reflect.Int32:
		return TokenID
	case reflect.Float32, reflect.Float64:
		return Number
	case reflect.Slice:
		return List(shapeOf(t.Elem()))
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return AnyObject
		}
		return Map(shapeOf(t.Elem()))
	case reflect.Pointer:
		return shapeOf(t.Elem()).OrNull()
	case reflect.Struct:
		return structShape(t)
	}
	panic(fmt.Sprintf("wire.AnswerOf knows no %s", t))
}

func structShape(t reflect.Type) *Shape {
	s := Object(answerFields(t)...)
	if blank, ok := t.FieldByName("_"); ok && len(blank.Index) == 1 {
		s = s.Named(blank.Tag.Get("schema")).Doc(blank.Tag.Get("doc"))
	}
	return s
}

func answerFields(t reflect.Type) (fields []Field) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			for _, field := range answerFields(f.Type.Elem()) {
				field.absent = true
				fields = append(fields, field)
			}
		case f.Anonymous && name == "":
			fields = append(fields, answerFields(f.Type)...)
		default:
			fields = append(fields, answerField(f, name, options != ""))
		}
	}
	return fields
}

func answerField(f reflect.StructField, name string, absent bool) Field {
	t := f.Type
	if absent && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := Field{name: name, doc: f.Tag.Get("doc"), absent: absent}
	if words, ok := f.Tag.Lookup("enum"); ok {
		out.shape = enumShape(t, strings.Split(words, ","))
	} else {
		out.shape = shapeOf(t)
	}
	return out
}

// enumShape returns the shape of a field of type t that has one of some values, or of a list of them.
func enumShape(t reflect.Type, words []string) *Shape {
	switch t.Kind() {
	case reflect.Slice:
		return List(enumShape(t.Elem(), words))
	case reflect.Pointer:
		return enumShape(t.Elem(), words).OrNull()
	}
	values := make([]any, len(words))
	for i, word := range words {
		values[i] = word
		if n, err := strconv.Atoi(word); err == nil && t.Kind() == reflect.Int {
			values[i] = n
		} else if on, err := strconv.ParseBool(word); err == nil && t.Kind() == reflect.Bool {
			values[i] = on
		}
	}
	return Values(values...)
}
