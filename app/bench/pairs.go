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

// A setting holds what both sides of a comparison are asked for.
type setting struct {
	temperature float64
	ignoreEOS   bool
}

func (s setting) String() string {
	text := "greedy"
	if s.temperature > 0 {
		text = fmt.Sprintf("temperature %v", s.temperature)
	}
	if s.ignoreEOS {
		text += ", ignore_eos"
	}
	return text
}

// A way is how one side decodes. The zero value is plain decoding.
type way struct {
	drafter  string // empty: plain
	depth    int    // drafts in a round; -1: adaptive
	rollback engine.Rollback
	rule     engine.Rule

	fused, exact, timed bool // see engine.Speculation
}

// adaptive is the depth of a way that chooses its depth itself.
const adaptive = -1

// block names a way's depth by the rows of a block. The newest token's row is one of them.
func (w way) block() string {
	text := strconv.Itoa(w.depth + 1)
	if w.depth == adaptive {
		text = "adaptive"
	}
	if w.fused {
		text += ", fused"
	}
	if w.exact {
		text += ", exact"
	}
	return text
}

func (w way) String() string {
	switch {
	case w.drafter == "" && w.exact:
		return "plain, exact"
	case w.drafter == "":
		return "plain"
	}
	return fmt.Sprintf("%s, block %s, %s, %s", w.drafter, w.block(),
		cmp.Or(w.rollback, engine.Trim), cmp.Or(w.rule, engine.Coupled))
}

func (w way) speculation() engine.Speculation {
	if w.drafter == "" {
		return engine.Speculation{Drafter: engine.None, Exact: w.exact}
	}
	s := engine.Speculation{
		Drafter: w.drafter, Rollback: w.rollback, Rule: w.rule, Fused: w.fused, Exact: w.exact,
		Timed: w.timed,
	}
	if w.depth != adaptive {
		s.Depth = &w.depth
	}
	return s
}

// A contest lets ways of decoding take turns, prompt by prompt, in one process.
type contest struct {
	thread  *mlx.Thread
	model   lm.Model
	engines func(m lm.Model, drafters []draft.Drafter) *engine.Engine
	drafts  []draft.Drafter
	pairs   int       // of a comparison, at least
	once    bool      // pairs are never doubled
	warm    int       // answers before an adaptive way is measured
	log     io.Writer // progress, for a person
	host    host      // nil: nothing else happens in the process
}

// A host is a program that serves requests while it measures.
type host interface {
	// alone runs a measurement while no request is in flight. It repeats the measurement if a
	// request came.
	alone(ctx context.Context, measure func(context.Context) error) error
	// hasTime is told how many pairs there are. It reports whether there is time for another one.
	hasTime(pairs int) bool
}

// answer lets a side continue a prompt. A host keeps other work away meanwhile.
func (c *contest) answer(ctx context.Context, s *side, w *workload, i int,
	set setting) (a response, err error) {
	if c.host == nil {
		return s.answer(ctx, w, i, set)
	}
	err = c.host.alone(ctx, func(ctx context.Context) error {
		a, err = s.answer(ctx, w, i, set)
		return err
	})
	return a, err
}

// A side is a way of decoding with an engine of its own, and with what that engine learns.
type side struct {
	way
	model  *dictated
	engine *engine.Engine
}

// open opens a side. The caller closes it.
func (c *contest) open(w way) *side {
	s := &side{way: w, model: &dictated{Model: c.model}}
	var drafters []draft.Drafter
	if w.drafter != "" {
		drafters = c.drafts
	}
	s.engine = c.engines(s.model, drafters)
	return s
}

func (s *side) Close() { s.engine.Close() }

// minAnswer is how many tokens an answer has at least. A shorter one is over before anything can be
// timed, and too short for the engine to tell whether it loops.
const minAnswer = 24

// A response is the answer to one request, with its statistics.
type response struct {
	ids   []int32
	stats engine.Stats
}

// rate returns the tokens per second of decoding, and whole those of the whole request.
func (a response) rate() float64  { return float64(len(a.ids)-1) / a.stats.Decode.Seconds() }
func (a response) whole() float64 { return float64(len(a.ids)) / a.stats.Total.Seconds() }

// request returns the request for the continuation of a prompt.
func (s *side) request(w *workload, i int, set setting) engine.Request {
	p := w.prompts[i]
	limit := w.limit
	if p.script != nil {
		limit = min(limit, len(p.script))
	}
	return engine.Request{
		Prompt: p.ids, MaxTokens: &limit, Seed: new(uint64(i)),
		IgnoreEOS: set.ignoreEOS || p.script != nil,
		Sampling:  sample.Params{Temperature: set.temperature}, Speculation: s.speculation(),
	}
}

// answer continues a prompt.
func (s *side) answer(ctx context.Context, w *workload, i int, set setting) (response, error) {
	s.model.dictate(w.prompts[i])
	var a response
	r := s.request(w, i, set)
	r.Done = func(st engine.Stats) { a.stats = st }
	for tok, err := range s.engine.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.ids = append(a.ids, tok.ID)
	}
	return a, nil
}

// reject returns why an answer does not count; empty if it does.
func (a response) reject() string {
	switch {
	case len(a.ids) < minAnswer:
		return "short"
	case a.stats.Repeats > 0:
		return "looping" // which flatters speculation
	}
	return ""
}

// A pair holds the responses of two sides to one prompt.
type pair struct {
	index    int // of the prompt; the first, if there are several
	one, two response
}

// A comparison holds the results of two ways that took turns.
type comparison struct {
	setting
	one, two way
	bar      figures.Bar
	pairs    []pair
	rejected map[string]int // how many prompts do not count, by the reason
	doubled  bool

	// Answers that diverge from plain decoding, each once: where rounding decides, and where it
	// does not.
	excused, wrong []string
}

// verdict judges the ratio by the bar, or says that the texts differ.
func (c *comparison) verdict() any {
	if len(c.wrong) > 0 {
		return "texts differ"
	}
	return c.bar.Judge(c.ratio())
}

// ratio estimates how many times as fast the second side decodes.
func (c *comparison) ratio() figures.Estimate {
	return c.estimate(func(p pair) float64 { return p.two.rate() / p.one.rate() })
}

// whole estimates the same for whole requests, with their prompts.
func (c *comparison) whole() figures.Estimate {
	return c.estimate(func(p pair) float64 { return p.two.whole() / p.one.whole() })
}

// estimate estimates a figure of the pairs, by clusters of one prompt.
func (c *comparison) estimate(of func(pair) float64) figures.Estimate {
	values := map[int][]float64{} // by prompt
	for _, p := range c.pairs {
		values[p.index] = append(values[p.index], of(p))
	}
	var prompts [][]float64
	for _, i := range slices.Sorted(maps.Keys(values)) {
		prompts = append(prompts, values[i])
	}
	return figures.EstimateOf(prompts)
}

// needsPairs reports whether there are too few pairs. If they do not decide about the bar, twice as
// many are needed, unless once is set.
func (c *comparison) needsPairs(pairs int, once bool) bool {
	n := len(c.pairs)
	if n == pairs && !once && c.bar.Undecided(c.ratio()) {
		c.doubled = true
	}
	return n < pairs || c.doubled && n < 2*pairs
}

// count returns how many pairs satisfy yes.
func (c *comparison) count(yes func(pair) bool) int {
	n := 0
	for _, p := range c.pairs {
		if yes(p) {
			n++
		}
	}
	return n
}

// compare lets two ways answer prompts in turns until there are enough pairs. If these do not
// decide about the bar, there will be twice as many. Prompts are used again where there are too
// few.
func (c *contest) compare(ctx context.Context, w *workload, set setting, one, two way,
	b figures.Bar) (*comparison, error) {
	first, second := c.open(one), c.open(two)
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
func (c *contest) warmUp(ctx context.Context, w *workload, set setting, one, two *side) error {
	if two.drafter == "" || two.depth != adaptive {
		return nil
	}
	learned := 0
	picks := w.others
	if picks == nil {
		picks = w.picks
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
			if _, err := c.answer(ctx, two, w, i, set); err != nil {
				return err
			}
			learned++
		}
	}
	return nil
}

// usable reports whether a prompt counts. It generates an answer if that is not known yet.
func (c *contest) usable(ctx context.Context, w *workload, set setting, i int,
	s *side) (bool, error) {
	key := unusable{set, i}
	why, known := w.unusable[key]
	if !known {
		a, err := c.answer(ctx, s, w, i, set)
		if err != nil {
			return false, err
		}
		why = a.reject()
		w.unusable[key] = why
	}
	return why == "", nil
}

// check compares two answers to a prompt with plain decoding's, if they differ, and keeps the
// divergences in result. With one seed they should be equal, however they are decoded. Rejection at
// a temperature is an exception, and is not checked.
func (c *contest) check(ctx context.Context, w *workload, set setting, i int, result *comparison,
	one, two response) error {
	free := result.one.rule == engine.Rejection || result.two.rule == engine.Rejection
	if slices.Equal(one.ids, two.ids) || set.temperature > 0 && free {
		return nil
	}
	s := c.open(way{})
	defer s.Close()
	plain, err := c.answer(ctx, s, w, i, set)
	if err != nil {
		return err
	}
	u := umpire{c.thread, s.model, func(m lm.Model) *engine.Engine { return c.engines(m, nil) }}
	for _, a := range []struct {
		way
		response
	}{{result.one, one}, {result.two, two}} {
		if slices.Equal(a.ids, plain.ids) {
			continue
		}
		p, err := u.judge(ctx, s.request(w, i, set), plain.ids, a.ids)
		if err != nil {
			return err
		}
		list := &result.wrong
		if p.excused {
			list = &result.excused
		}
		if text := fmt.Sprintf("%s, prompt %d: %s", a.way, i, p); !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	return nil
}

// takeTurns measures pairs until there are enough, or until no prompt gives another one.
func (c *contest) takeTurns(ctx context.Context, w *workload, set setting, one, two *side,
	b figures.Bar) (*comparison, error) {
	result := &comparison{setting: set, one: one.way, two: two.way, bar: b,
		rejected: map[string]int{}}
	began := time.Now()
	defer fmt.Fprintln(c.log)
	dropped := map[int]bool{} // prompts whose second answer does not count
	last := -1                // the last turn that gave a pair
	for turn := 0; result.needsPairs(c.pairs, c.once); turn++ {
		if turn-last > len(w.picks) {
			break // there is nothing to measure, or no more
		}
		if c.host != nil && !c.host.hasTime(len(result.pairs)) {
			break
		}
		i := w.picks[turn%len(w.picks)]
		key := unusable{set, i}
		if w.unusable[key] != "" || dropped[i] {
			continue
		}
		p := pair{index: i}
		var err error
		if p.one, err = c.answer(ctx, one, w, i, set); err != nil {
			return nil, err
		}
		why := p.one.reject()
		if w.unusable[key] = why; why != "" {
			continue
		}
		if p.two, err = c.answer(ctx, two, w, i, set); err != nil {
			return nil, err
		}
		if err := c.check(ctx, w, set, i, result, p.one, p.two); err != nil {
			return nil, err
		}
		if why = p.two.reject(); why != "" {
			dropped[i] = true
			result.rejected[why+", with drafts"]++
			continue
		}
		result.pairs = append(result.pairs, p)
		last = turn
		fmt.Fprintf(c.log, "\r%s, %s: %s against %s, pair %d, %.0f s ", w.name, set, two.way,
			one.way, len(result.pairs), time.Since(began).Seconds())
	}
	for _, i := range w.picks {
		if why := w.unusable[unusable{set, i}]; why != "" {
			result.rejected[why]++
		}
	}
	return result, nil
}

// best returns the fastest of the comparisons with plain decoding, and how many times as fast it
// is. Only prompts of even index count. fastest is nil if there are no pairs.
func best(all []*comparison) (fastest *comparison, times float64) {
	for _, c := range all {
		var ratios []float64
		for _, p := range c.pairs {
			if p.index%2 == 0 {
				ratios = append(ratios, p.two.rate()/p.one.rate())
			}
		}
		if m := figures.Median(ratios); m > times {
			fastest, times = c, m
		}
	}
	return fastest, times
}
