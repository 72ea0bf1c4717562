package draft

import (
	"errors"
	"fmt"
	"time"
)

// A Selector chooses, round by round, which of several drafters proposes and
// how many tokens: the pair that gives the most tokens per time. A drafter
// that has nothing to propose stands back for that round, and costs nothing.
// Drafters that are not chosen are probed now and then; together they have one
// budget of losses against plain decoding.
//
// It holds the controllers of one model, by context bucket, and is shared by
// the requests of an engine. It belongs to the goroutine that schedules the
// rounds; it does not lock.
type Selector struct {
	model   string
	arms    []Arm
	store   Store
	budget  *budget
	buckets map[int][]*Controller // by bucket, then as arms
	last    int                   // the bucket of the last round
	learned map[int]bool          // buckets, something since the last Save
}

// An Arm is a drafter to choose from.
type Arm struct {
	Name  string // the drafter's
	Limit int    // the most tokens it proposes

	// Own: how often its drafts are accepted says something of the request
	// they were made for, and nothing of others; see Selector.Renew.
	Own bool
}

// NewSelector returns the selector of one model. store may be nil.
func NewSelector(model string, arms []Arm, store Store) *Selector {
	return &Selector{model: model, arms: arms, store: store, budget: newBudget(), buckets: map[int][]*Controller{}, learned: map[int]bool{}}
}

// A Choice is what the next round of a request does.
type Choice struct {
	Arm    int // index of the drafter, -1 for a plain round
	Depth  int // drafts to ask for
	bucket int
	pays   bool // drafts that could be made gain, by what was measured
}

// Next returns the choice for a request with context tokens. limits says for
// each arm how many tokens it could propose in this round, 0 if none. An error
// is one of loading what was learned; the choice is good all the same.
func (s *Selector) Next(context int, limits []int) (Choice, error) {
	bucket := Bucket(context)
	arms, err := s.open(bucket)
	choice := Choice{Arm: -1, bucket: bucket}
	rates := make([]float64, len(arms))
	for i, c := range arms {
		if limits[i] > 0 {
			_, rates[i] = c.best(limits[i])
			choice.pays = choice.pays || c.pays()
		}
	}
	for i, c := range arms {
		if limits[i] <= 0 {
			continue
		}
		rival := 0.0
		for j, r := range rates {
			if j != i {
				rival = max(rival, r)
			}
		}
		depth := c.plan(limits[i], rival)
		probing := c.probe.rounds > 0 && !s.budget.spent()
		if depth > 0 && (probing || choice.Arm < 0) {
			choice.Arm, choice.Depth = i, depth
		}
		if probing && (depth > 0 || rival < rates[i]) {
			break // a probe of no drafts too, by the drafter that leads
		}
	}
	return choice, err
}

// An Offer is a round with drafts that a request among others could have.
type Offer struct {
	Choice
	Tokens float64 // that it gives, by what is known
	Cost   float64 // seconds
	Beats  bool    // plain rounds of its own; false where what these cost is not known
}

// Rate returns the tokens per second.
func (o Offer) Rate() float64 { return o.Tokens / o.Cost }

// Among returns the round with drafts that gives a request most that is not alone,
// false if none is known to give more than plain rounds of its own. Whether it gives
// more than steps that are shared is for those to say who know these. Rounds of a
// request among others teach nothing, so that it goes no deeper than was measured, and
// a probe that is due waits. It needs no cost of plain rounds: an engine whose requests
// always overlap never has one.
func (s *Selector) Among(context int, limits []int) (o Offer, ok bool, err error) {
	bucket := Bucket(context)
	arms, err := s.open(bucket)
	best := 0.0
	for i, c := range arms {
		if limits[i] <= 0 || s.budget.spent() {
			continue
		}
		depth, rate := c.best(limits[i])
		alone := c.curve.points[0].samples >= settling
		known := alone && depth <= c.curve.frontier() || c.curve.measured(depth)
		if !known || rate <= best || alone && rate <= 1/c.curve.at(0) {
			continue
		}
		best, ok = rate, true
		o = Offer{Choice{Arm: i, Depth: depth, bucket: bucket}, rate * c.curve.at(depth), c.curve.at(depth), alone}
	}
	return o, ok, err
}

// Round takes in a round of the chosen drafter. One in which it proposed
// nothing is Plain.
func (s *Selector) Round(choice Choice, r Round) {
	s.learned[choice.bucket] = true
	for i, c := range s.buckets[choice.bucket] {
		if i == choice.Arm {
			c.Round(r) // earns for all
		} else {
			c.otherRound()
		}
	}
}

// Plain takes in a plain round, whatever the choice was.
func (s *Selector) Plain(choice Choice, cost time.Duration) {
	s.learned[choice.bucket] = true
	for _, c := range s.buckets[choice.bucket] {
		c.plain(cost)
	}
	s.budget.earn(1, choice.pays)
}

// open returns the controllers of a bucket. New ones start from what the store
// has, else from what holds in the bucket of the last round: the context of a
// request grows from one into the next.
func (s *Selector) open(bucket int) ([]*Controller, error) {
	before := s.buckets[s.last]
	moved := s.last != bucket
	s.last = bucket
	if arms, ok := s.buckets[bucket]; ok {
		if moved {
			s.moveOwnRates(arms, before)
		}
		return arms, nil
	}
	var errs []error
	arms := make([]*Controller, len(s.arms))
	for i, a := range s.arms {
		c := NewController(a.Limit)
		c.budget = s.budget
		arms[i] = c
		state, err := s.load(a, bucket)
		if err == nil && state != nil {
			err = c.Restore(*state)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("what was learned of drafter %s is not used: %w", a.Name, err))
		}
		if (err != nil || state == nil) && before != nil {
			c.inherit(before[i])
		}
	}
	s.moveOwnRates(arms, before)
	s.buckets[bucket] = arms
	return arms, errors.Join(errs...)
}

// take has the drafters whose acceptance is the request's own go on with what
// they have in another bucket, nil if there is none.
func (s *Selector) moveOwnRates(arms, from []*Controller) {
	for i, a := range s.arms {
		if !a.Own {
			continue
		}
		arms[i].rates = acceptance{}
		if from != nil {
			arms[i].rates = from[i].rates
		}
	}
}

// Renew forgets how often a drafter's proposals were accepted, and has them
// tried soon: another request begins, and the arm is one whose acceptance is
// the request's own. What its rounds cost is kept.
func (s *Selector) Renew(arm int) {
	for _, arms := range s.buckets {
		arms[arm].rates = acceptance{}
		arms[arm].probe.reset()
	}
}

func (s *Selector) load(a Arm, bucket int) (*State, error) {
	if s.store == nil {
		return nil, nil
	}
	return s.store.LoadPolicy(Key{s.model, a.Name, bucket})
}

// Save hands what was learned since the last Save to the store, at the end of a
// request say. What could not be stored is tried again by the next one.
func (s *Selector) Save() error {
	if s.store == nil {
		return nil
	}
	var errs []error
	for bucket := range s.learned {
		failed := len(errs)
		for i, c := range s.buckets[bucket] {
			state := c.State()
			if s.arms[i].Own {
				state.Rates = nil // they were the request's
			}
			if !state.drafted() {
				continue // a bucket like those before it, for all that is known
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
