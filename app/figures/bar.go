package figures

import (
	"fmt"
	"strconv"
)

// MinPairs is how many pairs of measurements a comparison takes at least.
const MinPairs = 20

// minPrompts is how many prompts the pairs come from, at least. How many drafts are right depends
// on the prompt, so the same prompts again tell little more. With fewer than six, not even the
// range from the worst to the best holds the median with 95 %. Eight leave two to spare.
const minPrompts = 8

// A Bar is the least ratio that a comparison must reach, and the ratio that it aims at. 0 means no bar
// or no aim.
type Bar struct {
	Min, Aim float64
}

// Undecided reports whether the interval contains the bar. Then the pairs are doubled once, and the
// second result counts.
func (b Bar) Undecided(e Estimate) bool {
	return b.Min > 0 && e.N > 0 && e.Low <= b.Min && b.Min <= e.High
}

// Judge returns the cell of a bar: whether the median meets it. It is nil without a bar.
func (b Bar) Judge(e Estimate) any {
	switch {
	case b.Min == 0:
		return nil
	case e.N == 0:
		return fmt.Sprintf("%.2f not measured", b.Min)
	case e.N < MinPairs:
		return fmt.Sprintf("%.2f, too few pairs", b.Min)
	case e.Prompts < minPrompts:
		return fmt.Sprintf("%.2f, too few prompts", b.Min)
	case e.Median < b.Min:
		return fmt.Sprintf("%.2f missed", b.Min)
	case b.Aim > 0 && e.Median >= b.Aim:
		return fmt.Sprintf("%.2f met, aim %.1f too", b.Min, b.Aim)
	case b.Aim > 0:
		return fmt.Sprintf("%.2f met, aim %.1f not", b.Min, b.Aim)
	}
	return fmt.Sprintf("%.2f met", b.Min)
}

// A Mark is the limit that a figure is held to.
type Mark struct {
	limit float64
	min   bool // the limit is the minimum, not the maximum
}

// AtMost returns a mark that figures may reach, but not exceed.
func AtMost(limit float64) Mark { return Mark{limit: limit} }

// AtLeast returns a mark that figures must reach.
func AtLeast(limit float64) Mark { return Mark{limit: limit, min: true} }

func (m Mark) String() string {
	side := "at most "
	if m.min {
		side = "at least "
	}
	return side + strconv.FormatFloat(m.limit, 'f', -1, 64)
}

// Met reports whether a figure keeps the limit.
func (m Mark) Met(v float64) bool {
	if m.min {
		return v >= m.limit
	}
	return v <= m.limit
}
