package draft

// When a depth that is not chosen is tried.
const (
	probeFirst  = 4   // rounds from a change to the first probe, then twice that
	probeLimit  = 512 // the most rounds between probes
	parkedLimit = 16  // likewise while drafts do not pay, unless probeShare asks for more: text changes
	rivalLimit  = 128 // likewise while another drafter is chosen

	// probeShare is the most of the time that probes lose in the long run.
	probeShare = 0.01

	// probePlain is the turn of plain decoding, after a deeper and a shallower probe.
	probePlain = 2

	// probeRounds is how long a probe lasts where a cost is wanted. Its first round follows one of
	// another depth and is not measured.
	probeRounds = 2

	// probeDeeper: while drafts do not pay, every third probe is deeper than any before.
	probeDeeper = 3

	// probeLong is the longest probe while drafts do not pay.
	probeLong = 16
)

// A probe tries a depth that is not the chosen one. Probes become rarer until something changes.
type probe struct {
	depth  int // what is tried
	rounds int // left to run; 0 = no probe due
	wait   int // rounds to the next
	every  int // rounds from the last to the next
	turn   int // probes since then, while drafts pay
}

func (p *probe) reset() {
	*p = probe{wait: probeFirst, every: probeFirst}
}

// tick counts a round and reports whether a probe is due.
func (p *probe) tick() bool {
	p.wait--
	return p.wait <= 0
}

func (p *probe) start(depth, rounds int) { p.depth, p.rounds = depth, rounds }

// stretch makes the probe that was started as long as its share of the wait for the next one
// allows. One of its rounds loses the time of lost others, and the first plain round after it the
// time of restart. Where drafts are about as fast as plain decoding, little is lost by finding out.
// Probes of one round would take a thousand rounds to find what luck has hidden.
func (p *probe) stretch(lost float64) {
	n := probeLong
	if lost > 0 {
		n = int(min((probeShare*float64(p.wait)-restart)/lost, probeLong))
	}
	p.rounds = max(p.rounds, n)
}

// next sets when the next probe comes, within limit rounds.
func (p *probe) next(limit int) {
	p.every = min(2*p.every, limit)
	p.wait = p.every
}

// spreadOver returns over how many rounds a probe has to be spread that loses the time of lost
// rounds.
func spreadOver(lost float64) int { return int(min(max(lost, 0)/probeShare, 1e6)) }
