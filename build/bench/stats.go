package bench

import (
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap samples for an interval.
const resamples = 10_000

// median returns the middle of values, or 0 without any.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// bootstrap returns the percentile bootstrap 95 % interval of the median of values. The generator
// has a constant seed, so equal values give equal intervals.
func bootstrap(values []float64) (low, high float64) {
	if len(values) == 0 {
		return 0, 0
	}
	random := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return medians[resamples*25/1000], medians[resamples*975/1000-1]
}
