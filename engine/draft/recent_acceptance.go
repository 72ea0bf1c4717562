package draft

import "math"

// The weight of a round in the averages of its request.
const (
	armAlpha   = 0.25 // of a drafter's
	roundAlpha = 0.5  // of all drafters'

	// countedDrafts is how many of a round's drafts count. Deeper ones say more about the depth than
	// about the text.
	countedDrafts = 4
)

// A Candidate is what a drafter could propose in the next round of a request.
type Candidate struct {
	Limit    int // tokens it could propose
	Features     // zero if not known

	// Preview has the tokens it would propose, or nil if they are not known before the round. Their
	// acceptance is learned from rounds of other drafters too. It is read until the next round.
	Preview []int32
}

// A RecentAcceptance records how drafts were accepted in the last rounds of one request. With the
// features of a proposal it predicts how much of it is accepted.
type RecentAcceptance struct {
	arms  []armAcceptance // by arm
	round float64         // recent acceptance of any arm's drafts, from 0 to 1
}

// An armAcceptance is the part of a RecentAcceptance for one arm.
type armAcceptance struct {
	recent, last float64 // share of its drafts that were accepted, recently and in its last round
	confidence   float64 // the drafter's own, in its last proposal

	// A preview that the text has not contradicted so far.
	preview []int32
	from    int // the position of its first token
	signals acceptanceSignals
	pending bool
}

// NewRecentAcceptance returns the empty acceptance of a request.
func (s *Selector) NewRecentAcceptance() *RecentAcceptance {
	c := &RecentAcceptance{arms: make([]armAcceptance, len(s.arms)), round: 0.5}
	for i := range c.arms {
		c.arms[i] = armAcceptance{recent: 0.5, last: 0.5, confidence: 0.5}
	}
	return c
}

// Record adds a round with drafts, including one that the selector does not learn from.
func (c *RecentAcceptance) Record(arm int, r Round) {
	if arm < 0 || arm >= len(c.arms) || r.Depth <= 0 {
		return
	}
	c.arms[arm].record(r.Depth, r.Accepted)
	c.arms[arm].pending = false // the round has decided it
	share := float64(min(r.Accepted, countedDrafts)) / countedDrafts
	c.round += roundAlpha * (share - c.round)
	if r.Confidence > 0 {
		c.arms[arm].confidence = min(r.Confidence, 1)
	}
}

// record records how many drafts of a proposal were accepted.
func (g *armAcceptance) record(drafts, accepted int) {
	n := min(drafts, countedDrafts)
	g.last = float64(min(accepted, n)) / float64(n)
	g.recent += armAlpha * (g.last - g.recent)
}

// acceptanceSignals are what a round's acceptance may depend on, as numbers from 0 to 1.
type acceptanceSignals [numSignals]float64

const (
	byMatch = iota
	byShare
	byCount
	byRecent
	byLast
	byConfidence
	byRound
	numSignals
)

// signalNames are the names in a stored State.
var signalNames = [numSignals]string{"match", "share", "count", "recent", "last", "confidence", "round"}

// signals returns the signals of an arm's next proposal.
func (c *RecentAcceptance) signals(arm int, f Features) acceptanceSignals {
	g := &c.arms[arm]
	return acceptanceSignals{
		byMatch: logShare(f.Match), byShare: f.Share, byCount: logShare(f.Count),
		byRecent: g.recent, byLast: g.last, byConfidence: g.confidence, byRound: c.round,
	}
}

// logShare maps 0 to maxFeature onto 0 to 1. Small numbers are spread most.
func logShare(n int) float64 {
	return math.Log2(1+float64(min(max(n, 0), maxFeature))) / math.Log2(1+maxFeature)
}

// judge compares an arm's pending preview with the text. It returns how many tokens are decided,
// how many of these were right, and the signals of the preview; ok is false while nothing is
// decided.
func (c *RecentAcceptance) judge(arm int, tokens []int32) (decided, came int, x acceptanceSignals, ok bool) {
	g := &c.arms[arm]
	if !g.pending {
		return 0, 0, x, false
	}
	now := tokens[min(g.from, len(tokens)):]
	for came < min(len(now), len(g.preview)) && now[came] == g.preview[came] {
		came++
	}
	if came == len(now) && came < len(g.preview) {
		return 0, 0, x, false // right so far
	}
	g.pending = false
	return min(came+1, len(g.preview)), came, g.signals, true
}

// notePreview records what an arm would propose after the text, unless an earlier preview is
// pending.
func (c *RecentAcceptance) notePreview(arm int, tokens []int32, preview []int32, x acceptanceSignals) {
	g := &c.arms[arm]
	if !g.pending && len(preview) > 0 {
		g.preview, g.from, g.signals, g.pending = append(g.preview[:0], preview...), len(tokens), x, true
	}
}
