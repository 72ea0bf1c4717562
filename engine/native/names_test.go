package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// An object whose names would take all time is refused before it compiles, wherever the names
// stand. A large usual object is accepted.
func TestObjectsWithTooManyNamesAreRefused(t *testing.T) {
	list := func(n int, sep, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, sep)
	}
	names := func(n int, prefix string) string {
		return `"properties":{` + list(n, ",", `"`+prefix+`%d":{}`) + `}`
	}
	objects := func(n, of int, more string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"o%d":{%s%s}`, i, names(of, "p"), more))
		}
		return `{"properties":{` + strings.Join(parts, ",") + `}}`
	}
	const least = `,"additionalProperties":false,"minProperties":1`
	// uses returns n properties with the schema each. The definition a that they may refer to has
	// 30 names and requires at least one.
	uses := func(n int, each string) string {
		return `{"properties":{` + list(n, ",", `"u%d":`+each) + `},` +
			`"$defs":{"a":{"type":"object",` + names(30, "p") + least + `}}}`
	}
	// variants returns 30 alternatives for the property p0.
	variants := `"anyOf":[` + list(30, ",", `{"properties":{"p0":{"const":%d}}}`) + `]`
	v := newVocabularyOn(t, patientLane())
	for name, c := range map[string]struct {
		schema  string
		refused string // a part of the error; empty: none
	}{
		"as many as there may be": {`{` + names(2000, "p") + `}`, ""},
		"one more":                {`{` + names(2001, "p") + `}`, "2001 names"},
		"many":                    {`{` + names(8000, "p") + `}`, "8000 names"},
		"far down": {`{"anyOf":[{"items":{"$ref":"#/$defs/a"}}],"$defs":{"a":{"items":{` +
			names(2001, "p") + `}}}}`, "2001 names"},
		"required": {`{"required":[` + list(2001, ",", `"p%d"`) + `]}`, "2001 names"},
		"required besides": {`{` + names(1500, "p") + `,"required":[` +
			list(600, ",", `"q%d"`) + `]}`, "2100 names"},
		"required among them": {`{` + names(1500, "p") + `,"required":[` +
			list(600, ",", `"p%d"`) + `]}`, ""},
		"together": {`{"allOf":[{` + names(1200, "p") + `},{` + names(1200, "q") +
			`}]}`, "2400 names"},
		"together by reference": {`{` + names(1200, "p") +
			`,"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{` + names(1200, "q") +
			`}}}`, "2400 names"},
		"in a circle": {`{"allOf":[{` + names(600, "p") + `},{"$ref":"#"}]}`, "a schema that holds it"},
		"of alternatives": {`{"anyOf":[{` + names(1200, "p") + `},{` + names(1200, "q") +
			`}]}`, ""},
		"in objects":      {objects(10, 600, ""), ""},
		"too many in all": {objects(19, 900, ""), "65,525 symbols"},
		"patterns": {`{"patternProperties":{` + list(101, ",", `"^%da$":{}`) + `}}`,
			"101 patterns"},
		"as many as may be": {`{"patternProperties":{` + list(100, ",", `"^%da$":{}`) + `}}`, ""},
		"one at least":      {`{` + names(201, "p") + least + `}`, "minProperties"},
		"one at least of together": {`{"allOf":[{` + names(101, "p") + `},{` + names(100, "q") +
			`}]` + least + `}`, "minProperties"},
		"one at least, often":    {objects(100, 21, least), "minProperties"},
		"one at least of some":   {objects(50, 20, least), ""},
		"one at least, by names": {uses(60, `{"$ref":"#/$defs/a","description":"of many"}`), ""},
		"the same in allOf":      {uses(60, `{"allOf":[{"$ref":"#/$defs/a"}],"default":{}}`), ""},
		"the same or nothing":    {uses(60, `{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}`), ""},
		"the same and more": {uses(60,
			`{"$ref":"#/$defs/a","properties":{"p0":{"type":"null"}}}`), "minProperties"},
		// This makes one object for each alternative, which takes more than a compile may.
		"one at least, or else": {`{` + variants + `,` + names(190, "p") + least + `}`, "memory"},
		"some, or else":         {`{` + variants + `,` + names(30, "p") + least + `}`, ""},
		"one at least of anything": {`{"x-guidance":{"lenient":true},` +
			objects(200, 20, `,"minProperties":1`)[1:], ""},
		"a property of that name": {`{"properties":{"properties":{"type":"string"},"minProperties":{},"required":{},"allOf":{}}}`, ""},
		"no schemas":              {`{"properties":[1],"allOf":{"a":1},"required":7,"$ref":"#/none"}`, "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := v.Matcher(t.Context(), Grammar{JSON: json.RawMessage(c.schema)})
			e, ok := errors.AsType[*GrammarError](err)
			if err != nil && (!ok || c.refused == "") || err == nil && c.refused != "" {
				t.Fatalf("%v, want %q", err, c.refused)
			}
			if err == nil {
				m.Close()
			} else if c.refused != "schema" && !strings.Contains(e.Message, c.refused) {
				t.Errorf("%v, want %q", err, c.refused)
			}
		})
	}
	// An agent brings 200 tools of 20 parameters each.
	lark := "start: " + list(200, " | ", "t%d") + "\n"
	for i := range 200 {
		const rule = `t%d: "{\"name\": \"tool%[1]d\", \"arguments\": " ` +
			`%%json {"type":"object",%s} "}"` + "\n"
		lark += fmt.Sprintf(rule, i, names(20, fmt.Sprintf("of%d_", i)))
	}
	newMatcher(t, v, Grammar{Lark: lark})
}
