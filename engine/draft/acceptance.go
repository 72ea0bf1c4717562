package draft

// How acceptance is measured.
const (
	rateAlpha = 0.1 // weight of a new sample

	// trusted is how many samples make a position's own rate count in full.
	// Until then it leans on the position before.
	trusted = 10

	// priorRate stands in for the first position's: drafts are taken to be
	// worth a try.
	priorRate = 0.5
)

// Acceptance holds how often the draft at each position is accepted, given
// that all before it were.
type acceptance struct {
	rates [MaxDepth]rate
}

type rate struct {
	mean    float64
	samples int
}

// record takes in a round: the target judged the first judged drafts and
// accepted the first accepted of these.
func (a *acceptance) record(judged, accepted int) {
	for i := range min(judged, accepted+1, MaxDepth) {
		r, x := &a.rates[i], 0.0
		if i < accepted {
			x = 1
		}
		r.samples++
		r.mean += max(rateAlpha, 1/float64(r.samples)) * (x - r.mean)
	}
}

// expected fills in how many tokens a round of each depth emits on average,
// the target's own included.
func (a *acceptance) expected() (tokens [MaxDepth + 1]float64) {
	tokens[0] = 1
	reach, lean := 1.0, priorRate
	for i, r := range a.rates {
		own := min(float64(r.samples)/trusted, 1)
		lean = own*r.mean + (1-own)*lean
		reach *= lean
		tokens[i+1] = tokens[i] + reach
	}
	return tokens
}
