package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// schemaOf returns the schema of a form, without the options for llguidance.
func schemaOf(t *testing.T, f *Form) string {
	t.Helper()
	if f.JSON == nil {
		return f.Lark()
	}
	v, err := read(f.JSON)
	if err != nil {
		t.Fatal(err)
	}
	v.remove("x-guidance")
	return string(v.append(nil))
}

// A keyword that cannot be honoured is left out, and the rest of the schema stays. A strict schema
// is refused, and the error names the place.
func TestKeywordThatCannotBeHonouredIsLeftOutUnlessStrict(t *testing.T) {
	for _, c := range []struct{ schema, want, path string }{
		{`{"anyOf":[{"type":"number"},{"type":"string","pattern":"^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}]}`,
			`{"anyOf":[{"type":"number"},{"type":"string"}]}`, "/anyOf/1/pattern"},
		{`{"type":"string","pattern":"(?<=a)b"}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","pattern":"(a)\\1"}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","pattern":"\\bword"}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","pattern":"a^b"}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","pattern":"("}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","pattern":7}`, `{"type":"string"}`, "/pattern"},
		{`{"type":"string","format":"phone"}`, `{"type":"string"}`, "/format"},
		{`{"type":"string","minLength":-1}`, `{"type":"string"}`, "/minLength"},
		{`{"type":"string","maxLength":null}`, `{"type":"string"}`, "/maxLength"},
		{`{"type":"any"}`, `{}`, "/type"},
		{`{"type":["string","any"]}`, `{}`, "/type"},
		{`{"type":["string","file",7]}`, `{"type":"string"}`, "/type"},
		{`{"type":null}`, `{}`, "/type"},
		{`{"type":"STRING"}`, `{"type":"string"}`, "/type"},
		{`{"type":"object","required":null}`, `{"type":"object"}`, "/required"},
		{`{"type":"object","required":true}`, `{"type":"object"}`, "/required"},
		{`{"type":"object","required":["a",1]}`, `{"type":"object","required":["a"]}`, "/required/1"},
		{`{"type":"object","properties":null}`, `{"type":"object"}`, "/properties"},
		{`{"type":"object","properties":[]}`, `{"type":"object"}`, "/properties"},
		{`{"type":"object","properties":{"a/b":null}}`, `{"type":"object","properties":{"a/b":true}}`,
			"/properties/a~1b"},
		{`{"type":"object","additionalProperties":null}`, `{"type":"object"}`, "/additionalProperties"},
		{`{"type":"object","additionalProperties":false,"patternProperties":{"^(?!x)":{}}}`,
			`{"type":"object"}`, "/patternProperties/^(?!x)"},
		{`{"type":"object","properties":{"a":{}},"minProperties":1}`,
			`{"type":"object","properties":{"a":{}}}`, ""},
		{`{"type":"array","items":null}`, `{"type":"array"}`, "/items"},
		{`{"type":"array","prefixItems":{}}`, `{"type":"array"}`, "/prefixItems"},
		{`{"type":"array","uniqueItems":true}`, `{"type":"array"}`, "/uniqueItems"},
		{`{"enum":null}`, `{}`, "/enum"},
		{`{"allOf":[]}`, `{}`, "/allOf"},
		{`{"allOf":{}}`, `{}`, "/allOf"},
		{`{"oneOf":null}`, `{}`, "/oneOf"},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `{"anyOf":[{"minimum":1},{"maximum":5}]}`, "/oneOf"},
		{`{"$ref":"#/$defs/nowhere","type":"string"}`, `{"type":"string"}`, "/$ref"},
		{`{"$ref":"https://example.com/a.json"}`, `{}`, "/$ref"},
		{`{"$ref":7}`, `{}`, "/$ref"},
		{`{"$ref":"#/$defs/a","$defs":{"a":7}}`, `{}`, "/$ref"},
		{`{"not":{"type":"null"}}`, `{}`, "/not"},
		{`{"if":{},"then":{"required":["a"]}}`, `{}`, "/if"},
		{`{"type":"integer","minimum":"5"}`, `{"type":"integer"}`, "/minimum"},
		{`{"type":"integer","multipleOf":0}`, `{"type":"integer"}`, "/multipleOf"},
		{`{"type":"number","multipleOf":0.07}`, `{"type":"number"}`, "/multipleOf"},
		{`null`, `{}`, ""},
		{`[{"type":"string"}]`, `{}`, ""},
	} {
		form, err := Compile(json.RawMessage(c.schema), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
		} else if got := schemaOf(t, form); got != c.want {
			t.Errorf("%s: %s, want %s", c.schema, got, c.want)
		}
		_, err = Compile(json.RawMessage(c.schema), Options{Strict: true})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Path != c.path {
			t.Errorf("%s, strict: %v, want an error at %q", c.schema, err, c.path)
		}
	}
}

// TestUnknownFormatIsToldTheKnownOnes: "unknown", which is any text to llguidance, is none that helps.
func TestUnknownFormatIsToldTheKnownOnes(t *testing.T) {
	for _, format := range []string{`"phone"`, `7`, `"Date"`, `""`} {
		_, err := Compile(json.RawMessage(`{"type":"string","format":`+format+`}`), Options{Strict: true})
		if err == nil || !strings.HasSuffix(err.Error(), "use one of date-time, time, date, duration, email, hostname, ipv4, ipv6, uuid, uri") {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := Compile(json.RawMessage(`{"type":"string","format":"unknown"}`), Options{Strict: true}); err != nil {
		t.Error(err)
	}
}

// A keyword without effect is not an error, strict or not.
func TestKeywordThatSaysNothingIsAccepted(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":["string","null"],"nullable":true,"title":"x","default":1e999,"example":[]}`: `{"type":["string","null"]}`,
		`{"type":"integer","format":"int64","minLength":"x","required":7}`:                    `{"type":"integer"}`,
		`{"type":"string","discriminator":{"propertyName":"a"},"xml":{},"deprecated":true}`:   `{"type":"string"}`,
		`{"type":"array","uniqueItems":false,"minContains":1,"then":{}}`:                      `{"type":"array"}`,
		`{"type":"array","items":[{"type":"null"}],"additionalItems":false}`:                  `{"type":"array","prefixItems":[{"type":"null"}],"items":false}`,
		`{"type":"array","minItems":2.0}`:                                                     `{"type":"array","minItems":2}`,
		`{"type":"number","minimum":1,"exclusiveMinimum":true}`:                               `{"type":"number","exclusiveMinimum":1}`,
		`{"type":"number","maximum":1,"exclusiveMaximum":false}`:                              `{"type":"number","maximum":1}`,
		`{"const":null}`:          `{"const":null}`,
		`{"const":{"a":[1,"x"]}}`: `{"const":{"a":[1,"x"]}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependentRequired":{}}`: `{"type":"object"}`,
		`true`: `{}`,
	} {
		for _, strict := range []bool{true, false} {
			form, err := Compile(json.RawMessage(schema), Options{Strict: strict})
			if err != nil {
				t.Errorf("%s: %v", schema, err)
			} else if got := schemaOf(t, form); got != want {
				t.Errorf("%s: %s, want %s", schema, got, want)
			}
		}
	}
}

func TestSchemaThatSpeaksOfPropertiesIsAnObject(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"a":{"type":"boolean"}},"required":["a"]}`,
		`{"required":["a"],"properties":{"a":{"type":"boolean"}},"$defs":{}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"type":"boolean"}},"required":["a"]}}}`,
		`{"anyOf":[{"properties":{"a":{"type":"boolean"}},"required":["a"]}]}`,
	} {
		for _, text := range texts(t, newVocabulary(t), schema, Options{Strict: true}) {
			var v struct{ A *bool }
			if err := json.Unmarshal([]byte(text), &v); err != nil || v.A == nil {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
	form, err := Compile(json.RawMessage(`{"items":{"type":"null"}}`), Options{Strict: true})
	if got := schemaOf(t, form); err != nil || got != `{"type":"array","items":{"type":"null"}}` {
		t.Errorf("items without a type: %s, %v", got, err)
	}
}

func TestPatternWithinItsLengthsIsAdmitted(t *testing.T) {
	for _, schema := range []string{
		`{"type":"string","pattern":"^[a-z]{2,5}$","minLength":5,"maxLength":5}`,
		`{"type":"string","pattern":"^ab","minLength":3}`,
		`{"type":"string","pattern":"ab$","minLength":3,"maxLength":4}`,
		`{"type":"string","pattern":"^(a|b*)$","minLength":3,"maxLength":4}`,
		`{"type":"string","pattern":"^a$|b","minLength":3}`,
		`{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}`,
	} {
		texts(t, newVocabulary(t), schema, Options{Strict: true})
	}
}

// A tool's arguments are an object whatever their schema says.
func TestFormOfAnObjectAdmitsObjectsOnly(t *testing.T) {
	for _, schema := range []string{`true`, `{}`, `{"type":["object","null"]}`, `{"description":"x"}`,
		`{"anyOf":[{"type":"null"},{"type":"object"}]}`, `7`, `{"$ref":"#/$defs/a","$defs":{"a":{}}}`} {
		for _, text := range texts(t, newVocabulary(t), schema, Options{Object: true}) {
			if !strings.HasPrefix(text, "{") {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
	for _, schema := range []string{`{"type":"string"}`, `{"enum":[1]}`, `false`, `{"anyOf":[{"type":"number"},{"type":"string"}]}`} {
		for _, strict := range []bool{true, false} {
			_, err := Compile(json.RawMessage(schema), Options{Object: true, Strict: strict})
			if e, ok := errors.AsType[*Error](err); !ok || !e.Impossible {
				t.Errorf("%s, strict %v: %v for the schema of an object", schema, strict, err)
			}
		}
	}
}

func TestOneOfWithoutACommonValueIsAnyOf(t *testing.T) {
	tagged := func(a, b string) string {
		return fmt.Sprintf(`{"oneOf":[{"type":"object","properties":{"k":%s},"required":["k"]},`+
			`{"type":"object","properties":{"k":%s},"required":["k"]}]}`, a, b)
	}
	for schema, apart := range map[string]bool{
		`{"oneOf":[{"type":"string"},{"type":"integer"}]}`:                                 true,
		`{"oneOf":[{"type":"number"},{"type":"integer"}]}`:                                 false,
		`{"oneOf":[{"enum":["a","b"]},{"const":"c"}]}`:                                     true,
		`{"oneOf":[{"enum":[1,2]},{"const":2.0}]}`:                                         false,
		`{"oneOf":[{"type":"null"}]}`:                                                      true,
		`{"oneOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":"string"}}}`: true,
		tagged(`{"const":"a"}`, `{"const":"b"}`):                                           true,
		tagged(`{"const":1}`, `{"const":2}`):                                               true,
		tagged(`{"const":"a"}`, `{"enum":["b","a"]}`):                                      false,
		tagged(`{"const":"a"}`, `{"type":"string"}`):                                       false,
		`{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"},{"type":"null"}]}`:        true,
		`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`:                false,
	} {
		form, err := Compile(json.RawMessage(schema), Options{Strict: true})
		if (err == nil) != apart {
			t.Errorf("%s: %v, want it admitted: %v", schema, err, apart)
		}
		if err == nil && strings.Contains(string(form.JSON), "oneOf") {
			t.Errorf("%s: %s", schema, form.JSON)
		}
		texts(t, newVocabulary(t), schema, Options{})
	}
}

// A schema that no finite value satisfies is refused. A part without a value is left out.
func TestSchemaWithoutAFiniteValueIsRefused(t *testing.T) {
	for schema, path := range map[string]string{
		`false`:        "",
		`{"$ref":"#"}`: "/$ref",
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`:                                  "/properties/a/$ref",
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1}}}`:       "/$ref",
		`{"type":"object","properties":{"a":false},"required":["a"]}`:                                         "/properties/a",
		`{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":1}},"required":["a"]}`: "/properties/a",
		`{"type":"integer","minimum":5,"exclusiveMaximum":5}`:                                                 "",
		`{"type":"integer","minimum":1.1,"maximum":1.9}`:                                                      "",
		`{"type":"object","minProperties":2,"maxProperties":1}`:                                               "",
		`{"type":"object","minProperties":1,"additionalProperties":false}`:                                    "/minProperties",
		`{"allOf":[{"type":"string"},{"type":"null"}]}`:                                                       "",
		`{"type":"string","allOf":[{"type":"null"}]}`:                                                         "",
		`{"enum":[1,2],"const":3}`:                                                                            "/const",
		`{"type":"string","enum":[1,2]}`:                                                                      "/enum",
		`{"enum":[]}`:                                                                                         "/enum", `{"anyOf":[]}`: "/anyOf", `{"oneOf":[],"type":"null"}`: "/oneOf", `{"type":[]}`: "/type",
		`{"enum":["a"],"type":"integer"}`:                                 "/enum",
		`{"const":null,"type":["string","number"]}`:                       "/const",
		`{"type":"string","pattern":"^c","enum":["a"]}`:                   "",
		`{"const":"aa","maxLength":1}`:                                    "",
		`{"const":5,"minimum":6}`:                                         "",
		`{"enum":[5,7],"multipleOf":2}`:                                   "",
		`{"not":{}}`:                                                      "/not",
		`{"type":"string","not":true}`:                                    "/not",
		`{"type":"object","required":["a"],"additionalProperties":false}`: "/required/0",
		`{"type":"object","properties":{"a":{}},"required":["a","b"],"additionalProperties":false}`:                      "/required/1",
		`{"type":"object","properties":{"a":{}},"minProperties":3,"additionalProperties":false}`:                         "/minProperties",
		`{"type":"object","properties":{"a":{},"b":{}},"required":["b"],"minProperties":3,"additionalProperties":false}`: "/minProperties",
		`{"type":"object","properties":{"a":{"properties":{"b":{"not":{}}},"required":["b"]}},"required":["a"]}`:         "/properties/a/properties/b/not",
		`{"allOf":[{"const":"a"},{"const":"b"}]}`:                                                                        "/allOf/1",
		`{"const":1,"allOf":[{"enum":[1,2]},{"enum":[2]}]}`:                                                              "/allOf/1",
		`{"allOf":[{"$ref":"#/$defs/a"},{"const":2}],"$defs":{"a":{"enum":[1]}}}`:                                        "/allOf/1",
		`{"type":"string","pattern":"^[a-z]{5}$","maxLength":3}`:                                                         "/pattern",
		`{"type":"string","pattern":"^(ab|c)?$","minLength":3}`:                                                          "/pattern",
		`{"type":"string","pattern":"a+b{2,}","maxLength":2}`:                                                            "/pattern",
		`{"type":"object","properties":{"a/b":{"type":"string","pattern":"^a$|^bc$","minLength":3}},"required":["a/b"]}`: "/properties/a~1b/pattern",
	} {
		for _, strict := range []bool{true, false} {
			_, err := Compile(json.RawMessage(schema), Options{Strict: strict})
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Path != path || !e.Impossible {
				t.Errorf("%s, strict %v: %v, want a refusal at %q", schema, strict, err, path)
			}
		}
	}
	for schema, want := range map[string]string{
		`{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{"$ref":"#/anyOf/1"}},"required":["a"]}]}`:          `null`,
		`{"type":"object","properties":{"a":{"allOf":[{"type":"null"},{"type":"string"}]}},"additionalProperties":false}`: `{}`,
		`{"type":"array","items":{"type":"object","properties":{"a":false},"required":["a"]}}`:                            `[]`,
		`{"type":"object","properties":{"a":{"not":{}}},"additionalProperties":false}`:                                    `{}`,
		`{"type":"array","prefixItems":[{"const":1},false,{}]}`:                                                           `[1]`,
	} {
		for _, text := range texts(t, newVocabulary(t), schema, Options{Strict: true}) {
			if text = strings.Join(strings.Fields(text), ""); text != want && text != "[]" {
				t.Errorf("%s: %s, want %s", schema, text, want)
			}
		}
	}
}

// No text that a grammar allows comes to a place where nothing may follow.
func TestNamesThatNothingIsLeftOfDoNotEndAText(t *testing.T) {
	v := newVocabulary(t)
	for _, schema := range append(admitted,
		`{"type":"object","properties":{"score":{"type":"integer","multipleOf":5},"tags":{"type":"array"}},"required":["score","tags"],"additionalProperties":false,"patternProperties":{"^score$":{"type":"integer"}}}`,
		`{"type":"object","properties":{"a":{"type":"boolean"}},"patternProperties":{"^a$":{"type":"integer"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{},"b":{}},"patternProperties":{"^(a|b)$":{"type":"null"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{},"b":{}},"patternProperties":{"^[ab]$":{"type":"null"}},"additionalProperties":false}`,
		`{"type":"object","patternProperties":{"[^\\s\\S]":{}},"additionalProperties":false}`,
		`{"type":"object","patternProperties":{"":false}}`,
		`{"type":"object","patternProperties":{"^[\\s\\S]*$":false}}`,
		`{"type":"object","patternProperties":{"^.*$":{"type":"null"}},"additionalProperties":false}`,
		`{"allOf":[{"type":"object","properties":{"a":{"type":"null"}}},{"type":"object","patternProperties":{"^a$":{"type":"null"}},"additionalProperties":false}]}`,
		`{"anyOf":[{"type":"object","patternProperties":{"^a$":{}},"additionalProperties":false},{"type":"null"}],"properties":{"a":{"type":"null"}}}`,
	) {
		if form, err := Compile(json.RawMessage(schema), Options{Strict: true}); err == nil {
			isFollowed(t, v, schema, form)
		}
		if form, err := Compile(json.RawMessage(schema), Options{}); err == nil {
			isFollowed(t, v, schema, form)
		}
	}
}

// Schemas that refer to each other, or repeat themselves, are read within a second.
func TestHostileSchemaIsReadWithinBounds(t *testing.T) {
	list := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i, i+1))
		}
		return strings.Join(parts, ",")
	}
	for name, schema := range map[string]string{
		"a chain": `{"$ref":"#/$defs/0","$defs":{` + list(20_000, `"%d":{"$ref":"#/$defs/%d"}`) +
			`,"20000":{"const":1e400}}}`,
		"a chain back": `{"$ref":"#/$defs/20000","$defs":{"0":{"type":"null"},` +
			list(20_000, `"%[2]d":{"$ref":"#/$defs/%[1]d"}`) + `}}`,
		"choices":        `{"oneOf":[` + list(5000, `{"type":"object","required":["a%d"]}`) + `]}`,
		"nested":         strings.Repeat(`{"items":`, 5000) + "1" + strings.Repeat("}", 5000),
		"many patterns":  `{"patternProperties":{` + list(5000, `"^%d$":{}`) + `}}`,
		"a long pattern": `{"pattern":"` + strings.Repeat("(a|b)", 10_000) + `"}`,
		"repeats":        `{"patternProperties":{"^` + strings.Repeat("(", 90) + "a" + strings.Repeat("){9}", 90) + `$":{}}}`,
		"numbers":        `{"enum":[` + list(50_000, "1e40%[1]d") + `]}`,
		"long numbers":   `{"minimum":1e999999999,"maximum":1` + strings.Repeat("0", 100_000) + `}`,
		"large":          `{"description":"` + strings.Repeat("x", maxBytes) + `"}`,
		"types that references multiply": `{"$ref":"#/$defs/4","$defs":{"0":{"type":"string"},` +
			list(4, `"%[2]d":{"type":["string","array"],"anyOf":[`+
				strings.Repeat(`{"$ref":"#/$defs/%[1]d"},`, 150)+`{"$ref":"#/$defs/0"}]}`) + `}}`,
		"names that patterns multiply": strings.Repeat(`{"patternProperties":{"^[0-9]{2}$":`, 6) +
			`{"type":"null"}` + strings.Repeat(`}}`, 6),
		"names beside a long pattern": `{"patternProperties":{"^(` + strings.Repeat("abc|", 2000) +
			`x).*y":{}},"additionalProperties":false,"required":[` + list(5000, `"n%d"`) + `]}`,
		"values beside a long pattern": `{"pattern":"(` + strings.Repeat("a?", 1500) + `){9}y","enum":[` +
			list(200, `"%d`+strings.Repeat("a", 2000)+`"`) + `]}`,
		"references beside a long number": `{"$defs":{"d":{"enum":["` + strings.Repeat("x", 300_000) +
			`"]}},"properties":{"n":{"enum":[9007199254740993]},` +
			list(2000, `"%d":{"$ref":"#/$defs/d"}`) + `}}`,
		"values": `{"enum":["` + strings.Repeat("x", 1000) + `"],"const":{"a":` +
			strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}}`,
	} {
		start := time.Now()
		for _, strict := range []bool{true, false} {
			form, err := Compile(json.RawMessage(schema), Options{Strict: strict})
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil && len(form.Value)+len(form.Rules) > maxBytes {
				t.Errorf("%s: %d bytes", name, len(form.Value)+len(form.Rules))
			}
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: read in %v", name, d)
		}
	}
}
