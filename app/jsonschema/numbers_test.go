package jsonschema

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// A listed number comes with the digits of its schema, wherever it is.
func TestListedNumberKeepsItsDigits(t *testing.T) {
	v := newVocabulary(t)
	for schema, want := range map[string][]string{
		`{"enum":[9007199254740993]}`:                                   {"9007199254740993"},
		`{"const":9007199254740993,"title":"x"}`:                        {"9007199254740993"},
		`{"type":"integer","enum":[9007199254740993,9007199254740995]}`: {"9007199254740993", "9007199254740995"},
		`{"enum":[-9007199254740993,"a",1,null]}`:                       {"-9007199254740993", `"a"`, "1", "null"},
		`{"const":12345678901234567890}`:                                {"12345678901234567890"},
		`{"const":-9223372036854775808}`:                                {"-9223372036854775808"},
		`{"const":123456789012345678901234567890123}`:                   {"123456789012345678901234567890123"},
		`{"const":0.12345678901234567890123}`:                           {"0.12345678901234567890123"},
		`{"const":1.0000000000000000001}`:                               {"1.0000000000000000001"},
		`{"const":1e400}`:                                               {"1e400"},
		`{"const":-1.5E-400}`:                                           {"-1.5E-400"},
		`{"type":"integer","enum":[9007199254740993,5,9007199254740999],"maximum":9007199254740998}`: {
			"9007199254740993", "5"},
		`{"type":"number","enum":[9007199254740993,9007199254740994],"multipleOf":3}`: {
			"9007199254740993"},
		`{"const":[9007199254740993,"x"]}`:                       {`[9007199254740993,"x"]`},
		`{"const":{"a":9007199254740993}}`:                       {`{"a":9007199254740993}`},
		`{"anyOf":[{"const":9007199254740993},{"type":"null"}]}`: {"9007199254740993", "null"},
		`{"allOf":[{"$ref":"#/$defs/id"}],"$defs":{"id":{"enum":[2512292042121000001],"type":"integer"}}}`: {
			"2512292042121000001"},
		`{"type":"object","properties":{"id":{"enum":[2512292042121000001]}},"required":["id"],"additionalProperties":false}`: {
			`{"id":2512292042121000001}`},
		`{"type":"object","properties":{"a":{"type":"null"},"id":{"$ref":"#/$defs/id"}},"required":["a","id"],"additionalProperties":false,"$defs":{"id":{"const":2512292042121000001}}}`: {
			`{"a":null,"id":2512292042121000001}`},
		`{"type":"object","properties":{"id":{"const":9007199254740993},"b":{"const":"x"}},"additionalProperties":false}`: {
			`{}`, `{"b":"x"}`, `{"id":9007199254740993}`, `{"id":9007199254740993,"b":"x"}`},
		`{"type":"array","items":{"const":9007199254740993},"minItems":1,"maxItems":2}`: {
			"[9007199254740993]", "[9007199254740993,9007199254740993]"},
		`{"type":"array","prefixItems":[{"const":9007199254740993},{"const":"x"}],"items":false,"minItems":1}`: {
			"[9007199254740993]", `[9007199254740993,"x"]`},
		`{"type":["array","null"],"items":{"const":9007199254740993},"maxItems":1}`: {
			"[]", "[9007199254740993]", "null"},
		`{"type":"object","properties":{"next":{"$ref":"#"},"id":{"const":9007199254740993}},"required":["id"],"additionalProperties":false,"maxLength":1}`: nil,
	} {
		for _, text := range texts(t, v, schema, Options{Strict: true}) {
			text = strings.Join(strings.Fields(text), "")
			if !json.Valid([]byte(text)) || want != nil && !slices.Contains(want, text) {
				t.Errorf("%s: %s, want one of %s", schema, text, want)
			}
			if want == nil && !strings.Contains(text, `"id":9007199254740993`) {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
}

// Members without a named property may follow those with exact numbers.
func TestObjectWithExactNumberMayHaveOtherMembers(t *testing.T) {
	const schema = `{"type":"object","properties":{"id":{"const":9007199254740993}},"required":["id","z"]}`
	more := false
	for _, text := range texts(t, newVocabulary(t), schema, Options{}) {
		var v map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &v); err != nil || v["z"] == nil ||
			string(v["id"]) != "9007199254740993" || strings.Count(text, `"id"`) > 1 {
			t.Errorf("%s: %v", text, err)
		}
		more = more || len(v) > 2
	}
	if !more {
		t.Error("no text has another member")
	}
}

// A number that cannot keep its digits beside other keywords is refused, strict or not.
func TestNumberThatWouldLoseDigitsIsRefused(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"const":9007199254740993}},"minProperties":1,"required":["a"],"maxProperties":2}`,
		`{"allOf":[{"properties":{"a":{"const":9007199254740993}}},{"properties":{"b":{}}}]}`,
		`{"type":"object","patternProperties":{"^a":{"const":9007199254740993}}}`,
		`{"const":9007199254740993,"$ref":"#/$defs/a","$defs":{"a":{"type":"number"}}}`,
	} {
		for _, strict := range []bool{true, false} {
			_, err := Compile(json.RawMessage(schema), Options{Strict: strict})
			if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Message, "digits") {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
}

// Every number by a bound is in the range, to the last digit.
func TestBoundHoldsToItsLastDigit(t *testing.T) {
	v := newVocabulary(t)
	for _, c := range []struct{ schema, low, high string }{
		{`{"type":"integer","minimum":9007199254740993,"maximum":9007199254740999}`, "9007199254740993", "9007199254740999"},
		{`{"type":"integer","exclusiveMinimum":9007199254740992,"maximum":9007199254740996}`, "9007199254740993", "9007199254740996"},
		{`{"type":"integer","minimum":9007199254740993,"exclusiveMaximum":9007199254740996}`, "9007199254740993", "9007199254740995"},
		{`{"type":"integer","minimum":1000000000000000000}`, "1000000000000000000", ""},
		{`{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`, "-9223372036854775808", "9223372036854775807"},
		{`{"type":"integer","minimum":0,"maximum":18446744073709551615}`, "0", "18446744073709551615"},
		{`{"type":"integer","maximum":-1000000000000000000}`, "", "-1000000000000000000"},
		{`{"type":"integer","maximum":1e30}`, "", "1e30"},
		{`{"type":"number","minimum":-1.7976931348623157e308,"maximum":1.7976931348623157e308}`, "-1.7976931348623157e308", "1.7976931348623157e308"},
		{`{"type":"number","minimum":0.123456789012345678901,"maximum":0.123456789012346}`, "0.123456789012345678901", "0.123456789012346"},
		{`{"type":"number","exclusiveMinimum":0.1,"exclusiveMaximum":0.30000000000000004}`, "0.1", "0.30000000000000004"},
		{`{"type":"number","minimum":5e-324,"maximum":1e-3}`, "5e-324", "1e-3"},
		{`{"type":"number","minimum":4503599627370497.5,"maximum":4503599627370599.5}`, "4503599627370497.5", "4503599627370599.5"},
		{`{"type":"number","minimum":9007199254740993,"maximum":9107199254740993}`, "9007199254740993", "9107199254740993"},
		{`{"type":"integer","multipleOf":7,"minimum":-20,"maximum":20}`, "-20", "20"},
	} {
		for _, text := range texts(t, v, c.schema, Options{Strict: true}) {
			n, ok := new(big.Rat).SetString(text)
			low, _ := new(big.Rat).SetString(c.low)
			high, _ := new(big.Rat).SetString(c.high)
			if !ok || low != nil && n.Cmp(low) < 0 || high != nil && n.Cmp(high) > 0 {
				t.Errorf("%s: %s", c.schema, text)
			}
		}
	}
	for _, schema := range []string{
		`{"type":"integer","minimum":1e30}`, `{"type":"integer","multipleOf":9007199254740993}`,
		`{"type":"number","multipleOf":0.1000000000000000055}`,
		`{"type":"number","minimum":4503599627370497.5,"maximum":4503599627370499.5}`,
		`{"type":"number","minimum":1e999999}`, `{"type":"integer","maximum":-1e30}`,
	} {
		if _, err := Compile(json.RawMessage(schema), Options{Strict: true}); err == nil {
			t.Errorf("%s is admitted", schema)
		}
	}
}

// A multiple that is itself a bound is in the range, whatever float64 makes of the two.
func TestMultipleAtABoundIsAdmitted(t *testing.T) {
	v := newVocabulary(t)
	for schema, want := range map[string][]string{
		`{"type":"number","multipleOf":0.01,"minimum":0.07,"maximum":0.07}`:               {"0.07"},
		`{"type":"number","multipleOf":0.1,"minimum":0.3,"maximum":0.3}`:                  {"0.3"},
		`{"type":"number","multipleOf":0.05,"minimum":19.95,"maximum":19.95}`:             {"19.95"},
		`{"type":"number","multipleOf":0.01,"exclusiveMinimum":0.56,"maximum":0.57}`:      {"0.57"},
		`{"multipleOf":0.01,"minimum":-0.57,"exclusiveMaximum":-0.56,"type":"number"}`:    {"-0.57"},
		`{"type":"number","multipleOf":0.1,"minimum":0,"maximum":0.3}`:                    {"0", "0.1", "0.2", "0.3"},
		`{"type":"number","multipleOf":0.01,"minimum":29999999.29,"maximum":29999999.29}`: {"29999999.29"},
		`{"type":"number","multipleOf":0.1,"maximum":0.35,"minimum":0.25}`:                {"0.3"},
		`{"type":"number","multipleOf":0.01,"minimum":0.06,"maximum":0.07}`:               {"0.06", "0.07"},
		`{"type":"number","multipleOf":0.1,"minimum":-0.35,"maximum":-0.2}`:               {"-0.2", "-0.3"},
		`{"type":"number","multipleOf":0.05,"minimum":0.95,"maximum":1}`:                  {"0.95", "1"},
		`{"type":"number","multipleOf":0.1,"minimum":0,"maximum":0.1}`:                    {"0", "0.1"},
		`{"type":"integer","multipleOf":0.01,"minimum":7,"maximum":7}`:                    {"7"},
		`{"type":"integer","multipleOf":0.07,"minimum":1,"maximum":13}`:                   {"7"},
		`{"type":"integer","multipleOf":1.5,"minimum":1,"maximum":8}`:                     {"3", "6"},
		`{"type":"number","multipleOf":3,"minimum":3,"maximum":3}`:                        {"3"},
	} {
		for _, text := range texts(t, v, schema, Options{Strict: true}) {
			n, ok := new(big.Rat).SetString(text)
			if !ok || !slices.ContainsFunc(want, func(w string) bool {
				r, _ := new(big.Rat).SetString(w)
				return r.Cmp(n) == 0
			}) {
				t.Errorf("%s: %s, want one of %s", schema, text, want)
			}
		}
	}
	for _, schema := range []string{
		`{"type":"number","multipleOf":0.1,"minimum":0.31,"maximum":0.39}`,
		`{"type":"number","multipleOf":0.01,"exclusiveMinimum":0.56,"exclusiveMaximum":0.57}`,
		`{"type":"integer","multipleOf":1.5,"minimum":4,"maximum":5}`,
		`{"type":"integer","multipleOf":7,"minimum":8,"maximum":13}`,
	} {
		for _, strict := range []bool{true, false} {
			_, err := Compile(json.RawMessage(schema), Options{Strict: strict})
			if e, ok := errors.AsType[*Error](err); !ok || !e.Impossible {
				t.Errorf("%s, strict %v: %v, want a refusal", schema, strict, err)
			}
		}
	}
}

// Schemas within Lark rules have forms too. All other rules stay as they are.
func TestSchemaInRulesHasItsForm(t *testing.T) {
	v := newVocabulary(t)
	for rules, want := range map[string]string{
		`start: %json {"enum":[9007199254740993]}`:                                                                                   "9007199254740993",
		`start: "%json" %json {"const":9007199254740993} // %json {"a"`:                                                              "%json9007199254740993",
		"start: a\na: \"<\" %json{\"const\":1e400} \">\"":                                                                            "<1e400>",
		`start: %json {"$ref":"#/$defs/a%20b","$defs":{"a b":{"const":1}}}`:                                                          "1",
		`start: %json {"properties":{"a":{"const":1}},"required":["a"],"patternProperties":{"^a$":{}},"additionalProperties":false}`: `{"a":1}`,
	} {
		lark, err := Lark(rules)
		if err != nil {
			t.Fatal(err)
		}
		f := &Form{Value: strings.TrimPrefix(lark, "start: ")}
		m, err := v.Matcher(t.Context(), f.grammar())
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := follow(m, want, nil, len(want))
		m.Close()
		if err != nil || text != want {
			t.Errorf("%s: %q, %v, want %s", rules, text, err, want)
		}
	}
	for _, rules := range []string{"", `start: "a"`, `start: /"%json/ %json {"not":{}}`,
		`start: "%json {\"const\":9007199254740993}"`, `start: %json`, "start: \"a\n%json {",
		`// %json {"const":9007199254740993}`} {
		if got, err := Lark(rules); err != nil || got != rules {
			t.Errorf("%q becomes %q, %v", rules, got, err)
		}
	}
	if _, err := Lark(`start: %json {"allOf":[{"const":9007199254740993},{"minimum":1}]}`); err == nil {
		t.Error("a number in rules loses its digits")
	}
}
