package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Schemas that llguidance would join to too many others are refused before it sees them. Usual
// schemas are accepted.
func TestSchemasThatJoinTooMuchAreRefused(t *testing.T) {
	times := func(n int, item string) string {
		return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
	}
	var numbers, names []string
	for i := range 20_000 {
		numbers = append(numbers, fmt.Sprint(i))
		names = append(names, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
	}
	enum := func(n int) string { return `{"enum":[` + strings.Join(numbers[:n], ",") + `]}` }
	object := func(n int) string {
		return `{"type":"object","properties":{` + strings.Join(names[:n], ",") + `}}`
	}
	choice := func(n int, of string) string { return `{"anyOf":[` + times(n, of) + `]}` }
	const some = `{"type":"object"}`
	v := newVocabulary(t)
	for name, c := range map[string]struct {
		schema  string
		refused bool
	}{
		"a list within each": {`{"allOf":[` + choice(200, some) +
			`,{"type":"object","properties":{"a":` + enum(20_000) + `}}]}`, true},
		"beside other keywords": {`{"type":"object","properties":{"a":` + enum(20_000) +
			`},"oneOf":[` + times(200, `{"required":["a"]}`) + `]}`, true},
		"by references": {`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":` +
			choice(200, some) + `,"b":{"properties":{"a":{"$ref":"#/$defs/c"}}},"c":` +
			enum(20_000) + `}}`, true},
		"beside a reference": {`{"$ref":"#/$defs/a~1b/0","allOf":[` + choice(200, some) +
			`],"$defs":{"a/b":[{"properties":{"a":` + enum(20_000) + `}}]}}`, true},
		"in members of one name": {`{"allOf":[{"properties":{"x":{"properties":{"a":` +
			enum(20_000) + `}}}},{"properties":{"x":` + choice(200, some) + `}}]}`, true},
		"lists beside lists": {`{"allOf":[` + times(5, choice(20, some)) + `]}`, true},
		"in a definition": {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[` +
			times(5, choice(20, some)) + `]}}}`, true},
		"in rules":    {"", true},
		"many names":  {object(2000), false},
		"a long list": {enum(20_000), false},
		"a long list of a type": {`{"type":"integer","enum":[` +
			strings.Join(numbers[:1000], ",") + `]}`, false},
		"some of many": {choice(300,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":["x","y"]}},"required":["a"]}`), false},
		"one thing and what it adds": {`{"$ref":"#/$defs/b","$defs":{"a":` + object(50) +
			`,"b":{"allOf":[{"$ref":"#/$defs/a"},` + object(60) + `]}}}`, false},
		"variants of one thing": {`{"type":"object","properties":{"kind":{"enum":["a","b","c"]},"all":` +
			object(40) + `},"anyOf":[` + times(12,
			`{"properties":{"kind":{"const":"a"}},"required":["kind"]}`) + `]}`, false},
		"a tree": {`{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"},"op":{"enum":["+","-"]}}}`,
			false},
		"an expression": {`{"$ref":"#/$defs/e","$defs":{"e":{"oneOf":[{"type":"number"},{"allOf":[{"$ref":"#/$defs/base"},{"type":"object","properties":{"a":{"$ref":"#/$defs/e"},"b":{"$ref":"#/$defs/e"}}}]}]},"base":{"type":"object","properties":{"at":{"type":"integer"}}}}}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			g := Grammar{JSON: json.RawMessage(c.schema)}
			if c.schema == "" {
				g = Grammar{Lark: `start: "x" %json {"allOf":[` + times(5, choice(20, some)) + `]}`}
			}
			err := checkSchemas(g)
			e, ok := errors.AsType[*GrammarError](err)
			if ok != c.refused {
				t.Fatalf("%v, want an error: %t", err, c.refused)
			}
			if ok && (e.Kind != KindLimit || !strings.Contains(e.Message, "hold together")) {
				t.Fatalf("another error: %v", err)
			}
			m, err := v.Matcher(t.Context(), g)
			if (err != nil) != c.refused {
				t.Fatalf("compiled: %v", err)
			}
			if err == nil {
				m.Close()
			}
		})
	}
}
