package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// journeyPrompts is how many prompts a journey measures. Forwarding whole texts takes long.
const journeyPrompts = 8

// A journey measures the stages on the way from a forward of the whole text for each token to
// drafts of adaptive depth. All stages answer each prompt in turns. A second table tells what each
// reading of a drafter's checkpoint accepts.
type journey struct {
	contest
	options Options
	bundle  *models.Bundle
	loaded  *benchDrafters
	texts   workloads
	prompts int

	answered []int // prompts that count, and the plain answers to them
	plain    []response
}

// A stage is one way of answering, and its answers by prompt.
type stage struct {
	name    string
	side    *side // nil: every token forwards the whole text
	answers []response
}

func openJourney(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	j := &journey{contest: contest{thread: t, model: b.Model, log: o.Err}, options: o, bundle: b,
		prompts: journeyPrompts}
	if j.loaded, err = loadBenchDrafters(ctx, b, o.Model, o.Drafters, models.Options{}); err == nil {
		j.texts, err = newWorkloads(b.Tokenizer)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	j.drafts = j.loaded.list
	j.engines = func(m lm.Model, drafters []draft.Drafter) *engine.Engine {
		return engine.New(t, m, b.Tokenizer, engine.Options{Drafters: drafters})
	}
	j.texts.code.limit, j.texts.edit.limit = codeAnswer, codeAnswer
	if o.Quick {
		j.prompts, j.texts.code.limit, j.texts.edit.limit = 2, 2*minAnswer, 2*minAnswer
	}
	return j, nil
}

func (j *journey) header() benchHeader {
	h := newBenchHeader()
	h.DType = j.bundle.Model.Config().Dtype.String()
	return h
}

func (j *journey) Close() error {
	var err error
	if j.loaded != nil {
		err = j.loaded.Close()
	}
	return errors.Join(err, j.bundle.Close(), j.thread.Close())
}

func (j *journey) report(ctx context.Context, table func(benchTable) error) error {
	w := j.texts.code
	if len(j.loaded.loaded) == 0 {
		w = j.texts.edit // the n-gram drafter guesses what the text said before
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

// stages returns the stages in their order, nothing measured yet.
func (j *journey) stages() []*stage {
	d := j.drafts[0]
	stages := []*stage{{name: "re-forward"}, {name: "incremental", side: j.open(way{})}}
	add := func(name string, w way) {
		stages = append(stages, &stage{name: name, side: j.open(w)})
	}
	for _, rows := range []int{4, 8} {
		for _, rollback := range []engine.Rollback{engine.Undo, engine.Trim} {
			w := way{drafter: d.Name(), depth: min(rows-1, d.MaxDrafts()), rollback: rollback}
			add(fmt.Sprintf("%s, block %s, %s", d.Name(), w.block(), rollback), w)
		}
	}
	add("adaptive depth", way{drafter: d.Name(), depth: adaptive})
	return stages
}

// measure lets all stages answer prompts in turns, until enough answers count. It returns how many
// prompts do not count. The first prompt is answered once unmeasured.
func (j *journey) measure(ctx context.Context, w *workload, stages []*stage) (dropped int, err error) {
	set := setting{}
	for _, i := range w.picks {
		if len(j.answered) == j.prompts {
			break
		}
		plain, err := j.answer(ctx, stages[1].side, w, i, set)
		if err != nil {
			return dropped, err
		}
		if plain.reject() != "" {
			dropped++
			continue
		}
		j.answered = append(j.answered, i)
		for _, s := range stages {
			fmt.Fprintf(j.log, "\rjourney: prompt %d of %d, %-40s", len(j.answered), j.prompts, s.name)
			times := 1
			if len(j.answered) == 1 {
				times = 2
			}
			var a response
			for range times {
				if s.side == nil {
					a, err = j.forwardAgain(ctx, w.prompts[i].ids, len(plain.ids))
				} else {
					a, err = j.answer(ctx, s.side, w, i, set)
				}
				if err != nil {
					return dropped, fmt.Errorf("%s: %w", s.name, err)
				}
			}
			s.answers = append(s.answers, a)
		}
	}
	j.plain = stages[1].answers
	fmt.Fprintln(j.log)
	if len(j.plain) == 0 {
		return dropped, errors.New("no answer is long enough: give another model")
	}
	return dropped, nil
}

// forwardAgain answers greedily with n tokens. Every token forwards the whole text into new caches.
func (j *journey) forwardAgain(ctx context.Context, prompt []int32, n int) (a response, err error) {
	text := slices.Clone(prompt)
	start := time.Now()
	for len(a.ids) < n {
		var next int32
		err := j.thread.Do(ctx, func(s *mlx.Scope) error {
			caches := cache.Stack(j.model.NewCaches(cache.Options{}))
			defer func() { caches.Free(s) }()
			var last *mlx.Array
			for at := 0; at < len(text); at += cache.MaxChunk {
				rows := text[at:min(at+cache.MaxChunk, len(text))]
				out := j.model.Forward(s, lm.Batch{{Tokens: mlx.New(s, rows, len(rows)),
					N: len(rows), Pos: at, Caches: caches}}, nil)
				last = s.Slice(out.Hidden, 0, len(rows)-1, len(rows))
			}
			token := s.AsType(s.Argmax(j.model.Unembed(s, last), -1), mlx.Int32)
			if err := s.Eval(append(caches.Arrays(), token)...); err != nil {
				return err
			}
			ids, err := mlx.Read[int32](s, token)
			if err == nil {
				next = ids[0]
			}
			return err
		})
		if err != nil {
			return a, err
		}
		if len(a.ids) == 0 {
			a.stats.FirstToken = time.Since(start)
		}
		a.ids, text = append(a.ids, next), append(text, next)
	}
	a.stats.Total = time.Since(start)
	a.stats.Decode = a.stats.Total - a.stats.FirstToken
	a.stats.Syncs = n
	return a, nil
}

// table shows the stages beside the incremental one.
func (j *journey) table(w *workload, stages []*stage, dropped int) benchTable {
	h := j.header()
	plain := stages[1]
	t := benchTable{
		Title: "journey: " + w.name + " (" + w.doc + ")",
		Columns: []string{"stage", "tokens/s", "times incremental", "low", "high", "end to end",
			"tokens/verify", "syncs/token", "same ids"},
		Notes: []string{
			fmt.Sprintf("conditions: %s, %s, %d threads, %s; greedy, at most %d tokens, natural stop",
				benchModelName(j.options.Model), h.DType, h.Threads, h.BLAS, w.limit),
			fmt.Sprintf("%d prompts in turns, %d left out (short or looping); rates are medians of decoding alone",
				len(plain.answers), dropped),
		},
	}
	for _, s := range stages {
		c := &comparison{}
		var rates []float64
		var blocks engine.Blocks
		var tokens, syncs int
		for i, a := range s.answers {
			c.pairs = append(c.pairs, pair{index: i, one: plain.answers[i], two: a})
			rates = append(rates, a.rate())
			blocks.Add(a.stats.Blocks)
			tokens += len(a.ids)
			syncs += a.stats.Syncs
		}
		ratio := c.ratio()
		var each any
		if blocks.Count > 0 {
			each = float64(blocks.Tokens) / float64(blocks.Count)
		}
		same := c.count(func(p pair) bool { return slices.Equal(p.one.ids, p.two.ids) })
		t.Rows = append(t.Rows, []any{s.name, middle(rates), ratio.median, ratio.low, ratio.high,
			c.whole().median, each, float64(syncs) / float64(tokens),
			fmt.Sprintf("%d/%d", same, len(s.answers))})
	}
	return t
}

// ablations hands over a table for each drafter whose checkpoint can be read in several ways.
func (j *journey) ablations(ctx context.Context, table func(benchTable) error) error {
	dirs := j.options.Drafters
	if len(dirs) == 0 && j.options.Model == "" && models.HasPocketDrafter() {
		dirs = []string{models.PocketDrafter, models.PocketSlidingDrafter}
	} else if dir := pool.DrafterBeside(j.options.Model); len(dirs) == 0 && dir != "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		if err := j.ablate(ctx, dir, table); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// ablate hands over the table of one drafter, if its checkpoint can be read in several ways.
func (j *journey) ablate(ctx context.Context, dir string,
	table func(benchTable) error) (err error) {
	var d *models.Drafter
	if j.options.Model == "" && (dir == models.PocketDrafter || dir == models.PocketSlidingDrafter) {
		d, err = models.LoadPocketDrafter(ctx, j.bundle, dir, models.Options{})
	} else {
		d, err = models.LoadDrafter(ctx, j.bundle, dir, models.DrafterSettings{}, models.Options{})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.Block == nil {
		return nil // a whole model has one reading
	}
	variants := d.Block.Variants()
	if len(variants) == 1 {
		return nil
	}
	readings, err := j.readings(ctx, d, variants)
	if err != nil {
		return err
	}
	t := benchTable{
		Title: fmt.Sprintf("accepted length by reading: %s, blocks of %d", dir, d.Block.BlockSize()),
		Columns: []string{"embedding", "sliding layers", "tokens/verify", "of the default's", "blocks",
			"same ids"},
		Notes: []string{"the answers and conditions of the stages; all drafts of a block are made; " +
			"the first reading is the default"},
	}
	for k, r := range readings {
		direction := any(string(variants[k].Sliding))
		if variants[k].Sliding == "" {
			direction = nil
		}
		t.Rows = append(t.Rows, []any{string(variants[k].Embedding), direction, r.each(),
			fmt.Sprintf("%.0f %%", 100*r.each()/readings[0].each()), r.blocks.Count,
			fmt.Sprintf("%d/%d", r.same, len(j.answered))})
	}
	return table(t)
}

// A reading sums up what a drafter did under one reading of its checkpoint.
type reading struct {
	blocks engine.Blocks
	same   int // answers that equal plain decoding's
}

// each returns how many tokens a verify gave.
func (r reading) each() float64 { return float64(r.blocks.Tokens) / float64(max(r.blocks.Count, 1)) }

// readings answers the prompts of the stages with a drafter, under each of its settings in turns.
func (j *journey) readings(ctx context.Context, d *models.Drafter,
	variants []models.DrafterSettings) ([]reading, error) {
	var flash *draft.DFlash
	if err := j.thread.Do(ctx, func(s *mlx.Scope) error {
		flash = draft.NewDFlash(s, d.Block, j.model)
		return s.Err()
	}); err != nil {
		return nil, err
	}
	others := *j
	others.drafts = []draft.Drafter{flash}
	side := others.open(way{drafter: flash.Name(), depth: flash.MaxDrafts()})
	defer func() {
		side.Close()
		j.thread.Do(context.Background(), func(*mlx.Scope) error { flash.Free(); return nil })
	}()
	all := make([]reading, len(variants))
	for n, i := range j.answered {
		for k, set := range variants {
			block, err := d.Block.With(set)
			if err != nil {
				return nil, err
			}
			if err := j.thread.Do(ctx, func(*mlx.Scope) error { flash.Use(block); return nil }); err != nil {
				return nil, err
			}
			fmt.Fprintf(j.log, "\rreadings: prompt %d of %d ", n+1, len(j.answered))
			a, err := j.answer(ctx, side, j.texts.code, i, setting{})
			if err != nil {
				return nil, err
			}
			all[k].blocks.Add(a.stats.Blocks)
			if slices.Equal(a.ids, j.plain[n].ids) {
				all[k].same++
			}
		}
	}
	fmt.Fprintln(j.log)
	return all, nil
}
