package draft

import "math"

// How much a round counts in what is known of a request's rounds.
const (
	courseAlpha = 0.25 // of a drafter's
	roundAlpha  = 0.5  // of all drafters'

	// courseDrafts is how many of a round's drafts count. Deeper ones say more of the depth than of
	// the text.
	courseDrafts = 4
)

// A Prospect is what a drafter has to offer for the next round of a request.
type Prospect struct {
	Limit    int // tokens it could propose, 0 if none
	Features     // zero if it does not know them

	// Guess has the tokens it would propose, if they are known before the round; else nil. What
	// comes of them is learned from rounds of other drafters too. It is read until the next round.
	Guess []int32
}

// A Course is how the rounds of one request went. With the features of a proposal it tells a good
// moment of a drafter from a bad one.
type Course struct {
	stages []stage // by arm
	round  float64 // how well drafts of any arm went lately, from 0 to 1
}

// A stage is what a Course knows of one arm.
type stage struct {
	recent, last float64 // share of its drafts that were accepted, lately and in its last round
	confidence   float64 // the drafter's own, in its last proposal

	// A guess that the text has not contradicted so far.
	guess   []int32
	from    int // the position of its first token
	sight   outlook
	pending bool
}

// NewCourse begins a request of the selector.
func (s *Selector) NewCourse() *Course {
	c := &Course{stages: make([]stage, len(s.arms)), round: 0.5}
	for i := range c.stages {
		c.stages[i] = stage{recent: 0.5, last: 0.5, confidence: 0.5}
	}
	return c
}

// Record takes in a round with drafts, also one that teaches the selector nothing.
func (c *Course) Record(arm int, r Round) {
	if arm < 0 || arm >= len(c.stages) || r.Depth <= 0 {
		return
	}
	c.stages[arm].took(r.Depth, r.Accepted)
	c.stages[arm].pending = false // the round has told
	share := float64(min(r.Accepted, courseDrafts)) / courseDrafts
	c.round += roundAlpha * (share - c.round)
	if r.Confidence > 0 {
		c.stages[arm].confidence = min(r.Confidence, 1)
	}
}

// took takes in that so many drafts of a proposal were accepted.
func (g *stage) took(drafts, accepted int) {
	n := min(drafts, courseDrafts)
	g.last = float64(min(accepted, n)) / float64(n)
	g.recent += courseAlpha * (g.last - g.recent)
}

// An outlook is what a round's acceptance may depend on, in numbers from 0 to 1.
type outlook [signs]float64

const (
	byMatch = iota
	byShare
	byCount
	byRecent
	byLast
	byConfidence
	byRound
	signs
)

// signNames are the names in a stored State.
var signNames = [signs]string{"match", "share", "count", "recent", "last", "confidence", "round"}

// outlook returns what the next proposal of an arm can be judged by.
func (c *Course) outlook(arm int, f Features) outlook {
	g := &c.stages[arm]
	return outlook{
		byMatch: logShare(f.Match), byShare: f.Share, byCount: logShare(f.Count),
		byRecent: g.recent, byLast: g.last, byConfidence: g.confidence, byRound: c.round,
	}
}

// logShare maps 0 to maxFeature onto 0 to 1. Small numbers differ most.
func logShare(n int) float64 {
	return math.Log2(1+float64(min(max(n, 0), maxFeature))) / math.Log2(1+maxFeature)
}

// judge compares an arm's pending guess with the text. It returns how many tokens are decided, how
// many of these came, and by what they could be judged; ok is false while nothing is.
func (c *Course) judge(arm int, text []int32) (decided, came int, x outlook, ok bool) {
	g := &c.stages[arm]
	if !g.pending {
		return 0, 0, x, false
	}
	now := text[min(g.from, len(text)):]
	for came < min(len(now), len(g.guess)) && now[came] == g.guess[came] {
		came++
	}
	if came == len(now) && came < len(g.guess) {
		return 0, 0, x, false // so far it is right
	}
	g.pending = false
	return min(came+1, len(g.guess)), came, g.sight, true
}

// noteGuess notes what an arm would propose after the text, unless an earlier guess is pending.
func (c *Course) noteGuess(arm int, text []int32, guess []int32, x outlook) {
	g := &c.stages[arm]
	if !g.pending && len(guess) > 0 {
		g.guess, g.from, g.sight, g.pending = append(g.guess[:0], guess...), len(text), x, true
	}
}
