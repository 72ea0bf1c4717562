package draft

// What drafting may lose against plain decoding, in plain steps. Over the
// first 1,000 tokens of a cold start that is 12 + 12.5 and one round too many,
// under 3 %; over a long time 1.25 %.
const (
	allowance = 0.0125 // earned per emitted token
	savings   = 12     // to start with, and the most that gains add up to
	debtLimit = -4     // the most one disaster is remembered for: 320 tokens
)

// A budget keeps "never slower than plain" whatever the estimates say: a round
// that took longer than plain decoding of its tokens is paid from it, and with
// nothing left rounds are plain.
type budget struct {
	credit float64
}

func newBudget() *budget { return &budget{credit: savings} }

func (b *budget) earn(tokens int) { b.add(allowance * float64(tokens)) }

// add books a gain or a loss.
func (b *budget) add(steps float64) {
	b.credit = min(max(b.credit+steps, debtLimit), savings)
}

func (b *budget) spent() bool { return b.credit < 0 }
