package hub

import "testing"

// TestPythonsNumbersAreReplacedOutsideOfTexts expects that nothing else changes.
func TestPythonsNumbersAreReplacedOutsideOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[NaN,Infinity,-Infinity],"b":-1}`: `{"a":[0,0,0],"b":-1}`,
		`NaN`:                                   `0`,
		`{"NaN":"Infinity","c":NaN}`:            `{"NaN":"Infinity","c":0}`,
		`{"a\\\"NaN":"\\","b": NaN }`:           `{"a\\\"NaN":"\\","b": 0 }`,
		`{"a":1}`:                               `{"a":1}`,
		`{"cut":NaN,"NaN`:                       `{"cut":0,"NaN`,
		`"NaN\`:                                 `"NaN\`,
		``:                                      ``,
	} {
		if got := string(PythonJSON([]byte(text), "0")); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
