package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/models"
)

// A cold start is coldRequests answers of coldRequest tokens by an engine that has learned nothing
// yet: 1,000 tokens.
const (
	coldStart    = "cold start"
	coldRequests = 8
	coldRequest  = 125
)

// quickPrompt is how many tokens of a prompt are used in a quick run, from its end.
const quickPrompt = 64

// A speculation compares decoding with drafts to plain decoding. Pairs take turns, prompt by
// prompt:
//
//   - Code, greedily and at temperature 0.8, to the natural end of the answers: every fixed block
//     size and adaptive depth. The other rollback and the other rule run only at the fastest block
//     and adaptively.
//   - Code with ignore_eos: blocks of 4 and 8 and adaptive depth, with the first drafter.
//   - Edits: every block size with the n-gram drafter, and adaptive depth.
//   - A client's second request, with and without a memory of its first.
//   - Shuffled text: a block of 4 with the first drafter, and adaptive depth.
//
// Options.Full measures every combination instead.
type speculation struct {
	contest
	options  Options
	bundle   *models.Bundle
	loaded   *benchDrafters
	texts    workloads
	first    []int32 // ids of a plain answer
	coldRuns int
	wrong    []error // rows whose texts differ
}

func openSpeculation(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	s := &speculation{contest: contest{thread: t}, options: o, bundle: b, coldRuns: figures.MinPairs}
	if s.loaded, err = loadBenchDrafters(ctx, b, o.Model, o.Drafters,
		models.Options{}); err == nil {
		s.texts, err = newWorkloads(b.Tokenizer)
	}
	if err == nil && o.Model != "" { // the pocket model completes code and knows nothing
		s.texts.chatCode, s.texts.chatProse, err = newChats(ctx, b)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.contest = contest{
		thread: t, model: b.Model, drafts: s.loaded.list, pairs: figures.MinPairs, warm: 8, log: o.Err,
		engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(t, m, b.Tokenizer, engine.Options{Drafters: continued(drafters)})
		},
	}
	if o.Quick {
		s.pairs, s.warm, s.coldRuns, s.once = 2, 1, 1, true
		again, dictated := s.texts.again, s.texts.dictatedAgain
		for _, w := range []*workload{s.texts.code, s.texts.edit, s.texts.copied, s.texts.noise,
			s.texts.after, again.first, again.second, dictated.first, dictated.second,
			s.texts.chatCode, s.texts.chatProse} {
			if w == nil {
				continue
			}
			w.picks, w.limit = w.picks[:min(len(w.picks), 6)], min(w.limit, 24)
			for i, p := range w.prompts {
				w.prompts[i].ids = p.ids[max(0, len(p.ids)-quickPrompt):]
			}
		}
	}
	if o.Pairs > 0 {
		s.pairs, s.coldRuns = o.Pairs, o.Pairs
	}
	plain := s.contest.open(way{})
	long := *s.texts.code
	long.limit = 64
	a, err := plain.answer(ctx, &long, 0, setting{ignoreEOS: true})
	plain.Close()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.first = a.ids
	return s, nil
}

func (b *speculation) header() figures.Header {
	h := newHeader()
	h.DType = b.bundle.Model.Config().Dtype.String()
	h.Tokens = b.first
	return h
}

func (b *speculation) Close() error {
	var err error
	if b.loaded != nil {
		err = b.loaded.Close()
	}
	return errors.Join(err, b.bundle.Close(), b.thread.Close())
}

// report measures section by section. It returns an error if answers differ that must be the same.
func (b *speculation) report(ctx context.Context, table func(figures.Table) error) error {
	only := func(name string) bool { return strings.Contains(name, b.options.Only) }
	sections := b.sections()
	var names []string
	for _, s := range sections {
		names = append(names, s.String())
	}
	if names = append(names, coldStart, memoryOfTexts); !slices.ContainsFunc(names, only) {
		return fmt.Errorf("no table's name contains %q; there are:\n  %s", b.options.Only,
			strings.Join(names, "\n  "))
	}
	for _, s := range sections {
		if !only(s.String()) {
			continue
		}
		if err := b.section(ctx, s, table); err != nil {
			return err
		}
	}
	if only(coldStart) {
		if err := b.cold(ctx, table); err != nil {
			return err
		}
	}
	if only(memoryOfTexts) {
		if err := b.remembered(ctx, table); err != nil {
			return err
		}
	}
	return errors.Join(b.wrong...)
}

// section measures one section and hands over its tables.
func (b *speculation) section(ctx context.Context, s section, table func(figures.Table) error) error {
	bars := s.bars
	if bars == nil {
		bars = func(way) figures.Bar { return figures.Bar{} }
	}
	var done []*comparison
	add := func(w *workload, one, two way, b1 figures.Bar) error {
		c, err := b.compare(ctx, w, s.setting, one, two, b1)
		done = append(done, c)
		return err
	}
	for _, w := range s.ways {
		if err := add(s.workload, way{}, w, bars(w)); err != nil {
			return err
		}
	}
	if s.rivals {
		for i, name := range fixedDrafters(s.ways) {
			fastest, times := best(slices.DeleteFunc(fixedOnes(done),
				func(c *comparison) bool { return c.two.drafter != name }))
			if fastest == nil {
				continue // nothing was measured
			}
			rival := way{}
			if times > 1 {
				rival = fastest.two
			}
			two := way{drafter: name, depth: adaptive, rollback: rival.rollback, rule: rival.rule}
			if err := add(s.half(1), rival, two, adaptiveBar); err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			for _, m := range s.more {
				m.drafter = name
				for _, m.depth = range []int{fastest.two.depth, adaptive} {
					if m.exact {
						m.depth = min(m.depth, engine.MaxExactDepth)
					}
					if err := add(s.workload, way{}, m, figures.Bar{}); err != nil {
						return err
					}
				}
			}
		}
		if c, times := best(fixedOnes(done)); c != nil && len(fixedDrafters(s.ways)) > 1 {
			rival := way{}
			if times > 1 {
				rival = c.two
			}
			two := way{drafter: engine.Auto, depth: adaptive, rollback: rival.rollback,
				rule: rival.rule}
			if err := add(s.half(1), rival, two, adaptiveBar); err != nil {
				return err
			}
		}
	}
	if err := table(b.ratios(s, done)); err != nil {
		return err
	}
	costs, err := b.breakdown(ctx, s, done)
	if err != nil || costs == nil {
		return err
	}
	return table(*costs)
}

// fixedOnes returns the comparisons of fixed depths with plain decoding, of all drafters.
func fixedOnes(all []*comparison) []*comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c *comparison) bool {
		return c.one != way{} || c.two.depth == adaptive || c.two.fused || c.two.exact
	})
}

// fixedDrafters returns the drafters that have a way of fixed depth.
func fixedDrafters(ways []way) []string {
	var names []string
	for _, w := range ways {
		if w.drafter != "" && w.depth != adaptive && !slices.Contains(names, w.drafter) {
			names = append(names, w.drafter)
		}
	}
	return names
}

// ratios returns the table of a section's comparisons. It keeps an error for each that differs from
// plain decoding.
func (b *speculation) ratios(s section, done []*comparison) figures.Table {
	h := b.header()
	t := figures.Table{
		Title: fmt.Sprintf("%s (%s)", s, s.doc),
		Columns: []string{
			"drafter", "block", "rollback", "rule", "against", "times as fast", "low", "high",
			"end to end", "tokens/verify", "needed",
			"drafts/round", "syncs/round", "same ids", "same first 64", "pairs", "prompts",
			"not counted", "at least",
		},
		Notes: []string{
			fmt.Sprintf("both sides: one process, %s, %d threads, %s", h.DType, h.Threads, h.BLAS),
			fmt.Sprintf("needed: the tokens that make a round with drafts, at its cost here, %.2f times as fast as plain decoding",
				s.target()),
		},
	}
	for _, c := range done {
		t.Rows = append(t.Rows, c.row(s.target()))
		t.Notes = slices.Concat(t.Notes, c.excused, c.wrong)
		if n := len(c.wrong); n > 0 {
			b.wrong = append(b.wrong,
				fmt.Errorf("%s: %d answers of %s against %s differ from plain decoding",
					s, n, c.two, c.one))
		}
	}
	return t
}

// row returns a comparison's row in the table of ratios.
func (c *comparison) row(target float64) []any {
	ratio, whole, f := c.ratio(), c.whole(), c.figures()
	against := c.one.String()
	if c.one.drafter != "" {
		if against = "block " + c.one.block(); c.one.drafter != c.two.drafter {
			against = c.one.drafter + ", " + against
		}
	}
	row := []any{cmp.Or(c.two.drafter, engine.None), c.two.block(),
		string(cmp.Or(c.two.rollback, engine.Trim)), string(cmp.Or(c.two.rule, engine.Coupled)),
		against}
	if len(c.pairs) == 0 {
		row = append(row, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	} else {
		var needed any // not known if the first side drafts: its steps are rounds
		if c.one.drafter == "" {
			needed = figures.OrDash(target * f.round / f.step)
		}
		row = append(row, ratio.Median, ratio.Low, ratio.High, whole.Median, figures.OrDash(f.tokens),
			needed, f.drafts, f.syncs,
			fmt.Sprintf("%d/%d",
				c.count(func(p pair) bool { return slices.Equal(p.one.ids, p.two.ids) }),
				len(c.pairs)),
			fmt.Sprintf("%d/%d",
				c.count(func(p pair) bool { return slices.Equal(head(p.one.ids), head(p.two.ids)) }),
				len(c.pairs)))
	}
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(c.rejected)) {
		why = append(why, fmt.Sprintf("%d %s", c.rejected[reason], reason))
	}
	return append(row, len(c.pairs), ratio.Prompts, cmp.Or(strings.Join(why, ", "), "0"),
		c.verdict())
}

// head returns the first 64 ids.
func head(ids []int32) []int32 { return ids[:min(len(ids), 64)] }

// A roundFigures holds figures of the rounds of a comparison's second side. Times are milliseconds.
type roundFigures struct {
	tokens float64 // emitted by a round with drafts, 0 if there was none
	drafts float64 // of a round, plain ones included
	syncs  float64 // of a round
	step   float64 // of plain decoding

	// Of rounds with drafts, from the beginning until the caches hold the accepted tokens; 0 if
	// there was none.
	round   float64
	first   float64 // the mean of the first eight of each answer
	longest float64

	// Of all rounds, plain ones too.
	wait  float64 // for the device
	host  float64 // building graphs, and from a read to the next dispatch; time in C too, unless that is timed
	inMLX float64 // the rest
}

// figures sums up the rounds. step is that of the first side, if it decodes plainly.
func (c *comparison) figures() roundFigures {
	var decode, host, wait, step, early time.Duration
	var blocks engine.Blocks
	var steps, rounds, drafted, syncs, earlyBlocks int
	for _, p := range c.pairs {
		step += p.one.stats.Decode
		steps += len(p.one.ids) - 1
		st := p.two.stats
		decode += st.Decode
		host += st.Host + st.Build
		wait += st.Wait
		rounds += st.Rounds
		syncs += st.Syncs
		drafted += st.Drafted
		blocks.Add(st.Blocks)
		early += st.Blocks.First8()
		earlyBlocks += min(1, st.Blocks.Count)
	}
	var f roundFigures
	if rounds == 0 || steps == 0 {
		return f
	}
	f.drafts, f.syncs = float64(drafted)/float64(rounds), float64(syncs)/float64(rounds)
	f.step = figures.Milliseconds(step) / float64(steps)
	f.host, f.wait = figures.Milliseconds(host)/float64(rounds), figures.Milliseconds(wait)/float64(rounds)
	f.inMLX = figures.Milliseconds(decode-host-wait) / float64(rounds)
	if blocks.Count > 0 {
		f.tokens = blocks.MeanTokens()
		f.round, f.longest = figures.Milliseconds(blocks.Mean()), figures.Milliseconds(blocks.Max)
		f.first = figures.Milliseconds(early) / float64(earlyBlocks)
	}
	return f
}

// cold compares the first 1,000 tokens of a new engine to plain decoding of them, on text where
// drafts fail.
func (b *speculation) cold(ctx context.Context, table func(figures.Table) error) error {
	w, set := b.texts.noise, setting{}
	two := b.adaptives()[len(b.adaptives())-1]
	c := &comparison{setting: set, two: two, bar: shuffledBar, rejected: map[string]int{}}
	plain := b.open(way{})
	defer plain.Close()
	run := func(n int) error {
		cold := b.open(two)
		defer cold.Close()
		var p pair
		for i := range coldRequests {
			at := (n*coldRequests + i) % len(w.prompts)
			one, err := plain.answer(ctx, w, at, set)
			if err != nil {
				return err
			}
			other, err := cold.answer(ctx, w, at, set)
			if err != nil {
				return err
			}
			if err := b.check(ctx, w, set, at, c, one, other); err != nil {
				return err
			}
			p.one.add(one)
			p.two.add(other)
		}
		p.index = n * coldRequests % len(w.prompts)
		c.pairs = append(c.pairs, p)
		fmt.Fprintf(b.log, "\rcold start %d ", len(c.pairs))
		return nil
	}
	for n := 0; c.needsPairs(b.coldRuns, b.once); n++ {
		if err := run(n); err != nil {
			return err
		}
	}
	fmt.Fprintln(b.log)
	t := b.ratios(section{workload: w, setting: set}, []*comparison{c})
	t.Title = fmt.Sprintf(coldStart+": the first %d tokens of an engine that has learned nothing, %s",
		coldRequests*w.limit, w.name)
	t.Notes = append(t.Notes, fmt.Sprintf("a pair is %d answers by each side", coldRequests))
	return table(t)
}

// add appends another response, as if both were one.
func (a *response) add(o response) {
	a.ids = append(a.ids, o.ids...)
	s, n := &a.stats, o.stats
	s.PromptTokens += n.PromptTokens
	s.Rounds += n.Rounds
	s.Syncs += n.Syncs
	s.Drafted += n.Drafted
	s.Accepted += n.Accepted
	s.Depths = append(s.Depths, n.Depths...)
	s.Decode += n.Decode
	s.Total += n.Total
	s.Host += n.Host
	s.Build += n.Build
	s.Wait += n.Wait
	s.Blocks.Add(n.Blocks)
}
