package control

import (
	"fmt"
	"strconv"
	"strings"
)

// What a request may say of speculation, by the names of its fields. The model decides which
// drafters there are.
var (
	Drafters = []string{"auto", "none", "dflash", "dspark", "ngram", "memory", "prediction", "model",
		"mtp"}
	Rollbacks = []string{"auto", "trim", "snapshot"}
	Rules     = []string{"coupled", "rejection"}
)

// MaxDepth is the most tokens one round drafts.
const MaxDepth = 31

// MaxRoundRuns bounds the rounds that are kept of one request. Equal rounds in a row count as one.
const MaxRoundRuns = 4096

// Rounds are the rounds of one choice: how many tokens each drafted, 0 for a plain one, and how
// many of them were accepted. Drafters says who drafted them: an index of Speculation.Drafters, -1 for a
// plain round; nil if that is not known.
type Rounds struct {
	Drafted, Accepted, Drafters []int // parallel
}

// Speculation says how a request was decoded, round by round.
type Speculation struct {
	Rounds []RoundRun `json:"rounds"`        // of the first choice, in order
	Cut    int        `json:"cut,omitempty"` // rounds after those, which were not kept

	// Over all rounds of all choices, by position: how many drafts there were, and how many were accepted
	// together with all before them.
	DraftedAt  []int `json:"drafted_at"`
	AcceptedAt []int `json:"accepted_at"`

	// What each drafter did, over all choices; nil in runs of earlier versions.
	Drafters []DrafterRounds `json:"drafters,omitempty"`

	BlockMS *BlockMS `json:"block_ms,omitempty"` // of the first choice; nil without drafts
	Asked   *Asked   `json:"asked,omitempty"`    // nil if the request said nothing
}

// Asked is what a request said of speculation.
type Asked struct {
	Drafter  string `json:"drafter,omitempty"`
	Depth    *int   `json:"depth,omitempty"`
	Rollback string `json:"rollback,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Exact    bool   `json:"exact,omitempty"`
}

// String lists what was asked for, by the names of the fields.
func (a Asked) String() string {
	var list []string
	add := func(name, value string) {
		if value != "" {
			list = append(list, name+" "+value)
		}
	}
	add("drafter", a.Drafter)
	if a.Depth != nil {
		add("depth", strconv.Itoa(*a.Depth))
	}
	add("rollback", a.Rollback)
	add("rule", a.Rule)
	if a.Exact {
		list = append(list, "exact")
	}
	return strings.Join(list, ", ")
}

// BlockMS are the times of rounds with drafts. The first eight also pay for what is set up on the
// way.
type BlockMS struct {
	First8 float64 `json:"first8"`
	Mean   float64 `json:"mean"`
	Max    float64 `json:"max"`
}

// DrafterRounds tells what one drafter did in a request.
type DrafterRounds struct {
	Name     string `json:"name"`
	Rounds   int    `json:"rounds"` // with its drafts
	Drafted  int    `json:"drafted"`
	Accepted int    `json:"accepted"`
	Trials   int    `json:"trials,omitempty"`   // of Rounds, to find out what its drafts gain
	Idle     int    `json:"idle,omitempty"`     // rounds in which it had nothing to propose
	Slower   int    `json:"slower,omitempty"`   // rounds in which it was expected to be slower than what was chosen
	Preceded int    `json:"preceded,omitempty"` // rounds in which an earlier one drafted, as the request sets the depth
	Failed   string `json:"failed,omitempty"`   // why it was given up
}

// Asked reports whether it drafted, or could have. A drafter that the request does not want was not
// asked.
func (d DrafterRounds) Asked() bool {
	return d.Rounds+d.Idle+d.Slower+d.Preceded > 0 || d.Failed != ""
}

// Why says why the drafter did not draft in more rounds; empty if nothing kept it from that.
func (d DrafterRounds) Why() string {
	var list []string
	add := func(n int, text string) {
		if n > 0 {
			list = append(list, fmt.Sprintf(text, Plural(n, "round")))
		}
	}
	add(d.Slower, "expected to be slower in %s")
	add(d.Preceded, "another drafter comes first where a request sets the depth, in %s")
	add(d.Idle, "nothing to guess in %s")
	if d.Failed != "" {
		list = append(list, "given up: "+d.Failed)
	}
	return strings.Join(list, "; ")
}

// A RoundRun counts equal rounds in a row: tokens drafted by each, tokens accepted, the number
// of rounds, and who drafted them. That is a place in Speculation.Drafters, counted from 1; 0 for a
// plain round, and in runs of earlier versions.
type RoundRun [4]int

// NewSpeculation packs the rounds of a request's choices.
func NewSpeculation(choices []Rounds) Speculation {
	s := Speculation{Rounds: []RoundRun{}, DraftedAt: []int{}, AcceptedAt: []int{}}
	for i, c := range choices {
		for j, n := range c.Drafted {
			accepted, by := c.Accepted[j], 0
			if j < len(c.Drafters) {
				by = c.Drafters[j] + 1
			}
			s.DraftedAt = countTo(s.DraftedAt, n)
			s.AcceptedAt = countTo(s.AcceptedAt, accepted)
			last := len(s.Rounds) - 1
			switch {
			case i > 0:
			case s.Cut == 0 && last >= 0 && s.Rounds[last][0] == n &&
				s.Rounds[last][1] == accepted && s.Rounds[last][3] == by:
				s.Rounds[last][2]++
			case len(s.Rounds) == MaxRoundRuns:
				s.Cut++
			default:
				s.Rounds = append(s.Rounds, RoundRun{n, accepted, 1, by})
			}
		}
	}
	return s
}

// countTo adds one to each of the first n counts.
func countTo(counts []int, n int) []int {
	for i := range n {
		if i == len(counts) {
			counts = append(counts, 0)
		}
		counts[i]++
	}
	return counts
}

// Unpack returns the rounds of the first choice, as many as were kept.
func (s Speculation) Unpack() (r Rounds) {
	for _, run := range s.Rounds {
		for range run[2] {
			r.Drafted, r.Accepted = append(r.Drafted, run[0]), append(r.Accepted, run[1])
			r.Drafters = append(r.Drafters, run[3]-1)
		}
	}
	return r
}
