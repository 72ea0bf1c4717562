package pool

import (
	"fmt"
	"testing"
)

// Grammars that were compiled are remembered, up to a bound.
func TestCheckedTextsAreRememberedInBounds(t *testing.T) {
	var c checkedTexts
	for i := range 3 * maxChecked {
		rules := fmt.Sprint("start: ", i)
		if c.has(rules) {
			t.Fatalf("%s was checked before", rules)
		}
		if c.add(rules); !c.has(rules) || len(c.sums) > maxChecked {
			t.Fatalf("%s: %t, %d in all", rules, c.has(rules), len(c.sums))
		}
	}
}
