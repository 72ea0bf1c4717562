package enginetest

import (
	"math"
	"testing"
)

// WantNear compares float32 numbers with recorded ones. The test fails if a number is off by more than
// 1e-5 of the largest.
func WantNear(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	most, off := 0.0, 0.0
	for i := range want {
		most = max(most, math.Abs(float64(want[i])))
		off = max(off, math.Abs(float64(got[i])-float64(want[i])))
	}
	if !(off <= 1e-5*most) {
		t.Errorf("%s is off by %g of the largest number", what, off/most)
	}
}
