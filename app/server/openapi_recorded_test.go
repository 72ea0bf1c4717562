package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"tandem/app/roomtest"
)

// recordedAPI is the document as it was written by hand, without its descriptions: one operation
// and one schema a line. A field that is added on purpose is added here too.
//
//go:embed testdata/openapi-recorded.json
var recordedAPI []byte

func TestOpenAPIHasTheRecordedOperationsFieldsTypesAndBounds(t *testing.T) {
	w := roomtest.Get(New(services(roomtest.NewBackend()), Options{}).Endpoint(), openAPIPath)
	var got, want any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(recordedAPI, &want); err != nil {
		t.Fatal(err)
	}
	compareAPI(t, "", comparable(got), comparable(want))
}

// comparable returns a part of the document in a form in which equal meanings are equal. It has no
// descriptions. oneOf is anyOf, and a constant is an enum of one. Lists of names are sorted. A
// value with properties has its type, and null is among the types.
func comparable(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			out := make([]any, len(list))
			for i, x := range list {
				out[i] = comparable(x)
			}
			return out
		}
		return v
	}
	out := map[string]any{}
	for key, x := range m {
		switch key {
		case "description", "summary", "info":
			if _, isText := x.(string); !isText && key != "info" { // a field of this name
				out[key] = comparable(x)
			}
		case "oneOf":
			out["anyOf"] = comparable(x)
		case "const":
			out["enum"] = []any{x}
		case "type", "required":
			out[key] = sortedNames(x)
		default:
			out[key] = comparable(x)
		}
	}
	if _, isObject := out["properties"].(map[string]any); isObject && out["type"] == nil {
		out["type"] = []string{"object"}
	}
	if list, ok := out["anyOf"].([]any); ok && len(list) == 2 && isNull(list[1]) {
		if one := list[0].(map[string]any); one["type"] != nil {
			one["type"] = sortedNames([]any{one["type"].([]string)[0], "null"})
			return one
		}
	}
	return out
}

// isNull reports whether a schema allows only null.
func isNull(v any) bool {
	kind, _ := v.(map[string]any)["type"].([]string)
	return slices.Equal(kind, []string{"null"})
}

// sortedNames returns one name or a list of names as a sorted list. Any other value belongs to a
// field that is called type or required.
func sortedNames(v any) any {
	var names []string
	switch v := v.(type) {
	case string:
		names = []string{v}
	case []any:
		for _, x := range v {
			names = append(names, x.(string))
		}
	default:
		return comparable(v)
	}
	slices.Sort(names)
	return names
}

// compareAPI reports each place where two parts of documents differ.
func compareAPI(t *testing.T, at string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		has, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if _, ok := has[key]; !ok {
				t.Errorf("%s: the document has no %s", at, key)
				continue
			}
			compareAPI(t, at+"/"+key, has[key], want[key])
		}
		for _, key := range slices.Sorted(maps.Keys(has)) {
			if _, ok := want[key]; !ok {
				t.Errorf("%s: the recorded document has no %s", at, key)
			}
		}
		return
	case []any:
		has, ok := got.([]any)
		if !ok || len(has) != len(want) {
			break
		}
		for i := range want {
			compareAPI(t, fmt.Sprintf("%s/%d", at, i), has[i], want[i])
		}
		return
	case float64:
		// The recorded document rounded the largest float32.
		if has, ok := got.(float64); ok && math.Abs(has-want) <= 1e-6*math.Abs(want) {
			return
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, recorded was %v", at, got, want)
	}
}
