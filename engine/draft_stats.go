package engine

import "slices"

// countRound counts a round in the task's figures.
func (ds *drafters) countRound(t *task, drafted int) {
	t.stats.Rounds++
	t.stats.Depths = append(t.stats.Depths, drafted)
	t.stats.Accepts = append(t.stats.Accepts, 0)
	t.stats.Drafted += drafted
	arm := -1
	if drafted > 0 {
		arm = t.choice.Arm
		d := &t.stats.Drafters[arm]
		d.Rounds++
		d.Drafted += drafted
		if t.choice.Trial {
			d.Trials++
		}
	}
	t.stats.Arms = append(t.stats.Arms, arm)
	ds.countOthers(t, arm)
}

// countOthers counts why drafters that the request wants did not draft in a round; arm did, or -1.
// Where the request fixes the depth, the first drafter with a guess drafts, and none is found slower.
func (ds *drafters) countOthers(t *task, arm int) {
	for i, p := range t.candidates {
		switch d := &t.stats.Drafters[i]; {
		case i == arm || t.drafts[i] == nil || !t.wants(ds.list[i]):
		case p.Limit == 0 || i == t.choice.Arm: // the chosen one proposed nothing
			d.Idle++
		case t.adaptive():
			d.Slower++
		default:
			d.Preceded++
		}
	}
}

// Reasons for an answer without drafts that nobody can change: drafts would not have made it faster,
// or there were none.
const (
	PlainFaster  = "plain decoding was chosen: it was the faster one, by what rounds cost and how many guesses were accepted"
	PlainNoGuess = "no drafter had anything to propose"
)

// whyPlain says why no round of a task that ends had drafts.
func (ds *drafters) whyPlain(t *task) string {
	r := t.req.Speculation
	switch {
	case r.Drafter == None || r.Depth != nil && *r.Depth == 0:
		return "speculation is off for this request"
	case len(ds.list) == 0:
		return "the model has no drafter"
	case t.generated() < 2:
		return "" // the first token is the prompt's
	case slices.ContainsFunc(t.stats.Drafters, func(d DrafterStats) bool { return d.Slower > 0 }):
		return PlainFaster
	}
	return PlainNoGuess
}
