package control

import "slices"

// MaxRoundRuns bounds what is kept of one request's rounds. Rounds that were
// all alike are one run.
const MaxRoundRuns = 4096

// Speculation says how a request was decoded, round by round.
type Speculation struct {
	Rounds []RoundRun `json:"rounds"`        // of the first choice, in order
	Cut    int        `json:"cut,omitempty"` // rounds behind those, which were not kept

	// AcceptedAt counts the rounds of all choices in which the draft at that
	// position stood, and with it all before.
	AcceptedAt []int `json:"accepted_at"`
}

// A RoundRun is some rounds in a row that were alike: how many tokens each
// drafted, how many of those stood, and how many rounds there were.
type RoundRun [3]int

// NewSpeculation packs the rounds of a choice, parallel lists of what was
// drafted and of what stood.
func NewSpeculation(drafted, accepted []int, acceptedAt []int) Speculation {
	s := Speculation{Rounds: []RoundRun{}, AcceptedAt: slices.Clone(acceptedAt)}
	if s.AcceptedAt == nil {
		s.AcceptedAt = []int{}
	}
	for i, n := range drafted {
		last := len(s.Rounds) - 1
		switch {
		case last >= 0 && s.Rounds[last][0] == n && s.Rounds[last][1] == accepted[i]:
			s.Rounds[last][2]++
		case len(s.Rounds) == MaxRoundRuns:
			s.Cut = len(drafted) - i
			return s
		default:
			s.Rounds = append(s.Rounds, RoundRun{n, accepted[i], 1})
		}
	}
	return s
}

// Unpack returns the rounds that were kept, as they were packed.
func (s Speculation) Unpack() (drafted, accepted []int) {
	for _, r := range s.Rounds {
		drafted = append(drafted, slices.Repeat([]int{r[0]}, max(r[2], 0))...)
		accepted = append(accepted, slices.Repeat([]int{r[1]}, max(r[2], 0))...)
	}
	return drafted, accepted
}
