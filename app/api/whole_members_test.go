package api

import "testing"

// Arguments that were cut off keep the members that are whole.
func TestCutArgumentsKeepWholeMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [1, {"b":"}"}]}`: `{"a":[1, {"b":"}"}]}`,
		``:                      `{}`, `{`: `{}`, `{"a`: `{}`, `{"a":`: `{}`, `{"a":1`: `{}`,
		`{"a":1,`:               `{"a":1}`,
		`{"a":1,"b":12`:         `{"a":1}`,
		`{"a":12,"b":"x`:        `{"a":12}`,
		`{"a":tru`:              `{}`,
		`{"a":[1,2`:             `{}`,
		`{"é":{"c":[]},"b":"x"`: `{"é":{"c":[]},"b":"x"}`,
		`{"a":1}x`:              `{"a":1}`,
		`[1`:                    `{}`,
	} {
		if got := string(WholeMembers([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
