package dialect

import (
	"encoding/json"
	"strings"
	"testing"
)

// An error about a schema names the tool and the place in its schema, in every family that follows
// schemas.
func TestErrorNamesTheToolAndThePlaceInItsSchema(t *testing.T) {
	tools := []Tool{
		{Name: "good", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true},
		{Name: "bad", Strict: true, Parameters: json.RawMessage(
			`{"type":"object","properties":{"a":{"items":{"type":"integer","multipleOf":0}}},"required":["a"]}`)},
	}
	for family, template := range families {
		d := Detect(template, func(string) (int32, bool, bool) { return 0, false, false })
		_, err := d.Grammar(tools, Choice{})
		switch family {
		case "pythonic", "tool_code", "gemma4", "functiongemma": // these follow types only
			if err != nil {
				t.Errorf("%s: %v", family, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `"bad"`) ||
			!strings.Contains(err.Error(), "at /properties/a/items/multipleOf: ") ||
			strings.ContainsAny(err.Error(), "{\n") {
			t.Errorf("%s: %v", family, err)
		}
		tools[1].Strict = false
		if _, err := d.Grammar(tools, Choice{}); err != nil {
			t.Errorf("%s, not strict: %v", family, err)
		}
		tools[1].Strict = true
	}
}

// A number that a schema lists has its own digits in the grammar of every family.
func TestListedNumberHasItsDigitsInEveryFamily(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"id":{"enum":[2512292042121000001]}},"required":["id"]}`,
		`{"type":"object","properties":{"id":{"$ref":"#/$defs/a%20b"}},"required":["id"],"$defs":{"a b":{"type":"integer","const":2512292042121000001}}}`,
	} {
		tools := []Tool{{Name: "go", Parameters: json.RawMessage(schema)}}
		for family, template := range families {
			d := Detect(template, func(string) (int32, bool, bool) { return 0, false, false })
			rules, err := d.Grammar(tools, Choice{})
			if err != nil || !strings.Contains(rules.Lark, `"2512292042121000001"`) {
				t.Errorf("%s: %v\n%s", family, err, rules.Lark)
			}
		}
	}
}

// The kind of a parameter is known however its schema is referred to.
func TestKindOfAParameterIsThatOfItsReference(t *testing.T) {
	for _, reference := range []string{
		`{"$ref":"#/definitions/Maybe%3Cstring%3E"}`, `{"$ref":"#/definitions/Maybe<string>"}`,
		`{"$ref":"#text"}`, `{"anyOf":[{"$ref":"#/definitions/Maybe%3Cstring%3E"}]}`,
	} {
		schema := `{"properties":{"a":` + reference +
			`},"definitions":{"Maybe<string>":{"$anchor":"text","type":"string"}}}`
		if got := kindOf(json.RawMessage(schema), "a"); got != kindText {
			t.Errorf("%s is of kind %d", reference, got)
		}
	}
}

// A call goes without an optional parameter that has no value.
func TestOptionalParameterWithoutAValueIsLeftOut(t *testing.T) {
	for family, template := range families {
		d := Detect(template, func(string) (int32, bool, bool) { return 0, false, false })
		tool := Tool{Name: "go", Strict: true, Parameters: json.RawMessage(
			`{"type":"object","properties":{"never":{"allOf":[{"type":"null"},{"type":"string"}]},"b":{"type":"boolean"}},"additionalProperties":false}`)}
		rules, err := d.Grammar([]Tool{tool}, Choice{})
		if err != nil || !strings.Contains(rules.Lark, "b") {
			t.Errorf("%s: %v", family, err)
		}
	}
}
