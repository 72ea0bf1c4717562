package wire

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// AnswerOf returns the shape of a struct as encoding/json writes it. A field with omitempty may be
// absent. The tag doc describes a field. AnswerOf panics for a type that no answer has, at the
// program's start.
func AnswerOf[T any]() *Shape { return shapeOf(reflect.TypeFor[T]()) }

func shapeOf(t reflect.Type) *Shape {
	if t == reflect.TypeFor[time.Time]() {
		return Moment
	}
	switch t.Kind() {
	case reflect.String:
		return Text
	case reflect.Bool:
		return Flag
	case reflect.Int, reflect.Int64:
		return Whole
	case reflect.Float64:
		return Real
	case reflect.Slice:
		return List(shapeOf(t.Elem()))
	case reflect.Struct:
		return Object(answerFields(t)...)
	}
	panic(fmt.Sprintf("wire.AnswerOf knows no %s", t))
}

func answerFields(t reflect.Type) (fields []Field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			fields = append(fields, answerFields(f.Type)...)
		default:
			fields = append(fields, Field{
				name: name, doc: f.Tag.Get("doc"), shape: shapeOf(f.Type),
				absent: options == "omitempty",
			})
		}
	}
	return fields
}
