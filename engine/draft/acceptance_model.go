package draft

import (
	"math"
	"slices"
)

const (
	// weightStep is how much of an error moves the weights. A larger step follows the luck of a few
	// rounds.
	weightStep = 0.02

	// maxWeight bounds a weight, and mostShift their sum in a rate, in logits.
	maxWeight = 4
	maxShift  = 3

	signalsAlpha = 0.01 // weight of a round in the mean signals

	// restoredRounds is the weight, in rounds, of what was learned earlier.
	restoredRounds = 100
)

// The initial weights. A regression over the recorded rounds gives about three times as much; small
// weights lose nothing where they are wrong.
var (
	usualFirst = acceptanceSignals{byMatch: 0.12, byRecent: 0.12, byLast: 0.15, byConfidence: 0.06,
		byRound: 0.15}
	usualLater = acceptanceSignals{byMatch: 0.24, byRecent: 0.24, byLast: 0.06, byConfidence: 0.15,
		byRound: 0.09}
)

// An acceptanceModel predicts from its signals how much better or worse than the mean a proposal
// is: a logistic regression that is learned round by round. The first draft and the later ones have
// separate weights, because a match that is right at first goes on.
type acceptanceModel struct {
	mean   acceptanceSignals // of the rounds that were recorded
	rounds int
	first  acceptanceSignals // weights
	later  acceptanceSignals
}

// oddsRatio has the factors on the usual odds that a draft is accepted.
type oddsRatio struct{ first, later float64 }

// even is the ratio for a proposal about which nothing is known.
var even = oddsRatio{1, 1}

// of returns the rate at a position, whose mean is given.
func (o oddsRatio) of(mean float64, position int) float64 {
	factor := o.later
	if position == 0 {
		factor = o.first
	}
	return mean * factor / (mean*factor + 1 - mean)
}

// oddsRatio returns the ratio for a proposal with these signals.
func (v *acceptanceModel) oddsRatio(x acceptanceSignals) oddsRatio {
	if v.rounds == 0 {
		return even
	}
	var first, later float64
	for i := range x {
		d := x[i] - v.mean[i]
		first += v.first[i] * d
		later += v.later[i] * d
	}
	return oddsRatio{math.Exp(min(max(first, -maxShift), maxShift)),
		math.Exp(min(max(later, -maxShift), maxShift))}
}

// record adds a round: how likely its drafts were taken to be accepted, by position, and how many
// were.
func (v *acceptanceModel) record(x acceptanceSignals, expected []float64, accepted int) {
	if v.rounds == 0 {
		v.first, v.later = usualFirst, usualLater
	}
	v.rounds++
	alpha := max(signalsAlpha, 1/float64(v.rounds))
	var d acceptanceSignals
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
			w[i] = min(max(w[i]+part*miss*d[i], -maxWeight), maxWeight)
		}
	}
	for i := range x {
		v.mean[i] += alpha * (x[i] - v.mean[i])
	}
}

// restore replaces the weights by what was learned earlier. Unknown names are left out.
func (v *acceptanceModel) restore(signs []Sign) {
	*v = acceptanceModel{}
	for _, x := range signs {
		i := slices.Index(signalNames[:], x.Name)
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
