package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/app/home"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/restore"
)

// What the recall bench asks for unless the options say otherwise.
const (
	recallSamples = 5
	recallTokens  = 32 // of an answer, at most: a code has about ten, and some models say more
)

// A recall bench hides needles in haystacks and asks each arm for them. All arms get the same
// prompts, in turns.
type recall struct {
	*subject
	options recallOptions
	env     bench.Env
	samples int
	tokens  int
	lengths []int // of the table of own rows
	arms    []*recallArm
	now     func() time.Time
}

type recallOptions struct {
	subjectOptions
	samples int    // 0 = recallSamples
	size    string // haystack; empty = ctx70, and ctx280 from saved reports
	long    bool   // ctx280 too
	tokens  int    // of an answer, at most; 0 = recallTokens
}

// Flags implements Options.
func (o *recallOptions) Flags(f *pflag.FlagSet) {
	o.subjectOptions.Flags(f)
	o.drafterFlag(f)
	samplesFlag(f, &o.samples)
	both := errors.New("--size names one haystack and --long adds one to the usual: give one of them")
	f.Func("size", "`SIZE` of the haystack: ctx70 or ctx280 (default: ctx70 now, ctx280 from saved reports)",
		func(size string) error {
			if o.size = size; o.long {
				return both
			}
			return nil
		})
	f.BoolFunc("long", "measure ctx280 too", func(text string) (err error) {
		if o.long, err = strconv.ParseBool(text); o.long && o.size != "" {
			return both
		}
		return err
	})
	f.Func("tokens", "`N` tokens of an answer, at most", bench.Positive(&o.tokens))
}

// Open implements Options.
func (o *recallOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	s, err := openSubject(ctx, o.subjectOptions)
	if err != nil {
		return nil, err
	}
	r, err := newRecall(s, *o, e)
	return gated{r, o.reports}, err
}

// newRecall measures a loaded subject. Its Close closes that.
func newRecall(e *subject, o recallOptions, env bench.Env) (*recall, error) {
	r := &recall{subject: e, options: o, env: env, samples: recallSamples, tokens: recallTokens,
		lengths: []int{1000, 4000, 8000}, now: time.Now}
	if o.quick {
		r.samples, r.lengths = 1, []int{200, 400}
	}
	if o.samples > 0 {
		r.samples = o.samples
	}
	if o.tokens > 0 {
		r.tokens = o.tokens
	}
	var err error
	if r.arms, err = e.arms(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, a := range r.arms {
		if !a.bypass && !a.forced {
			a.engine = e.open(a.model, engine.Options{})
		}
	}
	return r, nil
}

func (r *recall) Close() error {
	for _, a := range r.arms {
		if a.engine != nil {
			a.engine.Close()
		}
	}
	return r.subject.Close()
}

// sizes returns the haystacks to measure now, and those to read from saved reports.
func (r *recall) sizes() (live, saved []haystack, err error) {
	if r.options.size != "" {
		h, err := findHaystack(r.options.size)
		return []haystack{h}, nil, err
	}
	if r.options.long {
		return haystacks, nil, nil
	}
	return haystacks[:1], haystacks[1:], nil
}

func (r *recall) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	live, saved, err := r.sizes()
	if err != nil {
		return err
	}
	for _, h := range live {
		if err := r.measure(ctx, h, table, report); err != nil {
			return err
		}
	}
	for _, h := range saved {
		if err := table(r.saved(h)); err != nil {
			return err
		}
	}
	return r.ownRows(ctx, table)
}

// measure asks all arms for the needles of a length, prompt by prompt.
func (r *recall) measure(ctx context.Context, h haystack, table func(figures.Table) error,
	report reporting) error {
	for _, a := range r.arms {
		a.clear()
	}
	for i, n := range needles(h, r.samples, r.terse) {
		ids, err := r.directPrompt(ctx, n.text)
		if err != nil {
			return err
		}
		for _, a := range r.arms {
			if i == 0 || r.thread.GPU() {
				// Once unmeasured: a GPU compiles kernels for each shape, and memory is taken.
				if _, err := r.answer(ctx, a, ids, n, 2); err != nil {
					return err
				}
			}
			fmt.Fprintf(r.env.Err, "\r%s: prompt %d of %d, %-30s ", h.name, i+1, r.samples,
				a.name)
			s, err := r.answer(ctx, a, ids, n, r.tokens)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			a.add(s)
		}
	}
	fmt.Fprintln(r.env.Err)
	if err := table(r.table(h)); err != nil {
		return err
	}
	for _, a := range r.arms[1:] {
		if a.forced && a.model.bounded == nil {
			continue // the oracle of the other teacher-forced arm
		}
		run := r.run(h, a)
		if err := r.save(h, a, run.Report()); err != nil {
			return err
		}
		if err := report(fmt.Sprintf("%s, %s", h.name, a.name), run); err != nil {
			return err
		}
	}
	return r.controls(ctx, h)
}

// controls returns an error if the identity arm's answers differ from the oracle's. Then the
// machinery of restoration is wrong, for any source.
func (r *recall) controls(ctx context.Context, h haystack) error {
	var wrong []error
	for _, a := range r.arms {
		if a.name != armIdentity && a.name != exactLayers+armIdentity {
			continue
		}
		for i := range a.samples {
			why, err := r.difference(ctx, a, r.arms[0], i)
			if err != nil {
				return err
			}
			if why != "" {
				wrong = append(wrong, fmt.Errorf("%s, %s: sample %d is answered %q, and %q by the oracle: %s",
					h.name, a.name, i, a.samples[i].Text, r.arms[0].samples[i].Text, why))
			}
		}
	}
	return errors.Join(wrong...)
}

// table compares all arms.
func (r *recall) table(h haystack) figures.Table {
	sink, window := r.bounds()
	oracle := r.arms[0]
	t := figures.Table{
		Title: fmt.Sprintf("recall: %s, needles in %d to %d lines, %d to %d tokens", h.name, h.from,
			h.to, slices.Min(prompts(oracle.samples)), slices.Max(prompts(oracle.samples))),
		Columns: []string{"arm", "found", "as oracle", "same tokens", "prefill s", "source alone s",
			"decode s", "e2e s", "exact MB", "own MB", "restored MB", "source MB"},
		Notes: []string{
			r.conditions(),
			fmt.Sprintf("seed %d, greedy, direct answers of at most %d tokens, prompts in chunks; times are medians of samples, bytes are those at the end of the last prompt",
				needleSeed, r.tokens),
			fmt.Sprintf("bounded layers keep %d + %d rows of their own; exact layers of S5: caches %v",
				sink, window, r.exactCaches()),
			"prefill has restoring in it; source alone is the time of the source by itself on the same prompt, in a run of its own",
			"teacher-forced arms measure too little: an answer in other words counts as wrong; older reports count other tokens of the same text as wrong too",
		},
	}
	t.Notes = append(t.Notes, r.blindNote(oracle.samples)...)
	for _, a := range r.arms {
		found, as, same := 0, 0, 0
		for i, s := range a.samples {
			if *s.Correct {
				found++
			}
			if *s.Correct == *oracle.samples[i].Correct {
				as++
			}
			if slices.Equal(a.ids[i], oracle.ids[i]) {
				same++
			}
		}
		var tokens any // teacher-forced answers do not end
		if !a.forced {
			tokens = fmt.Sprintf("%d/%d", same, len(a.samples))
		}
		of := func(n int) string { return fmt.Sprintf("%d/%d", n, len(a.samples)) }
		var asOracle any // both finding nothing is not agreement
		if foundIn(oracle.samples) > 0 {
			asOracle = of(as)
		}
		median := func(of func(i int) time.Duration) float64 {
			var list []float64
			for i := range a.samples {
				list = append(list, of(i).Seconds())
			}
			return figures.Median(list)
		}
		held := a.held[len(a.held)-1]
		t.Rows = append(t.Rows, []any{a.name, of(found), asOracle, tokens,
			median(func(i int) time.Duration { return a.samples[i].Prefill }),
			figures.OrDash(median(func(i int) time.Duration { return a.alone[i] })),
			median(func(i int) time.Duration { return a.samples[i].Decode }),
			median(func(i int) time.Duration { return a.samples[i].Prefill + a.samples[i].Decode }),
			figures.Megabytes(held.Exact), figures.Megabytes(held.Window), figures.Megabytes(held.Restored),
			figures.Megabytes(held.Source)})
	}
	return t
}

// prompts returns the tokens of the samples' prompts.
func prompts(samples []evidence.Sample) (list []int) {
	for _, s := range samples {
		list = append(list, s.Prompt)
	}
	return list
}

// run returns what was measured of an arm, compared with the oracle.
func (r *recall) run(h haystack, a *recallArm) evidence.Run {
	sink, window := r.bounds()
	oracle := r.arms[0]
	if a.forced {
		i := slices.IndexFunc(r.arms, func(o *recallArm) bool { return o.forced })
		oracle = r.arms[i]
	}
	longest := 0
	for i, one := range a.held {
		if one.positions > a.held[longest].positions {
			longest = i
		}
	}
	last := a.held[longest]
	var details []map[string]any
	for i, one := range a.held {
		details = append(details, map[string]any{"positions": one.positions, "own_rows": one.own,
			"evicted_rows": one.evicted, "source_alone_s": a.alone[i].Seconds()})
	}
	run := evidence.Run{
		Kind: evidence.KindRecall, At: r.now(),
		Config: map[string]any{"model": r.name, "size": h.name, "lines": []int{h.from, h.to},
			"seed": needleSeed, "samples": r.samples, "max_new_tokens": r.tokens, "sink_size": sink,
			"window_size": window, "exact_layers": a.exact, "conditions": r.conditions()},
		Cross: &evidence.Arm{Name: a.name, Samples: a.samples, TeacherForced: a.forced,
			RestoredFrom: a.from},
		Oracle: &evidence.Arm{Name: oracle.name, Samples: oracle.samples, TeacherForced: a.forced},
		Bypass: a.bypass, Details: map[string]any{"held_at_end_of_prompt": details},
	}
	if a.model.bounded == nil {
		return run
	}
	exact, bounded := r.formula(a, last.positions, sink+window)
	run.Memory = &evidence.Bytes{Held: *last.evidence(),
		RestoredAs: "rows", RestoredWhere: "banks of the bounded layers and caches of what restores, beside the model's own",
		Full:         oracle.held[longest].Total(),
		FormulaExact: exact, FormulaBounded: bounded, Tokens: last.positions, SinkWindow: sink + window,
		Peak: a.peak}
	return run
}

// formula computes bytes from shapes: exact layers hold every row, bounded ones a fixed number.
// Bounded layers hold slack too, which it leaves out, so it is below what they hold.
func (r *recall) formula(a *recallArm, positions, rows int) (exact, bounded int64) {
	size := r.bundle.Model.Config().Dtype.Size()
	for i, shape := range r.shapes() {
		row := int64(2 * shape.Row() * size)
		switch {
		case slices.Contains(a.model.bounded.Bounded(), i):
			bounded += row * int64(min(positions, rows))
		case shape.Window > 0:
			exact += row * int64(min(positions, shape.Window))
		default:
			exact += row * int64(positions)
		}
	}
	return exact, bounded
}

// reportFile returns the file of an arm's saved report, or "" without a home folder.
func (r *recall) reportFile(h haystack, arm string) string {
	if r.env.Home == "" {
		return ""
	}
	parts := []string{"recall", r.name, r.place, r.bundle.Model.Config().Dtype.String(), h.name, arm}
	return filepath.Join(r.env.Home, "bench", fileName(strings.Join(parts, " "))+".json")
}

// save keeps the report of an arm in the home folder. One with fewer samples or shorter answers than
// usual, and one that the gate refuses, are worth less than what may be there.
func (r *recall) save(h haystack, a *recallArm, report *evidence.Report) error {
	file := r.reportFile(h, a.name)
	little := r.samples < recallSamples || r.tokens < recallTokens
	if file == "" || little || len(evidence.Check(report)) > 0 {
		return nil
	}
	text, err := reportText(report)
	if err != nil {
		return err
	}
	return home.WritePrivate(file, text)
}

// saved shows what was measured of a length before, and when.
func (r *recall) saved(h haystack) figures.Table {
	t := figures.Table{Title: fmt.Sprintf("recall: %s, from saved reports", h.name),
		Columns: []string{"arm", "measured", "as admitted"}}
	var against reasons
	for _, a := range r.arms[1:] {
		saved, err := readReport(r.reportFile(h, a.name))
		switch {
		case err != nil:
			t.Rows = append(t.Rows, []any{a.name, nil, "not admitted"})
			t.Notes = append(t.Notes, err.Error())
		case saved != nil:
			claim := evidence.HeadlineOf(saved).Recall
			against.add("recall of "+a.name, claim)
			t.Rows = append(t.Rows, []any{a.name, saved.MeasuredAt, briefly(claim)})
		}
	}
	t.Notes = append(t.Notes, against.notes()...)
	if len(t.Rows) == 0 {
		t.Notes = []string{fmt.Sprintf(
			"Nothing is saved yet. `tandem-lab bench recall --model %s --size %s` measures it.",
			cmp.Or(r.options.model, starterModel), h.name)}
	}
	return t
}

// ownRows shows what bounded layers hold after texts of several lengths. Own rows do not grow.
func (r *recall) ownRows(ctx context.Context, table func(figures.Table) error) error {
	t := figures.Table{Title: "own rows of bounded layers by length",
		Columns: []string{"arm", "tokens", "attended own rows", "slack", "own MB", "restored MB",
			"source MB", "exact MB", "full caches MB, by formula"},
		Notes: []string{r.conditions(),
			"attended own rows are counted in the mask of the last query, of the layer with the most"}}
	most := r.bundle.Model.Config().ContextLength
	for _, a := range r.arms {
		if a.model.bounded == nil || a.forced || a.name == exactLayers+armIdentity ||
			a.name == armIdentity && r.ftheta != nil {
			continue
		}
		rows, err := r.lengthRows(ctx, a, most)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, rows...)
	}
	return table(t)
}

// lengthRows measures one arm at each length that the context allows.
func (r *recall) lengthRows(ctx context.Context, a *recallArm, most int) (rows [][]any, err error) {
	ids := bench.TokenIDs(slices.Max(r.lengths), r.bundle.Model.Config().VocabSize)
	text := newReading(r.thread, a.model, cache.Options{Rows: len(ids)})
	defer restore.Release(r.thread, text.caches)
	for _, n := range r.lengths {
		if n > most {
			continue
		}
		fmt.Fprintf(r.env.Err, "\r%s: %d tokens %-20s", a.name, n, "")
		if err := text.read(ctx, ids[:n]); err != nil {
			return nil, err
		}
		attended, err := text.attendedOwn(ctx)
		if err != nil {
			return nil, err
		}
		h := a.model.held
		full := int64(0)
		for _, shape := range r.shapes() {
			rows := n
			if shape.Window > 0 {
				rows = min(n, shape.Window)
			}
			full += int64(2*shape.Row()*r.bundle.Model.Config().Dtype.Size()) * int64(rows)
		}
		rows = append(rows, []any{a.name, n, attended, h.own - attended, figures.Megabytes(h.Window),
			figures.Megabytes(h.Restored), figures.Megabytes(h.Source),
			figures.Megabytes(h.Exact), figures.Megabytes(full)})
	}
	fmt.Fprintln(r.env.Err)
	return rows, nil
}
