package native

import "slices"

// minNumber is the least number that a schema may compare with. At -2^63 llguidance negates an
// int64 that has no opposite, and calls itself until the process ends.
const minNumber = -1 << 63

// comparing are the keywords whose numbers llguidance turns into an int64.
var comparing = []string{
	"const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
}

// tooLow reports whether a schema compares with a number that is too low. compared says that v is
// in a value of such a keyword.
func tooLow(v any, compared bool) bool {
	switch v := v.(type) {
	case float64:
		return compared && v <= minNumber
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return tooLow(x, compared) })
	case map[string]any:
		for key, x := range v {
			if tooLow(x, compared || slices.Contains(comparing, key)) {
				return true
			}
		}
	}
	return false
}
