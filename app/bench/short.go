package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/app/figures"
	"tandem/app/pool"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/models"
)

// A Plan says how much a short bench measures. A part ends when it has all its measurements. It
// also ends when its time is over, but not before it has the minimum.
type Plan struct {
	Pairs, Restores, Turns int // measurements of each part, at most; Pairs is of each drafter
	Fewest                 int // measurements of each, even after its time is over
	Warm                   int // answers before drafts are measured
	Tokens                 int // of a prompt that is restored
	Context                int // tokens before a block that is verified

	Decode          time.Duration // of each drafter, and of looking up text alone
	Restore, Verify time.Duration
}

// Takes returns the longest time that a bench of a model with that many drafters takes.
func (p Plan) Takes(drafters int) time.Duration {
	return time.Duration(min(drafters, MaxDrafters)+1)*p.Decode + p.Restore + p.Verify
}

// Minutes is a plan that takes about one minute for restores and verification, and one for each way
// to draft. It takes longer only if the model is so slow that even the fewest measurements do.
var Minutes = Plan{
	Pairs: 40, Restores: 16, Turns: 15, Fewest: 4, Warm: 8, Tokens: 2048, Context: 512,
	Decode: 50 * time.Second, Restore: 35 * time.Second, Verify: 25 * time.Second,
}

// shortRows are the numbers of tokens whose verification is measured.
var shortRows = []int{1, 2, 4, 8, 16}

// lookEvery is how often a measurement checks whether a request has come.
const lookEvery = 5 * time.Millisecond

// A Short measures a model while it is served, on separate engines that borrow the weights.
// Requests come first: it measures only while none is in flight. When one comes, it discards the
// measurement and repeats it.
type Short struct {
	m        Borrowed
	folder   string // where checkpoint files are written and deleted
	plan     Plan
	progress func(control.BenchProgress)

	part    control.BenchProgress
	until   time.Time     // the end of the part's time
	waited  time.Duration // for requests
	repeats int           // measurements that were repeated
}

// A Borrowed is a served model that a Short measures.
type Borrowed interface {
	Thread() *mlx.Thread
	Bundle() *models.Bundle
	Drafter() *drafters.Drafter // or nil
	Candidates(ctx context.Context) ([]control.DrafterChoice, error)
	BorrowDrafter(ctx context.Context, source string) (*pool.BorrowedDrafter, error)
	Describe() *control.Loaded
	AwaitIdle(ctx context.Context) error // until no request holds any model
	IsQuiet() bool                       // as after AwaitIdle, and the drafter is not being measured
	Watch() (disturbed func() bool)      // whether a request has come since
}

// NewShort returns a bench of a model. Its files are in folder, and it calls progress at each step.
func NewShort(m Borrowed, folder string, plan Plan, progress func(control.BenchProgress)) *Short {
	return &Short{m: m, folder: folder, plan: plan, progress: progress}
}

var _ host = (*Short)(nil)

// errDisturbed ends a measurement in which a request came.
var errDisturbed = errors.New("a request came")

// measureIdle implements host.
func (b *Short) measureIdle(ctx context.Context, measure func(context.Context) error) error {
	for {
		if err := b.waitForIdle(ctx); err != nil {
			return err
		}
		err := b.measureOnce(ctx, measure)
		if !errors.Is(err, errDisturbed) {
			return err
		}
		b.repeats++
	}
}

// waitForIdle waits while requests are in flight, or while a drafter is tried. The wait does not
// count as time of the part.
func (b *Short) waitForIdle(ctx context.Context) error {
	began := time.Now()
	for !b.m.IsQuiet() {
		b.report(true)
		if err := b.m.AwaitIdle(ctx); err != nil {
			return context.Cause(ctx)
		}
		if !b.m.IsQuiet() { // its drafter is tried
			select {
			case <-time.After(drafters.TrialPause):
			case <-ctx.Done():
			}
		}
	}
	if took := time.Since(began); took > lookEvery {
		b.waited += took
		b.until = b.until.Add(took)
		b.report(false)
	}
	return ctx.Err()
}

// measureOnce runs a measurement. The error is errDisturbed if a request came meanwhile.
func (b *Short) measureOnce(ctx context.Context, measure func(context.Context) error) error {
	disturbed := b.m.Watch()
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if disturbed() {
					cancel(errDisturbed)
					return
				}
			case <-done:
				return
			}
		}
	}()
	err := measure(ctx)
	close(done)
	<-watched
	defer cancel(nil)
	switch {
	case context.Cause(ctx) == errDisturbed, ctx.Err() == nil && disturbed():
		return errDisturbed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// begin starts a part, or a drafter's share of one.
func (b *Short) begin(part control.BenchProgress, limit time.Duration) {
	b.part = part
	b.until = time.Now().Add(limit)
	b.report(false)
}

// report calls progress with the current state of the part.
func (b *Short) report(waiting bool) {
	b.part.Waiting = waiting
	b.progress(b.part)
}

// hasTime implements host. It also reports n as the part's progress.
func (b *Short) hasTime(n int) bool {
	if n != b.part.Done {
		b.part.Done = n
		b.report(false)
	}
	return n < b.plan.Fewest || n < b.part.Total && time.Now().Before(b.until)
}

// Run measures part by part. Error: the cause of ctx, or the error of the part that failed.
func (b *Short) Run(ctx context.Context) (r control.BenchResult, err error) {
	began := time.Now()
	shown := b.m.Describe()
	r = control.BenchResult{Device: shown.Device, Dtype: shown.Dtype, MLX: mlx.Version(),
		Drafter: shown.Drafter}
	texts, err := NewWorkloads(b.m.Bundle().Tokenizer)
	if err != nil {
		return r, err
	}
	if r.Drafters, err = b.drafters(ctx, texts.Code); err != nil {
		return r, err
	}
	for _, d := range r.Drafters {
		if d.Served {
			r.Decode = d.Decode
		}
	}
	if r.Restore, err = b.restore(ctx); err != nil {
		return r, err
	}
	if r.Verify, err = b.verify(ctx); err != nil {
		return r, err
	}
	r.Waited, r.Repeats = b.waited.Seconds(), b.repeats
	r.Seconds = (time.Since(began) - b.waited).Seconds()
	return r, nil
}

// spread converts an estimate for clients.
func spread(e figures.Estimate) control.Spread {
	return control.Spread{Median: e.Median, Low: e.Low, High: e.High}
}

// spreadOf estimates independent measurements.
func spreadOf(values []float64) control.Spread { return spread(figures.EstimateEach(values)) }

// restore measures new prompts, which are restored from files and computed.
func (b *Short) restore(ctx context.Context) (r control.BenchRestore, err error) {
	b.begin(control.BenchProgress{Part: "restore", Total: b.plan.Restores}, b.plan.Restore)
	m := b.m
	c := &checkpointBench{thread: m.Thread(), bundle: m.Bundle(),
		random: rand.New(rand.NewPCG(5, uint64(time.Now().UnixNano()))), log: io.Discard}
	r.Tokens = min(b.plan.Tokens, m.Bundle().Model.Config().ContextLength-8)
	off := c.open(engine.Options{})
	defer off.Close()
	var recomputedMS, restoredMS, speedups []float64
	for n := 0; b.hasTime(n); n++ {
		text := c.text(r.Tokens)
		var restored, recomputed Response
		if err := b.measureIdle(ctx, func(ctx context.Context) (err error) {
			if err := os.MkdirAll(b.folder, 0o700); err != nil {
				return err
			}
			// Each prompt has its own folder, so that only one prompt's files are on disk.
			dir, err := os.MkdirTemp(b.folder, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
			if err := c.write(ctx, dir, text); err != nil {
				return err
			}
			if r.Bytes, err = folderBytes(dir); err != nil {
				return err
			}
			restored, recomputed, err = c.restart(ctx, dir, off, text)
			return err
		}); err != nil {
			return r, err
		}
		one, two := recomputed.Stats.FirstToken, restored.Stats.FirstToken
		recomputedMS = append(recomputedMS, figures.Milliseconds(one))
		restoredMS = append(restoredMS, figures.Milliseconds(two))
		speedups = append(speedups, one.Seconds()/two.Seconds())
	}
	r.Recomputed, r.Restored = spreadOf(recomputedMS), spreadOf(restoredMS)
	r.Times, r.Pairs = spreadOf(speedups), len(speedups)
	return r, nil
}

// verify times blocks of several rows, and plain steps, in turns.
func (b *Short) verify(ctx context.Context) (r control.BenchVerify, err error) {
	b.begin(control.BenchProgress{Part: "verify", Total: b.plan.Turns}, b.plan.Verify)
	const steps = 32
	m := b.m
	r.Context = min(b.plan.Context, m.Bundle().Model.Config().ContextLength-max(cache.MaxBlock,
		steps+1))
	var d *roundTimer
	defer func() {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := b.measureIdle(ctx, func(ctx context.Context) (err error) {
		if old := d; old != nil { // of an attempt that a request ended
			d = nil
			if err := old.Close(); err != nil {
				return err
			}
		}
		d, err = newRoundTimer(ctx, m.Thread(), m.Bundle(), nil, r.Context, 0)
		return err
	}); err != nil {
		return r, err
	}
	e := engine.New(m.Thread(), m.Bundle().Model, m.Bundle().Tokenizer, engine.Options{})
	defer e.Close()
	turn := func() (step float64, rows []float64, err error) {
		err = b.measureIdle(ctx, func(ctx context.Context) (err error) {
			rows = nil
			if step, err = d.plain(ctx, e, steps); err != nil {
				return err
			}
			for _, n := range shortRows {
				ms, err := d.verify(ctx, n, 0)
				if err != nil {
					return err
				}
				rows = append(rows, ms)
			}
			return nil
		})
		return step, rows, err
	}
	if _, _, err := turn(); err != nil { // unmeasured: it compiles kernels and takes memory
		return r, err
	}
	var plain []float64
	rows, ratios := make([][]float64, len(shortRows)), make([][]float64, len(shortRows))
	for n := 0; b.hasTime(n); n++ {
		step, ms, err := turn()
		if err != nil {
			return r, err
		}
		plain = append(plain, step)
		for i, v := range ms {
			rows[i], ratios[i] = append(rows[i], v), append(ratios[i], v/step)
		}
	}
	r.Step, r.Turns = spreadOf(plain), len(plain)
	for i, n := range shortRows {
		r.Rows = append(r.Rows, control.BenchRows{Rows: n, MS: spreadOf(rows[i]),
			Steps: spreadOf(ratios[i])})
	}
	return r, nil
}

// MaxDrafters is how many drafters of one model are measured, so that a bench takes some minutes at
// most.
const MaxDrafters = 5

// drafters measures each drafter that the model could have, and the lookups alone, one after the
// other. Each takes turns with plain decoding, and has its own share of the time. A drafter that
// cannot be loaded is left out, with the reason.
func (b *Short) drafters(ctx context.Context,
	code *Workload) (list []control.BenchDrafter, err error) {
	found, err := b.m.Candidates(ctx)
	if err != nil {
		return nil, err
	}
	own, served := b.m.Drafter(), false
	ways := min(len(found), MaxDrafters) + 1
	for i, c := range found {
		d := control.BenchDrafter{Name: c.Name, Source: c.Source, Choice: c.Choice}
		switch {
		case own != nil && own.Source() == c.Source:
			d.Served, served = true, true
			err = b.measure(ctx, code, &d, own, i+1, ways)
		case i >= MaxDrafters:
			d.Why = fmt.Sprintf("Only the first %d drafters are measured.", MaxDrafters)
		default:
			err = b.measureOther(ctx, code, &d, c, i+1, ways)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	d := control.BenchDrafter{Name: control.Lookups, Choice: control.DrafterNone, Served: !served}
	err = b.measure(ctx, code, &d, nil, ways, ways)
	return append(list, d), err
}

// measureOther measures a drafter that requests do not have. It is loaded for that time.
func (b *Short) measureOther(ctx context.Context, code *Workload, d *control.BenchDrafter,
	c control.DrafterChoice, nth, of int) (err error) {
	if err := b.waitForIdle(ctx); err != nil {
		return err
	}
	other, err := b.m.BorrowDrafter(ctx, c.Source)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.Why = reason(err)
		return nil
	}
	defer func() { err = errors.Join(err, other.GiveBack()) }()
	return b.measure(ctx, code, d, other.Drafter, nth, of)
}

// reason returns an error about a drafter as a sentence. The drafter's name is shown beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Message
	}
	if e, ok := errors.AsType[*models.Error](err); ok {
		return control.Sentence(e.Message)
	}
	return control.Sentence(err.Error())
}

// measure compares plain decoding with requests that use a drafter, in turns. The drafter is nil
// for the lookups alone.
func (b *Short) measure(ctx context.Context, code *Workload, d *control.BenchDrafter,
	with *drafters.Drafter, nth, of int) error {
	b.begin(control.BenchProgress{Part: "decode", Total: b.plan.Pairs, Drafter: d.Name, Nth: nth,
		Of: of}, b.plan.Decode)
	m := b.m
	c := Contest{
		Thread: m.Thread(), Model: m.Bundle().Model, Pairs: b.plan.Pairs, Once: true,
		warm: b.plan.Warm, Log: io.Discard, host: b,
		Engines: func(model lm.Model, drafters []draft.Drafter) *engine.Engine {
			return engine.New(m.Thread(), model, m.Bundle().Tokenizer,
				engine.Options{Drafters: continued(drafters)})
		},
	}
	d.Kind = draft.Ngram{}.Name()
	if with != nil {
		d.Kind, d.Bytes = with.Name(), with.Bytes()
		c.Drafters = append(c.Drafters, with.Drafter)
	}
	c.Drafters = append(c.Drafters, draft.Ngram{})
	found, err := c.compare(ctx, code, Setting{}, Way{}, Way{Drafter: engine.Auto, Depth: Adaptive},
		figures.Bar{})
	if err != nil {
		return err
	}
	if d.Why = found.failure(d.Kind); d.Why != "" {
		d.Kind, d.Bytes = "", 0
		return nil
	}
	speedup := found.Ratio()
	b.hasTime(speedup.N) // reports them as done
	d.Decode = control.BenchDecode{
		Plain:           spread(found.estimate(func(p Pair) float64 { return p.One.Rate() })),
		Drafted:         spread(found.estimate(func(p Pair) float64 { return p.Two.Rate() })),
		Times:           spread(speedup),
		TokensPerVerify: found.figures().tokens,
		Pairs:           speedup.N, Prompts: speedup.Prompts, Differing: len(found.wrong),
	}
	for _, n := range found.rejected {
		d.Decode.Discarded += n
	}
	return nil
}

// failure returns why a drafter was given up in an answer of the second side, as a sentence, or ""
// if it never was.
func (c *Comparison) failure(drafter string) string {
	for _, p := range c.Pairs {
		for _, d := range p.Two.Stats.Drafters {
			if d.Name == drafter && d.Failed != "" {
				return control.Sentence(d.Failed)
			}
		}
	}
	return ""
}
