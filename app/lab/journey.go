package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/drafters"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/restore"
	"tandem/models"
)

// journeyPrompts is how many prompts a journey measures. Forwarding whole texts takes long.
const journeyPrompts = 8

// A journey measures the stages on the way from a forward of the whole text for each token to
// drafts of adaptive depth. All stages answer each prompt in turns. A second table shows what each
// reading of a drafter's checkpoint accepts.
type journey struct {
	bench.Contest
	name    string // of the model
	bundle  *models.Bundle
	loaded  *bench.Drafters
	texts   bench.Workloads
	prompts int

	answered []int // prompts that count, and the plain answers to them
	plain    []bench.Response
}

// A stage is one way of answering, and its answers by prompt.
type stage struct {
	name    string
	side    *bench.Side // nil: every token forwards the whole text
	answers []bench.Response
}

type journeyOptions struct {
	bench.DraftOptions
	retrieval Retrieval
	quick     bool
}

// Flags implements Options.
func (o *journeyOptions) Flags(f *pflag.FlagSet) {
	o.DraftOptions.Flags(f)
	orRetrieval(f)
	bench.QuickFlag(f, &o.quick)
}

// Open implements Options.
func (o *journeyOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	return openJourney(ctx, *o, e.Err)
}

func openJourney(ctx context.Context, o journeyOptions, log io.Writer) (*journey, error) {
	dir, err := o.retrieval.folder(o.Model)
	if err != nil {
		return nil, err
	}
	t, b, err := bench.OpenModel(ctx, dir, models.Options{})
	if err != nil {
		return nil, err
	}
	j := &journey{Contest: bench.Contest{Thread: t, Model: b.Model, Log: log}, name: bench.ModelName(dir),
		bundle: b, prompts: journeyPrompts}
	j.loaded, err = bench.LoadDrafters(ctx, b, dir, o.Drafters, models.Options{})
	if err == nil {
		j.texts, err = bench.NewWorkloads(b.Tokenizer)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	j.Drafters = j.loaded.List
	j.Engines = func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
		return engine.New(t, m, b.Tokenizer, engine.Options{Drafters: drafters})
	}
	j.texts.Code.Limit, j.texts.Edit.Limit = bench.CodeAnswer, bench.CodeAnswer
	if o.quick {
		j.prompts, j.texts.Code.Limit, j.texts.Edit.Limit = 2, 2*bench.MinAnswer, 2*bench.MinAnswer
	}
	return j, nil
}

func (j *journey) Header() figures.Header {
	return bench.NewHeader(j.bundle.Model.Config().Dtype.String())
}

func (j *journey) Close() error {
	var err error
	if j.loaded != nil {
		err = j.loaded.Close()
	}
	return errors.Join(err, j.bundle.Close(), j.Thread.Close())
}

func (j *journey) Report(ctx context.Context, table func(figures.Table) error) error {
	w := j.texts.Code
	if len(j.loaded.Loaded) == 0 {
		w = j.texts.Edit // the n-gram drafter guesses what the text said before
	}
	stages := j.stages()
	defer func() {
		for _, s := range stages[1:] {
			s.side.Close()
		}
	}()
	dropped, err := j.measure(ctx, w, stages)
	if err != nil {
		return err
	}
	if err := table(j.table(w, stages, dropped)); err != nil {
		return err
	}
	return j.ablations(ctx, table)
}

// stages returns the stages in their order, before any measurement.
func (j *journey) stages() []*stage {
	d := j.Drafters[0]
	stages := []*stage{{name: "re-forward"}, {name: "incremental", side: j.Open(bench.Way{})}}
	add := func(name string, w bench.Way) {
		stages = append(stages, &stage{name: name, side: j.Open(w)})
	}
	var depths []int
	for _, rows := range []int{4, 8} {
		depth := min(rows-1, d.MaxDrafts())
		if slices.Contains(depths, depth) {
			continue // a drafter of few tokens has no longer block
		}
		depths = append(depths, depth)
		for _, rollback := range []engine.Rollback{engine.Undo, engine.Trim} {
			w := bench.Way{Drafter: d.Name(), Depth: depth, Rollback: rollback}
			add(fmt.Sprintf("%s, block %s, %s", d.Name(), w.Block(), rollback), w)
		}
	}
	add("adaptive depth", bench.Way{Drafter: d.Name(), Depth: bench.Adaptive})
	return stages
}

// measure lets all stages answer prompts in turns, until enough answers count. It returns how many
// prompts do not count. The first prompt is answered once unmeasured.
func (j *journey) measure(ctx context.Context, w *bench.Workload, stages []*stage) (dropped int, err error) {
	set := bench.Setting{}
	for _, i := range w.Picks {
		if len(j.answered) == j.prompts {
			break
		}
		plain, err := j.Answer(ctx, stages[1].side, w, i, set)
		if err != nil {
			return dropped, err
		}
		if plain.Reject() != "" {
			dropped++
			continue
		}
		j.answered = append(j.answered, i)
		for _, s := range stages {
			fmt.Fprintf(j.Log, "\rjourney: prompt %d of %d, %-40s", len(j.answered), j.prompts, s.name)
			times := 1
			if len(j.answered) == 1 {
				times = 2
			}
			var a bench.Response
			for range times {
				if s.side == nil {
					a, err = j.forwardAgain(ctx, w.Prompts[i].IDs, len(plain.IDs))
				} else {
					a, err = j.Answer(ctx, s.side, w, i, set)
				}
				if err != nil {
					return dropped, fmt.Errorf("%s: %w", s.name, err)
				}
			}
			s.answers = append(s.answers, a)
		}
	}
	j.plain = stages[1].answers
	fmt.Fprintln(j.Log)
	if len(j.plain) == 0 {
		return dropped, errors.New("no answer is long enough: give another model")
	}
	return dropped, nil
}

// forwardAgain answers greedily with n tokens. Every token forwards the whole text into new caches.
func (j *journey) forwardAgain(ctx context.Context, prompt []int32, n int) (a bench.Response, err error) {
	text := slices.Clone(prompt)
	start, syncs := time.Now(), j.Thread.Syncs()
	for len(a.IDs) < n {
		caches, logits, err := restore.Prefill(ctx, j.Thread, j.Model, text, 0, cache.Options{})
		if err != nil {
			return a, err
		}
		restore.Release(j.Thread, caches)
		if len(a.IDs) == 0 {
			a.Stats.FirstToken = time.Since(start)
		}
		next := likeliestOf(logits)
		a.IDs, text = append(a.IDs, next), append(text, next)
	}
	a.Stats.Total = time.Since(start)
	a.Stats.Decode = a.Stats.Total - a.Stats.FirstToken
	a.Stats.Syncs = int(j.Thread.Syncs() - syncs)
	return a, nil
}

// table shows the stages beside the incremental one.
func (j *journey) table(w *bench.Workload, stages []*stage, dropped int) figures.Table {
	h := j.Header()
	plain := stages[1]
	t := figures.Table{
		Title: "journey: " + w.Name + " (" + w.Doc + ")",
		Columns: []string{"stage", "tokens/s", "times incremental", "low", "high", "end to end",
			"tokens/verify", "syncs/token", "same ids"},
		Notes: []string{
			fmt.Sprintf("conditions: %s, %s, %d threads, %s; greedy, answers end by themselves or at %d tokens",
				j.name, h.DType, h.Threads, h.BLAS, w.Limit),
			fmt.Sprintf("%d prompts in turns, %d left out (short or looping); rates are medians of decoding alone",
				len(plain.answers), dropped),
			bounded95(len(plain.answers)),
		},
	}
	for _, s := range stages {
		c := &bench.Comparison{}
		var rates []float64
		var blocks engine.Blocks
		var tokens, syncs int
		for i, a := range s.answers {
			c.Pairs = append(c.Pairs, bench.Pair{Index: i, One: plain.answers[i], Two: a})
			rates = append(rates, a.Rate())
			blocks.Add(a.Stats.Blocks)
			tokens += len(a.IDs)
			syncs += a.Stats.Syncs
		}
		ratio := c.Ratio()
		same := c.Count(func(p bench.Pair) bool { return slices.Equal(p.One.IDs, p.Two.IDs) })
		t.Rows = append(t.Rows, []any{s.name, figures.Median(rates), ratio.Median, ratio.Low, ratio.High,
			c.Whole().Median, figures.OrDash(blocks.MeanTokens()), float64(syncs) / float64(tokens),
			fmt.Sprintf("%d/%d", same, len(s.answers))})
	}
	return t
}

// bounded95 says what low and high are, for a number of prompts.
func bounded95(prompts int) string {
	if prompts < 6 { // the range from the worst to the best holds the median less surely
		return fmt.Sprintf("low and high bound the median with less than 95 %%, as %d prompts are too few",
			prompts)
	}
	return "low and high bound the median with 95 %, by the prompts"
}

// ablations reports a table for each drafter whose checkpoint can be read in several ways.
func (j *journey) ablations(ctx context.Context, table func(figures.Table) error) error {
	for _, d := range j.loaded.Loaded {
		if len(d.Variants()) < 2 {
			continue
		}
		t, err := j.ablate(ctx, d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Source(), err)
		}
		if err := table(t); err != nil {
			return err
		}
	}
	return nil
}

// ablate returns the table of one drafter.
func (j *journey) ablate(ctx context.Context, d *drafters.Drafter) (figures.Table, error) {
	t := figures.Table{
		Title: fmt.Sprintf("accepted length by reading: %s, blocks of %d", d.Source(), d.MaxDrafts()+1),
		Columns: []string{"embedding", "sliding layers", "tokens/verify", "of the default's", "blocks",
			"same ids"},
		Notes: []string{"the answers and conditions of the stages; all drafts of a block are made; " +
			"the first reading is the default"},
	}
	sets := d.Variants()
	readings, err := j.readings(ctx, d, sets)
	for k, r := range readings {
		direction := any(string(sets[k].Sliding))
		if sets[k].Sliding == "" {
			direction = nil
		}
		t.Rows = append(t.Rows, []any{string(sets[k].Embedding), direction, r.blocks.MeanTokens(),
			fmt.Sprintf("%.0f %%", 100*r.blocks.MeanTokens()/readings[0].blocks.MeanTokens()), r.blocks.Count,
			fmt.Sprintf("%d/%d", r.same, len(j.answered))})
	}
	return t, err
}

// A reading sums up what a drafter did under one reading of its checkpoint.
type reading struct {
	blocks engine.Blocks
	same   int // answers that equal plain decoding's
}

// readings answers the prompts of the stages with a drafter, under each of its settings in turns.
func (j *journey) readings(ctx context.Context, d *drafters.Drafter,
	sets []models.DrafterSettings) ([]reading, error) {
	alone := j.Contest
	alone.Drafters = []draft.Drafter{d.Drafter}
	side := alone.Open(bench.Way{Drafter: d.Name(), Depth: d.MaxDrafts()})
	defer side.Close()
	all := make([]reading, len(sets))
	for n, i := range j.answered {
		for k, set := range sets {
			if err := d.UseVariant(ctx, set); err != nil {
				return nil, err
			}
			fmt.Fprintf(j.Log, "\rreadings: prompt %d of %d ", n+1, len(j.answered))
			a, err := j.Answer(ctx, side, j.texts.Code, i, bench.Setting{})
			if err != nil {
				return nil, err
			}
			all[k].blocks.Add(a.Stats.Blocks)
			if slices.Equal(a.IDs, j.plain[n].IDs) {
				all[k].same++
			}
		}
	}
	fmt.Fprintln(j.Log)
	return all, nil
}
