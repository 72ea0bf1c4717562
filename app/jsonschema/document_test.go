package jsonschema

import (
	"encoding/json"
	"strings"
	"testing"
)

// A reference is resolved by RFC 3986, its fragment percent-decoded, and then read as a JSON Pointer
// of RFC 6901 or as an anchor.
func TestReferenceLeadsWhereItsFragmentSays(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"#/definitions/Partial%3CFoo%3E","definitions":{"Partial<Foo>":X}}`,
		`{"$ref":"#/definitions/Partial<Foo>","definitions":{"Partial<Foo>":X}}`,
		`{"$ref":"#/$defs/a~1b~0c","$defs":{"a/b~c":X}}`,
		`{"$ref":"#/$defs/~01","$defs":{"~1":X}}`,
		`{"$ref":"#/$defs/a%7E1b%25","$defs":{"a/b%":X}}`,
		`{"$ref":"#/$defs/a%20b","$defs":{"a%20b":X}}`,
		`{"$ref":"#%2F$defs%2Fa","$defs":{"a":X}}`,
		`{"$ref":"#/$defs/","$defs":{"":X}}`,
		`{"$ref":"#/$defs/é","$defs":{"é":X}}`,
		`{"$ref":"#/$defs/%C3%A9","$defs":{"é":X}}`,
		`{"$ref":"#/$defs/a/anyOf/1","$defs":{"a":{"anyOf":[{},X]}}}`,
		`{"$ref":"#/components/schemas/A","components":{"schemas":{"A":X}}}`,
		`{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"null"}}}`,
		`{"$ref":"#a","definitions":{"x":{"$id":"#a","type":"null"}}}`,
		`{"$ref":"item","$defs":{"x":{"$id":"item","type":"null"}}}`,
		`{"$id":"https://a.b/c/d.json","$ref":"item.json","$defs":{"x":{"$id":"item.json","type":"null"}}}`,
		`{"$id":"https://a.b/c/d.json","$ref":"https://a.b/c/item.json","$defs":{"x":{"$id":"item.json","type":"null"}}}`,
		`{"$id":"https://a.b/c/d.json","$ref":"d.json#/$defs/x","$defs":{"x":X}}`,
		`{"$id":"https://a.b/c/d.json","$ref":"https://a.b/c/d.json#/$defs/x","$defs":{"x":X}}`,
		`{"$id":"https://a.b/c/d.json","$ref":"i.json#/$defs/y","$defs":{"x":{"$id":"i.json","$defs":{"y":X}}}}`,
		`{"$ref":"i.json#n","$defs":{"x":{"$id":"i.json","$defs":{"y":{"$anchor":"n","type":"null"}}}}}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"$id":"i.json","$ref":"#/$defs/y","$defs":{"y":X}}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/c"},"c":X}}`,
	} {
		form, err := Compile(json.RawMessage(strings.ReplaceAll(schema, "X", `{"type":"null"}`)),
			Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		for _, text := range texts(t, newVocabulary(t), string(form.JSON), Options{}) {
			if text != "null" {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
	for _, ref := range []string{"#/$defs/b", "#b", "b", "https://a.b/c", "#/$defs/a/0", "#/enum/0",
		"#/$defs/a/anyOf/01", "#/%zz", "::"} {
		schema, err := json.Marshal(map[string]any{"$ref": ref, "enum": []int{1},
			"$defs": map[string]any{"a": map[string]any{"anyOf": []any{map[string]any{}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if form, err := Compile(schema, Options{Strict: true}); err == nil {
			t.Errorf("%s leads to %s", ref, form.JSON)
		}
	}
}

// A reference may have other keywords beside it, and both apply.
func TestReferenceHoldsBesideOtherKeywords(t *testing.T) {
	const schema = `{"$ref":"#/$defs/a","maximum":5,"description":"x","$defs":{"a":{"type":"integer","minimum":5}}}`
	for _, text := range texts(t, newVocabulary(t), schema, Options{Strict: true}) {
		if text != "5" {
			t.Errorf("%s", text)
		}
	}
}

// A reference to a schema that holds it loses the keywords beside it, or is refused.
func TestReferenceInACircleStandsAlone(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"additionalProperties":false,` +
		`"$defs":{"n":{"type":"object","properties":{"b":{"$ref":"#/$defs/n","minProperties":0,"type":"object"}},"additionalProperties":false}}}`
	texts(t, newVocabulary(t), schema, Options{})
	if _, err := Compile(json.RawMessage(schema), Options{Strict: true}); err == nil ||
		!strings.Contains(err.Error(), "/$defs/n/properties/b/$ref") {
		t.Errorf("strict: %v", err)
	}
}
