package evidence

import (
	"slices"
	"strings"
)

// chat applies the rules of chats with speculation. Each part must have run in fact. What a report
// does not say counts as not run.
func (c *checker) chat() {
	r := c.report
	if len(r.Turns) == 0 {
		c.add(MissingLiveness, "turns", "the chat has no turns, so nothing shows what ran; "+
			"write one for each answer")
		return
	}
	c.proposer()
	c.restoration()
	fallbacks := slices.Clone(r.Fallbacks)
	where := "fallbacks_taken"
	for i, turn := range r.Turns {
		if len(fallbacks) == 0 && len(turn.Fallbacks) > 0 {
			where = "turns" + index(i) + ".fallbacks_taken"
		}
		fallbacks = append(fallbacks, turn.Fallbacks...)
	}
	if len(fallbacks) > 0 {
		slices.Sort(fallbacks)
		c.add(SilentFallback, where, "a part fell back to another: %.200s; "+
			"find out why, and run again without", strings.Join(slices.Compact(fallbacks), ", "))
	}
	for i, turn := range r.Turns {
		if turn.Text == nil && r.isOwn() {
			c.add(MissingLiveness, "turns"+index(i)+".text", "the turn has no text, so nothing shows "+
				"what was decoded; write it")
			return
		}
		if turn.Text != nil && degenerate(*turn.Text) {
			c.add(OutputDegenerate, "turns"+index(i)+".text", "the answer ends in a loop; "+
				"find out what broke the decoding")
		}
	}
}

// proposer asks for a verified block.
func (c *checker) proposer() {
	blocks := 0.0
	for i, turn := range c.report.Turns {
		if turn.Blocks == nil {
			c.add(MissingLiveness, "turns"+index(i)+".blocks", "the turn does not say how many blocks "+
				"it verified; write the count")
			return
		}
		blocks += value(turn.Blocks)
	}
	if blocks == 0 {
		c.add(ProposerNeverRan, "turns", "no turn verified a block, so the model decoded alone; "+
			"find out why the drafter did not run")
	}
}

// restoration asks each turn for restored rows, if restoration was intended.
func (c *checker) restoration() {
	r := c.report
	if r.FThetaIntended == nil && r.isOwn() {
		c.add(MissingLiveness, "f_theta_intended", "the chat does not say whether restoration was "+
			"intended; write true or false")
	}
	if r.FThetaIntended == nil || !*r.FThetaIntended {
		return
	}
	for i, turn := range r.Turns {
		ran := turn.FThetaRan
		if turn.RestoredRows != nil {
			ran = new(*turn.RestoredRows > 0)
		}
		where := "turns" + index(i) + ".f_theta_ran"
		switch {
		case ran == nil || turn.RestoredRows == nil && r.isOwn():
			c.add(MissingLiveness, where, "restoration was intended, but the turn does not say "+
				"whether it ran; write restored_rows")
			return
		case !*ran:
			c.add(FThetaNotRun, where, "restoration was intended, but the turn restored nothing; "+
				"find out what went around it")
			return
		}
	}
}
