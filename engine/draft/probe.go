package draft

// When what is not chosen is tried all the same.
const (
	probeFirst  = 4   // rounds from a change to the first probe
	probeLimit  = 512 // rounds between probes while nothing changes
	parkedLimit = 32  // the same while plain decoding is chosen: text changes
	rivalLimit  = 128 // the same while another drafter is chosen

	// probeRounds is how long a probe lasts at least where a cost is wanted:
	// the first round follows one of another depth and is not measured.
	probeRounds = 2
)

// A probe tries a depth that is not the chosen one. Probes come ever more
// rarely until something changes.
type probe struct {
	depth  int // what is tried
	rounds int // left to run; 0 = no probe due
	wait   int // rounds to the next
	every  int // rounds between the last and the next
	plain  bool
}

func (p *probe) reset() {
	*p = probe{wait: probeFirst, every: probeFirst, plain: p.plain}
}

// tick counts a round and reports whether a probe is due. limit bounds the
// rounds to the one after.
func (p *probe) tick(limit int) bool {
	if p.wait--; p.wait > 0 {
		return false
	}
	p.every = min(2*p.every, limit)
	p.wait = p.every
	return true
}

func (p *probe) start(depth, rounds int) { p.depth, p.rounds = depth, rounds }
