package draft

import (
	"math"
	"slices"
)

const (
	// weightStep is how much of an error moves the weights. At more they follow the luck of some
	// rounds.
	weightStep = 0.02

	// mostWeight bounds a weight, and mostShift what all together do to a rate, in logits.
	mostWeight = 4
	mostShift  = 3

	outlookAlpha = 0.01 // weight of a round in the mean outlook

	// restoredRounds is how many rounds what was learned earlier counts as.
	restoredRounds = 100
)

// What the weights begin with. A regression over the recorded rounds gives about three times as
// much; so little loses nothing where it is wrong.
var (
	usualFirst = outlook{byMatch: 0.12, byRecent: 0.12, byLast: 0.15, byConfidence: 0.06,
		byRound: 0.15}
	usualLater = outlook{byMatch: 0.24, byRecent: 0.24, byLast: 0.06, byConfidence: 0.15,
		byRound: 0.09}
)

// A survival says how much better or worse than the mean a proposal is, by its outlook: a logistic
// regression that is learned round by round. The first draft and the later ones have weights of
// their own, because a match that is right at first goes on.
type survival struct {
	mean   outlook // of the rounds that were recorded
	rounds int
	first  outlook // weights
	later  outlook
}

// Odds are how many times the usual odds a draft has of being accepted.
type odds struct{ first, later float64 }

// even are the odds of a proposal about which nothing is known.
var even = odds{1, 1}

// of returns the rate at a position, whose mean is given.
func (o odds) of(mean float64, position int) float64 {
	factor := o.later
	if position == 0 {
		factor = o.first
	}
	return mean * factor / (mean*factor + 1 - mean)
}

// odds returns the odds of a proposal with such an outlook.
func (v *survival) odds(x outlook) odds {
	if v.rounds == 0 {
		return even
	}
	var first, later float64
	for i := range x {
		d := x[i] - v.mean[i]
		first += v.first[i] * d
		later += v.later[i] * d
	}
	return odds{math.Exp(min(max(first, -mostShift), mostShift)),
		math.Exp(min(max(later, -mostShift), mostShift))}
}

// record takes in a round: how likely its drafts were taken to be accepted, by position, and how
// many were.
func (v *survival) record(x outlook, expected []float64, accepted int) {
	if v.rounds == 0 {
		v.first, v.later = usualFirst, usualLater
	}
	v.rounds++
	alpha := max(outlookAlpha, 1/float64(v.rounds))
	var d outlook
	for i := range x {
		d[i] = x[i] - v.mean[i]
	}
	for at, p := range expected {
		miss := -p
		if at < accepted {
			miss = 1 - p
		}
		w, part := &v.first, weightStep
		if at > 0 {
			w, part = &v.later, weightStep/float64(len(expected)-1)
		}
		for i := range w {
			w[i] = min(max(w[i]+part*miss*d[i], -mostWeight), mostWeight)
		}
	}
	for i := range x {
		v.mean[i] += alpha * (x[i] - v.mean[i])
	}
}

// restore takes over what was learned. Names that are not known are left out.
func (v *survival) restore(signs []Sign) {
	*v = survival{}
	for _, x := range signs {
		i := slices.Index(signNames[:], x.Name)
		if i < 0 {
			continue
		}
		if v.rounds == 0 {
			v.first, v.later = usualFirst, usualLater
		}
		v.rounds = restoredRounds
		v.mean[i], v.first[i], v.later[i] = x.Mean, x.First, x.Later
	}
}
