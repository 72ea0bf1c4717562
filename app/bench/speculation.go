package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

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
// With --full it measures every combination instead.
type speculation struct {
	Contest
	options  speculationOptions
	bundle   *models.Bundle
	loaded   *Drafters
	texts    Workloads
	first    []int32 // ids of a plain answer
	coldRuns int
	wrong    []error // rows whose texts differ
}

type speculationOptions struct {
	DraftOptions
	pairs int // of a comparison, at least; 0 = figures.MinPairs
	quick bool
	full  bool
	only  string // the tables whose name contains it
}

// Flags implements Options.
func (o *speculationOptions) Flags(f *pflag.FlagSet) {
	o.DraftOptions.Flags(f)
	pairsFlag(f, &o.pairs)
	QuickFlag(f, &o.quick)
	f.BoolVar(&o.full, "full", false, "every combination")
	f.StringVar(&o.only, "only", "",
		"only what has this `TEXT` where a table's title begins, such as code, edit or cold start")
}

// Open implements Options.
func (o *speculationOptions) Open(ctx context.Context, e Env) (Opened, error) {
	return openSpeculation(ctx, *o, e.Err)
}

func openSpeculation(ctx context.Context, o speculationOptions,
	log io.Writer) (*speculation, error) {
	t, b, err := OpenModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	s := &speculation{Contest: Contest{Thread: t}, options: o, bundle: b, coldRuns: figures.MinPairs}
	if s.loaded, err = LoadDrafters(ctx, b, o.Model, o.Drafters,
		models.Options{}); err == nil {
		s.texts, err = NewWorkloads(b.Tokenizer)
	}
	if err == nil && o.Model != "" { // the pocket model completes code and knows nothing
		s.texts.chatCode, s.texts.chatProse, err = newChats(ctx, b)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Contest = Contest{
		Thread: t, Model: b.Model, Drafters: s.loaded.List, Pairs: figures.MinPairs, warm: 8, Log: log,
		Engines: func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(t, m, b.Tokenizer, engine.Options{Drafters: continued(drafters)})
		},
	}
	if o.quick {
		s.Pairs, s.warm, s.coldRuns, s.Once = 2, 1, 1, true
		again, dictated := s.texts.again, s.texts.dictatedAgain
		for _, w := range []*Workload{s.texts.Code, s.texts.Edit, s.texts.copied, s.texts.noise,
			s.texts.after, again.first, again.second, dictated.first, dictated.second,
			s.texts.chatCode, s.texts.chatProse} {
			if w == nil {
				continue
			}
			w.Picks, w.Limit = w.Picks[:min(len(w.Picks), 6)], min(w.Limit, 24)
			for i, p := range w.Prompts {
				w.Prompts[i].IDs = p.IDs[max(0, len(p.IDs)-quickPrompt):]
			}
		}
	}
	if o.pairs > 0 {
		s.Pairs, s.coldRuns = o.pairs, o.pairs
	}
	plain := s.Contest.Open(Way{})
	long := *s.texts.Code
	long.Limit = 64
	a, err := plain.Answer(ctx, &long, 0, Setting{IgnoreEOS: true})
	plain.Close()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.first = a.IDs
	return s, nil
}

func (b *speculation) Header() figures.Header {
	h := NewHeader(b.bundle.Model.Config().Dtype.String())
	h.Tokens = b.first
	return h
}

func (b *speculation) Close() error {
	return errors.Join(b.loaded.Close(), b.bundle.Close(), b.Thread.Close())
}

// Report measures section by section. It returns an error if answers that must be equal differ.
func (b *speculation) Report(ctx context.Context, table func(figures.Table) error) error {
	only := func(name string) bool { return strings.Contains(name, b.options.only) }
	sections := b.sections()
	var names []string
	for _, s := range sections {
		names = append(names, s.String())
	}
	if names = append(names, coldStart, memoryOfTexts); !slices.ContainsFunc(names, only) {
		return fmt.Errorf("no table's name contains %q; there are:\n  %s", b.options.only,
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

// section measures one section and reports its tables.
func (b *speculation) section(ctx context.Context, s section, table func(figures.Table) error) error {
	bars := s.bars
	if bars == nil {
		bars = func(Way) figures.Bar { return figures.Bar{} }
	}
	var done []*Comparison
	add := func(w *Workload, one, two Way, b1 figures.Bar) error {
		c, err := b.compare(ctx, w, s.Setting, one, two, b1)
		done = append(done, c)
		return err
	}
	for _, w := range s.ways {
		if err := add(s.Workload, Way{}, w, bars(w)); err != nil {
			return err
		}
	}
	if s.rivals {
		for i, name := range fixedDrafters(s.ways) {
			fastest, times := best(slices.DeleteFunc(fixedOnes(done),
				func(c *Comparison) bool { return c.Two.Drafter != name }))
			if fastest == nil {
				continue // nothing was measured
			}
			rival := Way{}
			if times > 1 {
				rival = fastest.Two
			}
			two := Way{Drafter: name, Depth: Adaptive, Rollback: rival.Rollback, Rule: rival.Rule}
			if err := add(s.half(1), rival, two, adaptiveBar); err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			for _, m := range s.more {
				m.Drafter = name
				for _, m.Depth = range []int{fastest.Two.Depth, Adaptive} {
					if m.Exact {
						m.Depth = min(m.Depth, engine.MaxExactDepth)
					}
					if err := add(s.Workload, Way{}, m, figures.Bar{}); err != nil {
						return err
					}
				}
			}
		}
		if c, times := best(fixedOnes(done)); c != nil && len(fixedDrafters(s.ways)) > 1 {
			rival := Way{}
			if times > 1 {
				rival = c.Two
			}
			two := Way{Drafter: engine.Auto, Depth: Adaptive, Rollback: rival.Rollback,
				Rule: rival.Rule}
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
func fixedOnes(all []*Comparison) []*Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c *Comparison) bool {
		return c.One != Way{} || c.Two.Depth == Adaptive || c.Two.Fused || c.Two.Exact
	})
}

// fixedDrafters returns the drafters that have a way of fixed depth.
func fixedDrafters(ways []Way) []string {
	var names []string
	for _, w := range ways {
		if w.Drafter != "" && w.Depth != Adaptive && !slices.Contains(names, w.Drafter) {
			names = append(names, w.Drafter)
		}
	}
	return names
}

// ratios returns the table of a section's comparisons. It keeps an error for each that differs from
// plain decoding.
func (b *speculation) ratios(s section, done []*Comparison) figures.Table {
	h := b.Header()
	t := figures.Table{
		Title: fmt.Sprintf("%s (%s)", s, s.Doc),
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
					s, n, c.Two, c.One))
		}
	}
	return t
}

// row returns a comparison's row in the table of ratios.
func (c *Comparison) row(target float64) []any {
	ratio, whole, f := c.Ratio(), c.Whole(), c.figures()
	against := c.One.String()
	if c.One.Drafter != "" {
		if against = "block " + c.One.Block(); c.One.Drafter != c.Two.Drafter {
			against = c.One.Drafter + ", " + against
		}
	}
	row := []any{cmp.Or(c.Two.Drafter, engine.None), c.Two.Block(),
		string(cmp.Or(c.Two.Rollback, engine.Trim)), string(cmp.Or(c.Two.Rule, engine.Coupled)),
		against}
	if len(c.Pairs) == 0 {
		row = append(row, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	} else {
		var needed any // not known if the first side drafts: its steps are rounds
		if c.One.Drafter == "" {
			needed = figures.OrDash(target * f.round / f.step)
		}
		row = append(row, ratio.Median, ratio.Low, ratio.High, whole.Median, figures.OrDash(f.tokens),
			needed, f.drafts, f.syncs,
			fmt.Sprintf("%d/%d",
				c.Count(func(p Pair) bool { return slices.Equal(p.One.IDs, p.Two.IDs) }),
				len(c.Pairs)),
			fmt.Sprintf("%d/%d",
				c.Count(func(p Pair) bool { return slices.Equal(head(p.One.IDs), head(p.Two.IDs)) }),
				len(c.Pairs)))
	}
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(c.rejected)) {
		why = append(why, fmt.Sprintf("%d %s", c.rejected[reason], reason))
	}
	return append(row, len(c.Pairs), ratio.Prompts, cmp.Or(strings.Join(why, ", "), "0"),
		c.Verdict())
}

// head returns the first 64 ids.
func head(ids []int32) []int32 { return ids[:min(len(ids), 64)] }

// A roundFigures holds figures of the rounds of a comparison's second side. Times are milliseconds.
type roundFigures struct {
	tokens float64 // emitted by a round with drafts, or 0
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

// figures sums up the rounds. step is the first side's, if it decodes plainly.
func (c *Comparison) figures() roundFigures {
	var decode, host, wait, step, early time.Duration
	var blocks engine.Blocks
	var steps, rounds, drafted, syncs, earlyBlocks int
	for _, p := range c.Pairs {
		step += p.One.Stats.Decode
		steps += len(p.One.IDs) - 1
		st := p.Two.Stats
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
	w, set := b.texts.noise, Setting{}
	two := b.adaptives()[len(b.adaptives())-1]
	c := &Comparison{Setting: set, Two: two, Bar: shuffledBar, rejected: map[string]int{}}
	plain := b.Open(Way{})
	defer plain.Close()
	run := func(n int) error {
		cold := b.Open(two)
		defer cold.Close()
		var p Pair
		for i := range coldRequests {
			at := (n*coldRequests + i) % len(w.Prompts)
			one, err := plain.Answer(ctx, w, at, set)
			if err != nil {
				return err
			}
			other, err := cold.Answer(ctx, w, at, set)
			if err != nil {
				return err
			}
			if err := b.check(ctx, w, set, at, c, one, other); err != nil {
				return err
			}
			p.One.add(one)
			p.Two.add(other)
		}
		p.Index = n * coldRequests % len(w.Prompts)
		c.Pairs = append(c.Pairs, p)
		fmt.Fprintf(b.Log, "\rcold start %d ", len(c.Pairs))
		return nil
	}
	for n := 0; c.NeedsPairs(b.coldRuns, b.Once); n++ {
		if err := run(n); err != nil {
			return err
		}
	}
	fmt.Fprintln(b.Log)
	t := b.ratios(section{Workload: w, Setting: set}, []*Comparison{c})
	t.Title = fmt.Sprintf(coldStart+": the first %d tokens of an engine that has learned nothing, %s",
		coldRequests*w.Limit, w.Name)
	t.Notes = append(t.Notes, fmt.Sprintf("a pair is %d answers by each side", coldRequests))
	return table(t)
}

// add appends another response, as if both were one.
func (a *Response) add(o Response) {
	a.IDs = append(a.IDs, o.IDs...)
	s, n := &a.Stats, o.Stats
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
