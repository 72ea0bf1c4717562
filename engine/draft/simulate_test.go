package draft

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A world is a machine and a text: what rounds cost, in plain steps, and how
// likely the draft at a position is accepted, given those before it were.
type world struct {
	name  string
	limit int
	cost  func(depth int) float64
	rate  func(token, position int) float64
	noise float64 // relative standard deviation of a cost
}

const plainStep = 10 * time.Millisecond

func linear(fixed, perDraft float64) func(int) float64 {
	return func(d int) float64 {
		if d == 0 {
			return 1
		}
		return 1 + fixed + perDraft*float64(d)
	}
}

func always(p float64) func(int, int) float64 { return func(int, int) float64 { return p } }

// A run decodes a text of a world and keeps its own clock.
type run struct {
	world
	rng    *rand.Rand
	clock  time.Duration
	tokens int
	depths []int // of each round
	at     []int // the token each round began with
	last   int
}

func newRun(w world, seed uint64) *run { return &run{world: w, rng: rand.New(rand.NewPCG(seed, 1))} }

// round decodes with depth drafts and says what it cost and how many of them
// were accepted.
func (r *run) round(depth int) Round {
	steps := r.cost(depth)
	if depth != r.last {
		steps += 0.1 // a pipeline to fill
	}
	r.last = depth
	steps *= math.Exp(r.noise * r.rng.NormFloat64())
	if r.noise > 0 && r.rng.IntN(200) == 0 {
		steps *= 4 // the machine was elsewhere
	}
	cost := time.Duration(steps * float64(plainStep))
	accepted := 0
	for accepted < depth && r.rng.Float64() < r.rate(r.tokens+accepted, accepted) {
		accepted++
	}
	r.depths, r.at = append(r.depths, depth), append(r.at, r.tokens)
	r.tokens += accepted + 1
	r.clock += cost
	return Round{Depth: depth, Accepted: accepted, Cost: cost}
}

// control decodes n tokens under a controller.
func (r *run) control(c *Controller, n int) {
	for end := r.tokens + n; r.tokens < end; {
		if out := r.round(c.Depth(min(r.limit, end-r.tokens-1))); out.Depth > 0 {
			c.Round(out)
		} else {
			c.Plain(out.Cost)
		}
	}
}

// perToken is the time of a token so far.
func (r *run) perToken() float64 { return r.clock.Seconds() / float64(r.tokens) }

// fixed is the time per token of the best fixed depth over n tokens, and that
// depth; 0 included.
func (w world) fixed(n int, seed uint64) (best float64, depth int) {
	for d := range w.limit + 1 {
		r := newRun(w, seed)
		for r.tokens < n {
			r.round(d)
		}
		if t := r.perToken(); best == 0 || t < best {
			best, depth = t, d
		}
	}
	return best, depth
}

func (w world) plain(n int, seed uint64) float64 {
	r := newRun(w, seed)
	for r.tokens < n {
		r.round(0)
	}
	return r.perToken()
}

// worlds are machines from a large GPU, where a block costs little more than a
// step, to a CPU, where each row does; texts from hopeless to easy.
func worlds() []world {
	var list []world
	for _, m := range []struct {
		name string
		cost func(int) float64
	}{
		{"flat", linear(0.15, 0.02)},
		{"head start", linear(0.6, 0.05)},
		{"rows", linear(0.2, 0.15)},
		{"dear rows", linear(0.5, 0.4)},
		{"dear drafter", linear(2, 0.1)},
		{"steps", func(d int) float64 { // a kernel for every 4 rows
			if d == 0 {
				return 1
			}
			return 1.2 + 0.3*float64(d/4)
		}},
	} {
		for _, x := range []struct {
			name string
			rate func(int, int) float64
		}{
			{"never", always(0)},
			{"rarely", always(0.15)},
			{"half", always(0.5)},
			{"mostly", always(0.8)},
			{"nearly always", always(0.95)},
			{"fading", func(_, i int) float64 { return 0.9 * math.Pow(0.85, float64(i)) }},
		} {
			list = append(list, world{m.name + ", " + x.name, 15, m.cost, x.rate, 0.08})
		}
	}
	return list
}

func TestSimulateTable(t *testing.T) {
	for _, w := range worlds() {
		var coldPlain, coldFixed, warmPlain, warmFixed, depth float64
		const seeds = 10
		for seed := range uint64(seeds) {
			c := NewController(w.limit)
			cold := newRun(w, seed)
			cold.control(c, 1000)
			plain := w.plain(20000, seed)
			best, d := w.fixed(20000, seed)
			coldPlain += plain / cold.perToken() / seeds
			coldFixed += best / cold.perToken() / seeds
			warm := newRun(w, seed+100)
			warm.control(c, 4000)
			warmPlain += plain / warm.perToken() / seeds
			warmFixed += best / warm.perToken() / seeds
			depth = float64(d)
		}
		t.Logf("%-30s cold: %.3f of plain %.3f of best; warm: %.3f of plain, %.3f of best (depth %v)", w.name, coldPlain, coldFixed, warmPlain, warmFixed, depth)
	}
}
