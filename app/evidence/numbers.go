package evidence

import (
	"fmt"
	"math"
)

// A Count is a whole number from 0 to maxCount.
type Count int64

// maxCount is the largest count that a float64 holds exactly.
const maxCount = 1 << 53

// A Share lies between 0 and 1.
type Share float64

// A Rate is a finite number of at least 0: a speed, a ratio, megabytes.
type Rate float64

// Seconds is a finite time of at least 0.
type Seconds float64

// A Number is finite.
type Number float64

// A bounded value says which of its values are allowed.
type bounded interface {
	// bounds returns the least and the largest value, and the words for them.
	bounds() (least, most float64, words string)
}

func (Count) bounds() (least, most float64, words string) {
	return 0, maxCount, "a whole number of at least 0"
}

func (Share) bounds() (least, most float64, words string) {
	return 0, 1, "a number between 0 and 1"
}

func (Rate) bounds() (least, most float64, words string) {
	return 0, math.MaxFloat64, "a number of at least 0"
}

func (Seconds) bounds() (least, most float64, words string) {
	return 0, math.MaxFloat64, "a number of seconds, at least 0"
}

func (Number) bounds() (least, most float64, words string) {
	return -math.MaxFloat64, math.MaxFloat64, "a finite number"
}

// numeric is any of the number types of a report.
type numeric interface {
	Count | Share | Rate | Seconds | Number
}

// value returns what p points to, or 0.
func value[T numeric](p *T) float64 {
	if p == nil {
		return 0
	}
	return float64(*p)
}

// near reports whether two figures agree up to rounding. No figure is near NaN.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance
}

// shown formats a figure that may be missing.
func shown[T numeric](p *T) string {
	if p == nil {
		return "missing"
	}
	return fmt.Sprintf("%.4g", float64(*p))
}
