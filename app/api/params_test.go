package api

import (
	"slices"
	"testing"
)

// Whole numbers are ids, however they are written.
func TestTokenIDsAreWholeNumbers(t *testing.T) {
	for text, want := range map[string][]int32{`[1,2.0,3e1,-0]`: {1, 2, 30, 0}, `[]`: {},
		`[1.5]`: nil, `[1,99]`: nil, `[-1]`: nil, `[4294967297]`: nil, `[1e300]`: nil, `["1"]`: nil,
		`{}`: nil} {
		if got, err := tokenIDs([]byte(text), 99, "prompt"); !slices.Equal(got, want) ||
			(err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
