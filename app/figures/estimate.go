package figures

import (
	"math/rand/v2"
	"slices"
)

// An Estimate is the median of measurements and its bootstrap 95 % interval.
type Estimate struct {
	Median, Low, High float64
	N, Prompts        int
}

// resamples is how many bootstrap samples an interval is taken from.
const resamples = 10_000

// EstimateOf returns the median of all values and its interval, by the percentile bootstrap over
// clusters. It draws prompts, each with all its values, because values of one prompt are alike. The
// generator has a constant seed, so equal values give equal intervals.
func EstimateOf(prompts [][]float64) Estimate {
	n := len(prompts)
	if n == 0 {
		return Estimate{}
	}
	random := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	var sample []float64
	for i := range medians {
		sample = sample[:0]
		for range prompts {
			sample = append(sample, prompts[random.IntN(n)]...)
		}
		medians[i] = Median(sample)
	}
	slices.Sort(medians)
	all := slices.Concat(prompts...)
	return Estimate{Median(all), medians[resamples*25/1000], medians[resamples*975/1000-1],
		len(all), n}
}

// EstimateEach estimates the median of independent measurements.
func EstimateEach(values []float64) Estimate {
	each := make([][]float64, len(values))
	for i, v := range values {
		each[i] = []float64{v}
	}
	return EstimateOf(each)
}

// Median returns the median of values, 0 if there are none. It does not reorder them.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
