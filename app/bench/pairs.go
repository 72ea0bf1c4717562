package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A Setting holds the options of both sides of a comparison.
type Setting struct {
	Temperature float64
	IgnoreEOS   bool
}

func (s Setting) String() string {
	text := "greedy"
	if s.Temperature > 0 {
		text = fmt.Sprintf("temperature %v", s.Temperature)
	}
	if s.IgnoreEOS {
		text += ", ignore_eos"
	}
	return text
}

// A Way is how one side decodes. The zero value is plain decoding.
type Way struct {
	Drafter  string // empty: plain
	Depth    int    // drafts in a round; -1: adaptive
	Rollback engine.Rollback
	Rule     engine.Rule

	Fused, Exact, Timed bool // see engine.Speculation
}

// Adaptive is the depth of a way that chooses its depth itself.
const Adaptive = -1

// Block names a way's depth by the rows of a block. The newest token's row is one of them.
func (w Way) Block() string {
	text := strconv.Itoa(w.Depth + 1)
	if w.Depth == Adaptive {
		text = "adaptive"
	}
	if w.Fused {
		text += ", fused"
	}
	if w.Exact {
		text += ", exact"
	}
	return text
}

func (w Way) String() string {
	switch {
	case w.Drafter == "" && w.Exact:
		return "plain, exact"
	case w.Drafter == "":
		return "plain"
	}
	return fmt.Sprintf("%s, block %s, %s, %s", w.Drafter, w.Block(),
		cmp.Or(w.Rollback, engine.Trim), cmp.Or(w.Rule, engine.Coupled))
}

func (w Way) Speculation() engine.Speculation {
	if w.Drafter == "" {
		return engine.Speculation{Drafter: engine.None, Exact: w.Exact}
	}
	s := engine.Speculation{
		Drafter: w.Drafter, Rollback: w.Rollback, Rule: w.Rule, Fused: w.Fused, Exact: w.Exact,
		Timed: w.Timed,
	}
	if w.Depth != Adaptive {
		s.Depth = &w.Depth
	}
	return s
}

// A Contest lets ways of decoding take turns, prompt by prompt, in one process.
type Contest struct {
	Thread   *mlx.Thread
	Model    lm.Model
	Engines  func(m lm.Model, drafters []draft.Drafter) *engine.Engine
	Drafters []draft.Drafter
	Pairs    int       // of a comparison, at least
	Once     bool      // pairs are never doubled
	warm     int       // answers before an adaptive way is measured
	Log      io.Writer // progress, for a person
	host     host      // nil: nothing else happens in the process
}

// A host is a program that serves requests while it measures.
type host interface {
	// measureIdle runs a measurement while no request is in flight. It repeats the measurement if a
	// request came.
	measureIdle(ctx context.Context, measure func(context.Context) error) error
	// hasTime reports whether there is time for another pair after pairs.
	hasTime(pairs int) bool
}

// Answer lets a side continue a prompt. A host keeps other work away meanwhile.
func (c *Contest) Answer(ctx context.Context, s *Side, w *Workload, i int,
	set Setting) (a Response, err error) {
	if c.host == nil {
		return s.Answer(ctx, w, i, set)
	}
	err = c.host.measureIdle(ctx, func(ctx context.Context) error {
		a, err = s.Answer(ctx, w, i, set)
		return err
	})
	return a, err
}

// A Side is one way of decoding. It has its own engine, with what the engine learns.
type Side struct {
	Way
	Model  *Dictated
	Engine *engine.Engine
}

// Open opens a side. The caller closes it.
func (c *Contest) Open(w Way) *Side {
	s := &Side{Way: w, Model: &Dictated{Model: c.Model}}
	var drafters []draft.Drafter
	if w.Drafter != "" {
		drafters = c.Drafters
	}
	s.Engine = c.Engines(s.Model, drafters)
	return s
}

func (s *Side) Close() { s.Engine.Close() }

// MinAnswer is the fewest tokens of an answer. A shorter one ends before anything can be timed, and
// too short for the engine to notice whether it loops.
const MinAnswer = 24

// A Response is the answer to one request, with its statistics.
type Response struct {
	IDs   []int32
	Stats engine.Stats
}

// Rate is tokens per second of decoding, Whole of the request.
func (a Response) Rate() float64  { return float64(len(a.IDs)-1) / a.Stats.Decode.Seconds() }
func (a Response) Whole() float64 { return float64(len(a.IDs)) / a.Stats.Total.Seconds() }

// request returns the request for the continuation of a prompt.
func (s *Side) request(w *Workload, i int, set Setting) engine.Request {
	p := w.Prompts[i]
	limit := w.Limit
	if p.Script != nil {
		limit = min(limit, len(p.Script))
	}
	return engine.Request{
		Prompt: p.IDs, MaxTokens: &limit, Seed: new(uint64(i)),
		IgnoreEOS: set.IgnoreEOS || p.Script != nil,
		Sampling:  sample.Params{Temperature: set.Temperature}, Speculation: s.Speculation(),
	}
}

// Answer continues a prompt.
func (s *Side) Answer(ctx context.Context, w *Workload, i int, set Setting) (Response, error) {
	s.Model.Dictate(w.Prompts[i])
	return generate(ctx, s.Engine, s.request(w, i, set))
}

// generate returns the whole answer to a request.
func generate(ctx context.Context, e *engine.Engine, r engine.Request) (a Response, err error) {
	r.Done = func(st engine.Stats) { a.Stats = st }
	for tok, err := range e.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.IDs = append(a.IDs, tok.ID)
	}
	return a, nil
}

// Reject returns why an answer does not count, or "".
func (a Response) Reject() string {
	switch {
	case len(a.IDs) < MinAnswer:
		return "short"
	case a.Stats.Repeats > 0:
		return "looping" // which flatters speculation
	}
	return ""
}

// A Pair holds the responses of two sides to one prompt.
type Pair struct {
	Index    int // of the prompt; the first, if there are several
	One, Two Response
}

// A Comparison holds the results of two ways that took turns.
type Comparison struct {
	Setting
	One, Two Way
	Bar      figures.Bar
	Pairs    []Pair
	rejected map[string]int // how many prompts do not count, by the reason
	doubled  bool

	// Answers that diverge from plain decoding, each once: where rounding decides, and where it
	// does not.
	excused, wrong []string
}

// Verdict judges the ratio by the bar, or says that the texts differ.
func (c *Comparison) Verdict() any {
	if len(c.wrong) > 0 {
		return "texts differ"
	}
	return c.Bar.Judge(c.Ratio())
}

// Ratio estimates how many times as fast the second side decodes.
func (c *Comparison) Ratio() figures.Estimate {
	return c.estimate(func(p Pair) float64 { return p.Two.Rate() / p.One.Rate() })
}

// Whole estimates the same for whole requests, with their prompts.
func (c *Comparison) Whole() figures.Estimate {
	return c.estimate(func(p Pair) float64 { return p.Two.Whole() / p.One.Whole() })
}

// estimate estimates a figure of the pairs, by clusters of one prompt.
func (c *Comparison) estimate(of func(Pair) float64) figures.Estimate {
	values := map[int][]float64{} // by prompt
	for _, p := range c.Pairs {
		values[p.Index] = append(values[p.Index], of(p))
	}
	var prompts [][]float64
	for _, i := range slices.Sorted(maps.Keys(values)) {
		prompts = append(prompts, values[i])
	}
	return figures.EstimateOf(prompts)
}

// NeedsPairs reports whether there are too few pairs. If they do not decide about the bar, twice as
// many are needed, unless once is set.
func (c *Comparison) NeedsPairs(pairs int, once bool) bool {
	n := len(c.Pairs)
	if n == pairs && !once && c.Bar.Undecided(c.Ratio()) {
		c.doubled = true
	}
	return n < pairs || c.doubled && n < 2*pairs
}

// Count returns how many pairs satisfy yes.
func (c *Comparison) Count(yes func(Pair) bool) int {
	n := 0
	for _, p := range c.Pairs {
		if yes(p) {
			n++
		}
	}
	return n
}

// compare lets two ways answer prompts in turns until there are enough pairs. If these do not
// decide about the bar, there will be twice as many. Prompts are reused if there are too few.
func (c *Contest) compare(ctx context.Context, w *Workload, set Setting, one, two Way,
	b figures.Bar) (*Comparison, error) {
	first, second := c.Open(one), c.Open(two)
	defer first.Close()
	defer second.Close()
	if err := c.warmUp(ctx, w, set, first, second); err != nil {
		return nil, err
	}
	return c.takeTurns(ctx, w, set, first, second, b)
}

// warmUp lets an adaptive second side answer prompts before it is measured. It takes prompts that
// count, if possible prompts that are not measured. Prompts that do not count would teach it texts
// that the measurement does not have.
func (c *Contest) warmUp(ctx context.Context, w *Workload, set Setting, one, two *Side) error {
	if two.Drafter == "" || two.Depth != Adaptive {
		return nil
	}
	learned := 0
	picks := w.others
	if picks == nil {
		picks = w.Picks
	}
	for _, i := range picks {
		if learned == c.warm {
			break
		}
		ok, err := c.usable(ctx, w, set, i, one)
		if err != nil {
			return err
		}
		if ok {
			if _, err := c.Answer(ctx, two, w, i, set); err != nil {
				return err
			}
			learned++
		}
	}
	return nil
}

// usable reports whether a prompt counts. It generates an answer if that is not known yet.
func (c *Contest) usable(ctx context.Context, w *Workload, set Setting, i int,
	s *Side) (bool, error) {
	key := unusable{set, i}
	why, known := w.unusable[key]
	if !known {
		a, err := c.Answer(ctx, s, w, i, set)
		if err != nil {
			return false, err
		}
		why = a.Reject()
		w.unusable[key] = why
	}
	return why == "", nil
}

// check compares two answers to a prompt with plain decoding's, if they differ, and keeps the
// divergences in result. With one seed they should be equal, however they are decoded. Rejection at
// a temperature is an exception, and is not checked.
func (c *Contest) check(ctx context.Context, w *Workload, set Setting, i int, result *Comparison,
	one, two Response) error {
	free := result.One.Rule == engine.Rejection || result.Two.Rule == engine.Rejection
	if slices.Equal(one.IDs, two.IDs) || set.Temperature > 0 && free {
		return nil
	}
	s := c.Open(Way{})
	defer s.Close()
	plain, err := c.Answer(ctx, s, w, i, set)
	if err != nil {
		return err
	}
	u := DivergenceJudge{c.Thread, s.Model, func(m lm.Model) *engine.Engine { return c.Engines(m, nil) }}
	for _, a := range []struct {
		Way
		Response
	}{{result.One, one}, {result.Two, two}} {
		if slices.Equal(a.IDs, plain.IDs) {
			continue
		}
		p, err := u.Judge(ctx, s.request(w, i, set), plain.IDs, a.IDs)
		if err != nil {
			return err
		}
		list := &result.wrong
		if p.Excused {
			list = &result.excused
		}
		if text := fmt.Sprintf("%s, prompt %d: %s", a.Way, i, p); !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	return nil
}

// takeTurns measures pairs until there are enough, or until no prompt gives another one.
func (c *Contest) takeTurns(ctx context.Context, w *Workload, set Setting, one, two *Side,
	b figures.Bar) (*Comparison, error) {
	result := &Comparison{Setting: set, One: one.Way, Two: two.Way, Bar: b,
		rejected: map[string]int{}}
	began := time.Now()
	defer fmt.Fprintln(c.Log)
	dropped := map[int]bool{} // prompts whose second answer does not count
	last := -1                // the last turn that gave a pair
	for turn := 0; result.NeedsPairs(c.Pairs, c.Once); turn++ {
		if turn-last > len(w.Picks) {
			break // there is nothing to measure, or no more
		}
		if c.host != nil && !c.host.hasTime(len(result.Pairs)) {
			break
		}
		i := w.Picks[turn%len(w.Picks)]
		key := unusable{set, i}
		if w.unusable[key] != "" || dropped[i] {
			continue
		}
		p := Pair{Index: i}
		var err error
		if p.One, err = c.Answer(ctx, one, w, i, set); err != nil {
			return nil, err
		}
		why := p.One.Reject()
		if w.unusable[key] = why; why != "" {
			continue
		}
		if p.Two, err = c.Answer(ctx, two, w, i, set); err != nil {
			return nil, err
		}
		if err := c.check(ctx, w, set, i, result, p.One, p.Two); err != nil {
			return nil, err
		}
		if why = p.Two.Reject(); why != "" {
			dropped[i] = true
			result.rejected[why+", with drafts"]++
			continue
		}
		result.Pairs = append(result.Pairs, p)
		last = turn
		fmt.Fprintf(c.Log, "\r%s, %s: %s against %s, pair %d, %.0f s ", w.Name, set, two.Way,
			one.Way, len(result.Pairs), time.Since(began).Seconds())
	}
	for _, i := range w.Picks {
		if why := w.unusable[unusable{set, i}]; why != "" {
			result.rejected[why]++
		}
	}
	return result, nil
}

// best returns the fastest of the comparisons with plain decoding, and how many times as fast it
// is. Only prompts of even index count. fastest is nil without pairs.
func best(all []*Comparison) (fastest *Comparison, times float64) {
	for _, c := range all {
		var ratios []float64
		for _, p := range c.Pairs {
			if p.Index%2 == 0 {
				ratios = append(ratios, p.Two.Rate()/p.One.Rate())
			}
		}
		if m := figures.Median(ratios); m > times {
			fastest, times = c, m
		}
	}
	return fastest, times
}
