package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// A fault is what is wrong at one place of a report.
type fault struct {
	path, text string
}

func (f *fault) Error() string {
	path := f.path
	if len(path) > 200 { // names are anyone's
		path = path[:200] + "…"
	}
	return path + " " + f.text
}

// under moves a fault below a field or an index. Other errors have no place.
func under(name string, err error) error {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		return err
	}
	if !strings.HasPrefix(f.path, "[") {
		name += "."
	}
	f.path = name + f.path
	return f
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// fill stores the fields of a JSON object in the struct that to points to. Names must be equal to
// the letter. The error names the path of a value that does not fit.
func fill(to any, object map[string]any) error {
	return fillStruct(reflect.ValueOf(to).Elem(), object)
}

func fillStruct(to reflect.Value, object map[string]any) error {
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		from := object[name]
		if from == nil {
			continue
		}
		if err := fillValue(to.Field(i), from); err != nil {
			return placed(name, err)
		}
	}
	return nil
}

// placed gives an error its innermost place, or moves it below one.
func placed(name string, err error) error {
	if _, ok := errors.AsType[*fault](err); ok {
		return under(name, err)
	}
	return &fault{name, err.Error()}
}

// fillValue stores one JSON value.
func fillValue(to reflect.Value, from any) error {
	if to.Kind() == reflect.Pointer {
		if from == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return fillValue(to.Elem(), from)
	}
	if limits, ok := to.Interface().(bounded); ok {
		return fillNumber(to, limits, from)
	}
	switch to.Kind() {
	case reflect.Struct:
		if object, ok := from.(map[string]any); ok {
			return fillStruct(to, object)
		}
	case reflect.Slice:
		if list, ok := from.([]any); ok {
			to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
			for i, v := range list {
				if err := fillValue(to.Index(i), v); err != nil {
					return placed(index(i), err)
				}
			}
			return nil
		}
	case reflect.String:
		if text, ok := from.(string); ok {
			to.SetString(text)
			return nil
		}
	default: // truth values, and values of any kind
		if v := reflect.ValueOf(from); v.IsValid() && v.Type().AssignableTo(to.Type()) {
			to.Set(v)
			return nil
		}
	}
	return fmt.Errorf("is %s; %s belongs there", kindOf(from), wordFor(to.Kind()))
}

// fillNumber stores a number that has bounds.
func fillNumber(to reflect.Value, limits bounded, from any) error {
	least, most, words := limits.bounds()
	number, ok := from.(json.Number)
	if !ok {
		return fmt.Errorf("is %s; %s belongs there", kindOf(from), words)
	}
	whole := to.Kind() == reflect.Int64
	v, err := number.Float64()
	if err != nil || !(v >= least && v <= most) || whole && v != math.Trunc(v) {
		return fmt.Errorf("is %.40s; %s belongs there", number, words)
	}
	if whole {
		to.SetInt(int64(v))
	} else {
		to.SetFloat(v)
	}
	return nil
}

// kindOf names the kind of a JSON value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}

// wordFor names the JSON value that a Go kind is read from.
func wordFor(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
