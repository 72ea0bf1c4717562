package draft

import "math"

// How acceptance is measured.
const (
	rateAlpha = 0.1 // weight of a new sample in the recent rate

	// slowAlpha is the weight in the lasting rate, by which the depth is chosen. The recent rate is
	// so noisy that the depth would be too.
	slowAlpha = 0.0125

	// changed is how many standard deviations the recent rate may differ from the lasting one
	// before the text counts as changed.
	changed = 3.5

	// incredible is the chance of a streak below which it counts as a change. A false alarm is
	// expensive: what drafts gained is forgotten, and little is learned without drafts. If drafts
	// are accepted 58 times in 100, eight in a row are rejected once in 1,800 rounds, so 1 in 1,000
	// is too often.
	incredible = 1e-4

	// trusted is how many samples make the first position's rate count in full. Until then it is
	// blended with priorRate, at which drafts seem worth a try.
	trusted   = 10
	priorRate = 0.5

	// leaning is the weight, in samples, of the previous position's rate at a deeper position. A
	// position that is not chosen is seldom sampled: a few unlucky drafts there would hide all
	// later positions for hundreds of rounds.
	leaning = 8
)

// An acceptance holds how often the draft at each position is accepted, given that all before it
// were.
type acceptance struct {
	rates [MaxDepth]rate
	model acceptanceModel
}

type rate struct {
	mean    float64 // the lasting one, by which the depth is chosen
	recent  float64
	samples int
	window  int // samples since the text changed
	streak  int // equal samples at the end: accepted if positive, else rejected
}

// learn records a round with the signals that its proposal had.
func (a *acceptance) learn(x acceptanceSignals, drafts, accepted int) {
	n := min(drafts, accepted+1, MaxDepth)
	o := a.model.oddsRatio(x)
	rates := a.longTermRates()
	for i := range n {
		rates[i] = o.of(rates[i], i)
	}
	a.model.record(x, rates[:n], accepted)
	a.record(drafts, accepted)
}

// record adds a round: how many drafts it had, and how many of them, the first ones, were accepted.
// After the first rejected draft nothing is known.
func (a *acceptance) record(drafts, accepted int) {
	for i := range min(drafts, accepted+1, MaxDepth) {
		a.rates[i].record(i < accepted)
	}
}

// record adds one sample. When a text changes, from code to prose for example, a streak is too
// unlikely for the rate, or the recent rate is far from the lasting one. Then earlier samples no
// longer count.
func (r *rate) record(accepted bool) {
	x, chance := 0.0, 1-r.mean
	if accepted {
		x, chance = 1, r.mean
		r.streak = max(r.streak, 0) + 1
	} else {
		r.streak = min(r.streak, 0) - 1
	}
	n := max(r.streak, -r.streak)
	if r.samples >= trusted && math.Pow(chance, float64(n)) < incredible {
		r.mean = (x*float64(n) + 0.5) / float64(n+1) // of n equal samples and no others
		r.recent, r.window = r.mean, n
	} else {
		r.window++
		r.recent += max(rateAlpha, 1/float64(r.window)) * (x - r.recent)
		r.mean += max(slowAlpha, 1/float64(r.window)) * (x - r.mean)
		deviation := math.Sqrt(max(r.mean*(1-r.mean), 0.01) * rateAlpha / (2 - rateAlpha))
		if math.Abs(r.recent-r.mean) > changed*deviation {
			r.mean, r.window = r.recent, min(r.window, int(1/rateAlpha))
		}
	}
	r.samples++
}

// expected returns how many tokens a round of each depth emits on average, the target's own
// included. o scales the odds of each draft.
func (a *acceptance) expected(o oddsRatio) (tokens [MaxDepth + 1]float64) {
	tokens[0] = 1
	reach := 1.0
	for i, p := range a.longTermRates() {
		reach *= o.of(p, i)
		tokens[i+1] = tokens[i] + reach
	}
	return tokens
}

// longTermRates returns how often the draft at each position is accepted after those before it.
func (a *acceptance) longTermRates() (rates [MaxDepth]float64) {
	lean := priorRate
	for i, r := range a.rates {
		weight := min(float64(r.samples)/trusted, 1)
		if i > 0 {
			weight = float64(r.window) / float64(r.window+leaning)
		}
		lean = weight*r.mean + (1-weight)*lean
		rates[i] = lean
	}
	return rates
}
