package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// minPairs is how many pairs of measurements a comparison takes at least.
const minPairs = 20

// minPrompts is how many prompts the pairs come from, at least. How many drafts are right depends
// on the prompt, so the same prompts again tell little more. With fewer than six, not even the
// range from the worst to the best holds the median with 95 %. Eight leave two to spare.
const minPrompts = 8

// An estimate is the median of measurements and its bootstrap 95 % interval.
type estimate struct {
	median, low, high float64
	n, prompts        int
}

// resamples is how many bootstrap samples an interval is taken from.
const resamples = 10_000

// estimateOf returns the median of all values and its interval, by the percentile bootstrap over
// clusters. It draws prompts, each with all its values, because values of one prompt are alike. The
// generator has a constant seed, so equal values give equal intervals.
func estimateOf(prompts [][]float64) estimate {
	n := len(prompts)
	if n == 0 {
		return estimate{}
	}
	random := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	var sample []float64
	for i := range medians {
		sample = sample[:0]
		for range prompts {
			sample = append(sample, prompts[random.IntN(n)]...)
		}
		medians[i] = middle(sample)
	}
	slices.Sort(medians)
	all := slices.Concat(prompts...)
	return estimate{middle(all), medians[resamples*25/1000], medians[resamples*975/1000-1],
		len(all), n}
}

// estimateEach estimates the median of independent measurements.
func estimateEach(values []float64) estimate {
	each := make([][]float64, len(values))
	for i, v := range values {
		each[i] = []float64{v}
	}
	return estimateOf(each)
}

// middle returns the median of values, 0 if there are none. It does not reorder them.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// A bar is the least ratio that a comparison must reach, and the ratio that it aims at. 0 is none.
type bar struct {
	least, aim float64
}

// undecided reports whether the interval contains the bar. Then the pairs are doubled once, and the
// second result counts.
func (b bar) undecided(e estimate) bool {
	return b.least > 0 && e.n > 0 && e.low <= b.least && b.least <= e.high
}

// judge returns the cell of a bar: whether the median meets it. It is nil without a bar.
func (b bar) judge(e estimate) any {
	switch {
	case b.least == 0:
		return nil
	case e.n == 0:
		return fmt.Sprintf("%.2f not measured", b.least)
	case e.n < minPairs:
		return fmt.Sprintf("%.2f, too few pairs", b.least)
	case e.prompts < minPrompts:
		return fmt.Sprintf("%.2f, too few prompts", b.least)
	case e.median < b.least:
		return fmt.Sprintf("%.2f missed", b.least)
	case b.aim > 0 && e.median >= b.aim:
		return fmt.Sprintf("%.2f met, aim %.1f too", b.least, b.aim)
	case b.aim > 0:
		return fmt.Sprintf("%.2f met, aim %.1f not", b.least, b.aim)
	}
	return fmt.Sprintf("%.2f met", b.least)
}

// A mark is the limit that a figure is held to.
type mark struct {
	limit float64
	least bool // the limit is the least, not the most
}

func atMost(limit float64) mark  { return mark{limit: limit} }
func atLeast(limit float64) mark { return mark{limit: limit, least: true} }

func (m mark) String() string {
	side := "at most "
	if m.least {
		side = "at least "
	}
	return side + strconv.FormatFloat(m.limit, 'f', -1, 64)
}

// met reports whether a figure keeps the limit.
func (m mark) met(v float64) bool {
	if m.least {
		return v >= m.limit
	}
	return v <= m.limit
}

// minAnswer is how many tokens an answer has at least. A shorter one is over before anything can be
// timed, and too short for the engine to tell whether it loops.
const minAnswer = 24
