package draft

// What drafting may lose against plain decoding, in plain steps. Over the
// first 1,000 tokens of a cold start that is 4 + 9 and a round too many, half of
// the 3 % that may be lost there: keeping a draft's context level costs something
// too, and nobody books it. Over a long time it is 0.9 %, and 2 % of a text in
// which drafts seem to pay and don't.
const (
	earnedPerToken = 0.009 // earned per emitted token
	earnedOnTrust  = 0.02  // likewise by an empty budget while drafts seem to pay
	startCredit    = 4     // of an engine that has not gained anything yet
	restart        = 0.3   // lost beside a block that plain steps come before: the first behind it overlaps with nothing
	maxCredit      = 48    // the most that gains add up to: bad luck is not failure
	minCredit      = -4    // the most a disaster is remembered for: 400 tokens
)

// A budget keeps "never slower than plain" whatever the estimates say: a round
// that took longer than plain decoding of its tokens is paid from it, and with
// nothing left rounds are plain.
type budget struct {
	credit float64
}

func newBudget() *budget { return &budget{credit: startCredit} }

// earn books the allowance of emitted tokens. pays says that by all that was
// measured drafts gain: an empty budget is then bad luck more likely than not.
// Gains of a few percent drown in it, and at the rate of the allowance alone
// rounds would be plain for most of a long answer.
func (b *budget) earn(tokens int, pays bool) {
	rate := earnedPerToken
	if pays && b.spent() {
		rate = earnedOnTrust
	}
	b.add(rate * float64(tokens))
}

// add books a gain or a loss.
func (b *budget) add(steps float64) {
	b.credit = min(max(b.credit+steps, minCredit), maxCredit)
}

// doubt drops most of what gains added up to: plain decoding turns out to be much
// cheaper than they were counted by. Its cost is measured rarely while drafts are
// made, now and then in a moment in which the machine is slow.
func (b *budget) dropGains() { b.credit = min(b.credit, startCredit) }

func (b *budget) spent() bool { return b.credit < 0 }
