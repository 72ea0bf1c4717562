package api

import (
	"encoding/json"
	"strings"
	"testing"

	"tandem/app/dialect"
)

// TestToolsLoseTheTypeNull: where a template fails on the type null, its tools have none, and what may be
// null is nullable. Values that only look like a type stay.
func TestToolsLoseTheTypeNull(t *testing.T) {
	for given, want := range map[string]string{
		`[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":1}}}}}]`: `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer","minimum":1,"nullable":true}}}}}]`,
		`[{"type":["null","string","number"]}]`:                                `[{"type":["string","number"],"nullable":true}]`,
		`[{"anyOf":[{"type":"string"},{"type":"null"}]}]`:                      `[{"anyOf":[{"type":"string"},{"nullable":true}]}]`,
		`[{"type":"array","items":{"type":["null"]}}]`:                         `[{"type":"array","items":{"nullable":true}}]`,
		`[{"properties":{"type":{"type":["string","null"]},"null":{}}}]`:       `[{"properties":{"type":{"type":"string","nullable":true},"null":{}}}]`,
		`[{"type":"string","enum":["null",null],"default":{"type":["null"]}}]`: `[{"type":"string","enum":["null",null],"default":{"type":["null"]}}]`,
		`[{"type":["string","integer"]},7,"null",null,{}]`:                     `[{"type":["string","integer"]},7,"null",null,{}]`,
	} {
		if got := string(withoutNull(json.RawMessage(given))); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", given, got, want)
		}
	}
	c := Conversation{}
	c.Tools.List = json.RawMessage(`[{"type":["string","null"]}]`)
	for without, want := range map[bool]string{false: `"tools":[{"type":["string","null"]}]`, true: `"tools":[{"type":"string","nullable":true}]`} {
		if vars := string(c.Vars(nil, true, dialect.History{WithoutNull: without})); !strings.Contains(vars, want) {
			t.Errorf("without null %t: %s", without, vars)
		}
	}
}
