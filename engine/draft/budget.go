package draft

// What drafting may lose against plain decoding, in plain steps. Over the first 1,000 tokens of a
// cold start it is 4 + 9 and a round too many. That is half of the 3 % that may be lost there:
// keeping a draft's context up to date costs something too, and is not counted. Over a long time it
// is 0.9 %, or 2 % of a text in which drafts seem to pay and do not.
const (
	earnedPerToken = 0.009 // per emitted token
	earnedOnTrust  = 0.02  // likewise, for an empty budget while drafts seem to pay
	startCredit    = 4     // of an engine that has not gained anything yet
	restart        = 0.3   // lost with a lone block: the first plain step after it overlaps with nothing
	maxCredit      = 48    // the most that gains add up to; bad luck is not failure
	minCredit      = -4    // the most debt of a disaster: 400 tokens
)

// A budget keeps "never slower than plain", whatever the estimates say. It pays for rounds that
// took longer than plain decoding of their tokens. Once it is spent, rounds are plain.
type budget struct {
	credit float64
}

func newBudget() *budget { return &budget{credit: startCredit} }

// earn adds the allowance of emitted tokens. pays says that drafts gain by all that was measured.
// Then an empty budget is most likely bad luck, which hides gains of a few percent, and at the
// usual allowance most rounds of a long answer would be plain.
func (b *budget) earn(tokens int, pays bool) {
	rate := earnedPerToken
	if pays && b.spent() {
		rate = earnedOnTrust
	}
	b.add(rate * float64(tokens))
}

// add adds a gain or a loss, in plain steps.
func (b *budget) add(steps float64) {
	b.credit = min(max(b.credit+steps, minCredit), maxCredit)
}

// capGains removes most of the gains: plain decoding turned out much cheaper than was assumed for
// them. Its cost is measured rarely while drafts are made, now and then while the machine is slow.
func (b *budget) capGains() { b.credit = min(b.credit, startCredit) }

func (b *budget) spent() bool { return b.credit < 0 }
