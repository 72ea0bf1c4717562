package native

import (
	"encoding/json"
	"errors"
	"testing"
)

// A schema that compares with -2^63 or less is refused. llguidance would end the process.
func TestNumberThatIsTooLowIsRefused(t *testing.T) {
	v := newVocabulary(t)
	for _, schema := range []string{
		`{"const":-9223372036854775808}`,
		`{"type":"integer","enum":[1,-1e19]}`,
		`{"type":"integer","minimum":-9223372036854775808,"maximum":-9223372036854775808}`,
		`{"type":"integer","minimum":-1e300,"maximum":-1e299}`,
		`{"type":"integer","exclusiveMaximum":-9223372036854775807}`,
		`{"items":{"const":{"a":[-9223372036854775808]}}}`,
	} {
		for _, g := range []Grammar{{JSON: json.RawMessage(schema)},
			{Lark: "start: %json " + schema}} {
			m, err := v.Matcher(t.Context(), g)
			if err == nil {
				m.Close()
			}
			if e, ok := errors.AsType[*GrammarError](err); !ok || e.Kind != KindLimit {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
	for _, schema := range []string{
		`{"const":-9223372036854774784}`, `{"default":-1e300}`, `{"multipleOf":-1}`,
	} {
		newMatcher(t, v, Grammar{JSON: json.RawMessage(schema)})
	}
}
