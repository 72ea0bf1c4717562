package draft

import (
	"errors"
	"fmt"
	"time"
)

// A Selector chooses, round by round, which of several drafters proposes and how many tokens: the
// pair that gives the most tokens per time. A drafter with nothing to propose is left out of that
// round and costs nothing. Drafters that are not chosen are probed now and then. All share one
// budget of losses against plain decoding.
//
// It holds the controllers of one model, by context bucket, and is shared by the requests of an
// engine. It belongs to the goroutine that schedules the rounds and does not lock.
type Selector struct {
	model   string
	arms    []Arm
	store   Store
	budget  *budget
	buckets map[int][]*controller // by bucket, then as arms
	last    int                   // the bucket of the last round
	learned map[int]bool          // buckets with something new since the last Save
}

// An Arm is a drafter to choose from.
type Arm struct {
	Name  string // the drafter's
	Limit int    // the most tokens it proposes

	// Own says that the acceptance of its drafts depends on the request alone, and is not carried
	// to others; see Selector.Renew.
	PerRequest bool
}

// NewSelector returns the selector of one model. store may be nil.
func NewSelector(model string, arms []Arm, store Store) *Selector {
	return &Selector{
		model: model, arms: arms, store: store, budget: newBudget(),
		buckets: map[int][]*controller{}, learned: map[int]bool{},
	}
}

// A Choice is what the next round of a request does.
type Choice struct {
	Arm     int  // index of the drafter, -1 for a plain round
	Depth   int  // drafts to ask for
	Trial   bool // it measures what this depth gains
	bucket  int
	pays    bool              // by what was measured, drafts gain
	signals acceptanceSignals // of the drafter's proposal
}

// Next returns the choice for the next round of a request. text has the request's tokens so far.
// candidates says for each arm what it could propose. An error comes from loading what was learned;
// the choice is still usable.
func (s *Selector) Next(c *RecentAcceptance, tokens []int32, candidates []Candidate) (Choice, error) {
	bucket := Bucket(len(tokens))
	arms, err := s.open(bucket)
	choice := Choice{Arm: -1, bucket: bucket}
	signals := s.signals(c, arms, tokens, candidates)
	chances := make([]oddsRatio, len(arms))
	rates := make([]float64, len(arms))
	for i, arm := range arms {
		if limit := candidates[i].Limit; limit > 0 {
			chances[i] = arm.rates.model.oddsRatio(signals[i])
			_, rates[i] = arm.best(limit, chances[i])
			choice.pays = choice.pays || arm.pays()
		}
	}
	for i, arm := range arms {
		limit := candidates[i].Limit
		if limit <= 0 {
			continue
		}
		rival := 0.0
		for j, r := range rates {
			if j != i {
				rival = max(rival, r)
			}
		}
		depth := arm.plan(limit, rival, chances[i])
		probing := arm.probe.rounds > 0 && !s.budget.spent()
		if depth > 0 && (probing || choice.Arm < 0) {
			choice.Arm, choice.Depth, choice.signals = i, depth, signals[i]
			choice.Trial = probing
		}
		if probing && (depth > 0 || rival < rates[i]) {
			break // a probe of plain decoding too, by the leading drafter
		}
	}
	return choice, err
}

// signals returns the signals of each arm's proposal. It also records the outcome of previews that
// were known before their rounds.
func (s *Selector) signals(c *RecentAcceptance, arms []*controller, tokens []int32,
	candidates []Candidate) []acceptanceSignals {
	signals := make([]acceptanceSignals, len(arms))
	for i, p := range candidates {
		if decided, came, x, ok := c.judge(i, tokens); ok {
			arms[i].recordUndrafted(x, decided, came)
			c.arms[i].record(decided, came)
		}
		signals[i] = c.signals(i, p.Features)
		c.notePreview(i, tokens, p.Preview, signals[i])
	}
	return signals
}

// An Offer is a round with drafts that a request among others could have.
type Offer struct {
	Choice
	Tokens     float64 // expected
	Cost       float64 // seconds, expected
	BeatsPlain bool    // it beats plain rounds of the request alone; false if their cost is not known
}

// Rate returns the tokens per second.
func (o Offer) Rate() float64 { return o.Tokens / o.Cost }

// ChooseShared returns the best speculative round for a request that shares the device, or false if plain
// decoding of the request alone is faster. The caller compares it with a shared step.
//
// Nothing is learned from rounds of a request among others. So it goes no deeper than was measured,
// and a probe that is due waits. It works without a cost of plain rounds: an engine whose requests
// always overlap never has one.
func (s *Selector) ChooseShared(c *RecentAcceptance, tokens []int32,
	candidates []Candidate) (o Offer, ok bool, err error) {
	bucket := Bucket(len(tokens))
	arms, err := s.open(bucket)
	best := 0.0
	for i, a := range arms {
		if candidates[i].Limit <= 0 || s.budget.spent() {
			continue
		}
		x := c.signals(i, candidates[i].Features)
		depth, rate := a.best(candidates[i].Limit, a.rates.model.oddsRatio(x))
		alone := a.curve.points[0].samples >= settling
		known := alone && depth <= a.curve.frontier() || a.curve.measured(depth)
		if !known || rate <= best || alone && rate <= 1/a.curve.at(0) {
			continue
		}
		best, ok = rate, true
		cost := a.curve.at(depth)
		o = Offer{Choice{Arm: i, Depth: depth, bucket: bucket, signals: x}, rate * cost, cost, alone}
	}
	return o, ok, err
}

// Round records a round of the chosen drafter. If it proposed nothing, call Plain.
func (s *Selector) Round(choice Choice, r Round) {
	s.learned[choice.bucket] = true
	r.signals = choice.signals
	for i, c := range s.buckets[choice.bucket] {
		if i == choice.Arm {
			c.Round(r) // earns for all
		} else {
			c.otherRound()
		}
	}
}

// Plain records a plain round, whatever the choice was.
func (s *Selector) Plain(choice Choice, cost time.Duration) {
	s.learned[choice.bucket] = true
	for _, c := range s.buckets[choice.bucket] {
		c.plain(cost)
	}
	s.budget.earn(1, choice.pays)
}

// open returns the controllers of a bucket. New ones start from the store. Without a stored state
// they start from the bucket of the last round: a request's context grows from one bucket into the
// next.
func (s *Selector) open(bucket int) ([]*controller, error) {
	before := s.buckets[s.last]
	moved := s.last != bucket
	s.last = bucket
	if arms, ok := s.buckets[bucket]; ok {
		if moved {
			s.moveRequestRates(arms, before)
		}
		return arms, nil
	}
	var errs []error
	arms := make([]*controller, len(s.arms))
	for i, a := range s.arms {
		c := newController(a.Limit)
		c.budget = s.budget
		arms[i] = c
		state, err := s.load(a, bucket)
		if err == nil && state != nil {
			err = c.Restore(*state)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("what was learned of drafter %s is not used: %w",
				a.Name, err))
		}
		if (err != nil || state == nil) && before != nil {
			c.inherit(before[i])
		}
	}
	s.moveRequestRates(arms, before)
	s.buckets[bucket] = arms
	return arms, errors.Join(errs...)
}

// moveRequestRates gives drafters whose acceptance is the request's own the rates they had in another
// bucket. from may be nil.
func (s *Selector) moveRequestRates(arms, from []*controller) {
	for i, a := range s.arms {
		if !a.PerRequest {
			continue
		}
		arms[i].rates.rates = [MaxDepth]rate{}
		if from != nil {
			arms[i].rates = from[i].rates
		}
	}
}

// Renew begins another request of a drafter whose acceptance is the request's own. It forgets how
// many proposals were accepted and has them tried soon. What its rounds cost is kept.
func (s *Selector) Renew(arm int) {
	for _, arms := range s.buckets {
		arms[arm].rates.rates = [MaxDepth]rate{}
		arms[arm].probe.reset()
	}
}

func (s *Selector) load(a Arm, bucket int) (*State, error) {
	if s.store == nil {
		return nil, nil
	}
	return s.store.LoadPolicy(Key{s.model, a.Name, bucket})
}

// Save stores what was learned since the last Save. What could not be stored is tried again next
// time.
func (s *Selector) Save() error {
	if s.store == nil {
		return nil
	}
	var errs []error
	for bucket := range s.learned {
		failed := len(errs)
		for i, c := range s.buckets[bucket] {
			state := c.State()
			if s.arms[i].PerRequest {
				state.Rates = nil // they were the request's
			}
			if !state.drafted() {
				continue // nothing is known that distinguishes it from the buckets before
			}
			if err := s.store.SavePolicy(Key{s.model, s.arms[i].Name, bucket}, state); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) == failed {
			delete(s.learned, bucket)
		}
	}
	return errors.Join(errs...)
}
