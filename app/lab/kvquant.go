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
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/lm"
	"tandem/engine/restore"
)

// A kvquant bench measures what fewer bits for keys and values cost: codecs on captured rows that
// are injected where a layer evicted its own, and the caches of --kv-bits.
type kvquant struct {
	*subject
	log     io.Writer
	samples int
	tokens  int
	now     func() time.Time
}

type kvquantOptions struct {
	subjectOptions
	samples int // 0 = recallSamples
}

// Flags implements Options.
func (o *kvquantOptions) Flags(f *pflag.FlagSet) {
	o.subjectOptions.Flags(f)
	samplesFlag(f, &o.samples)
}

// Open implements Options.
func (o *kvquantOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	s, err := openSubject(ctx, o.subjectOptions)
	if err != nil {
		return nil, err
	}
	return gated{newKVQuant(s, *o, e.Err), o.reports}, nil
}

// newKVQuant measures a loaded subject. Its Close closes that.
func newKVQuant(e *subject, o kvquantOptions, log io.Writer) *kvquant {
	k := &kvquant{subject: e, log: log, samples: recallSamples, tokens: recallTokens, now: time.Now}
	if o.quick {
		k.samples = 1
	}
	if o.samples > 0 {
		k.samples = o.samples
	}
	return k
}

func (k *kvquant) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	var prompts []needlePrompt
	for _, n := range needles(haystacks[0], k.samples, k.terse) {
		ids, err := k.directPrompt(ctx, n.text)
		if err != nil {
			return err
		}
		prompts = append(prompts, needlePrompt{n, ids})
	}
	lost := k.codecs(ctx, prompts, table, report)
	if lost != nil && !errors.Is(lost, errLost) {
		return lost
	}
	return errors.Join(lost, k.kvBits(ctx, prompts, table, report))
}

// A needlePrompt is a needle with the tokens of its prompt.
type needlePrompt struct {
	needle
	ids []int32
}

// errLost is joined by errors of arms that lose what they must keep. What was measured is kept.
var errLost = errors.New("recall was lost")

// A codecArm has a codec's results on all prompts.
type codecArm struct {
	codec
	recallArm
	loss
	wrong string // where the control's answers differ from the oracle's, or ""
}

// noFullLayer says why nothing is quantized.
const noFullLayer = "no layer attends every position, and rows of others stay as they are"

// codecs compares codecs on the rows of full-attention layers.
func (k *kvquant) codecs(ctx context.Context, prompts []needlePrompt,
	table func(figures.Table) error, report reporting) error {
	captured, others := k.fullLayers()
	if !slices.ContainsFunc(captured, func(s lm.KVShape) bool { return s.Row() > 0 }) {
		return table(figures.Table{Title: "kvquant", Columns: []string{"codec"},
			Notes: []string{noFullLayer}})
	}
	oracle := &recallArm{name: armOracle, model: newGauge(k.bundle.Model)}
	var arms []*codecArm
	for _, c := range codecs {
		if !slices.ContainsFunc(captured, func(s lm.KVShape) bool { return !c.fits(s.Dim) }) {
			arms = append(arms, &codecArm{codec: c, recallArm: recallArm{name: c.String()}})
		}
	}
	for i, p := range prompts {
		fmt.Fprintf(k.log, "\rcodecs: prompt %d of %d ", i+1, len(prompts))
		if err := k.codecsOn(ctx, p, captured, others, oracle, arms); err != nil {
			return err
		}
	}
	fmt.Fprintln(k.log)
	for _, a := range arms {
		if a.codec != (codec{}) {
			continue
		}
		var err error
		if a.wrong, err = k.differsAnywhere(ctx, &a.recallArm, oracle); err != nil {
			return err
		}
	}
	if err := table(k.codecTable(oracle, arms)); err != nil {
		return err
	}
	var lost error
	for _, a := range arms {
		run := evidence.Run{Kind: evidence.KindKVQuant, At: k.now(), Config: k.config(a.codec),
			Cross: &evidence.Arm{Name: a.name, Samples: a.samples,
				RestoredFrom: evidence.FromCapture},
			Oracle:  &evidence.Arm{Name: oracle.name, Samples: oracle.samples},
			Details: map[string]any{"rel_mse": a.relMSE, "bits_per_value": a.perValue}}
		if err := report("kvquant, "+a.name, run); err != nil {
			return err
		}
		if a.wrong != "" {
			lost = fmt.Errorf("%w: rows that are the model's own give other answers than full caches: %s",
				errLost, a.wrong)
		}
	}
	return lost
}

// codecsOn captures a prompt once and lets each codec answer it.
func (k *kvquant) codecsOn(ctx context.Context, p needlePrompt, captured []lm.KVShape,
	others []int, oracle *recallArm, arms []*codecArm) error {
	sink, window := k.bounds()
	limit := min(k.tokens, window-1) // the capture ends with the prompt, see lossySource
	if err := k.answerAlone(ctx, oracle, p, limit, engine.Options{}); err != nil {
		return err
	}
	start := time.Now()
	c, err := newCapture(ctx, k.thread, k.bundle.Model, captured, p.ids)
	if err != nil {
		return err
	}
	defer c.free()
	capturing := time.Since(start)
	for _, a := range arms {
		one, err := c.measure(ctx, a.codec)
		if err != nil {
			return err
		}
		n := float64(len(a.samples))
		a.loss = loss{(a.relMSE*n + one.relMSE) / (n + 1), one.perValue}
		m, err := restore.New(k.bundle.Model, restore.Options{Sink: sink, Window: window,
			Exact: others, Source: c.source(a.codec)})
		if err != nil {
			return err
		}
		a.model = newGauge(m)
		if err := k.answerAlone(ctx, &a.recallArm, p, limit, engine.Options{}); err != nil {
			return err
		}
		a.samples[len(a.samples)-1].Restore = capturing
	}
	return nil
}

// answerAlone lets an arm answer with its own engine, and keeps the sample. Like recall, it
// measures a second answer where the first one includes compiling kernels and allocating memory.
func (k *kvquant) answerAlone(ctx context.Context, a *recallArm, p needlePrompt, limit int,
	o engine.Options) error {
	a.engine = k.open(a.model, o)
	defer a.engine.Close()
	if len(a.samples) == 0 || k.thread.GPU() {
		if _, err := k.answer(ctx, a, p.ids, p.needle, 2); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	r, err := k.answer(ctx, a, p.ids, p.needle, limit)
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	a.add(r)
	return nil
}

// fullLayers returns the shapes of layers that attend every position, with the zero value for
// others, and the numbers of those others.
func (e *subject) fullLayers() (full []lm.KVShape, others []int) {
	for i, shape := range e.shapes() {
		if shape.Window > 0 {
			others = append(others, i)
			shape = lm.KVShape{}
		}
		full = append(full, shape)
	}
	return full, others
}

// config returns the options of a codec's report.
func (k *kvquant) config(c codec) map[string]any {
	sink, window := k.bounds()
	return map[string]any{"model": k.name, "size": haystacks[0].name, "seed": needleSeed,
		"samples": k.samples, "max_new_tokens": k.tokens, "sink_size": sink, "window_size": window,
		"bits": c.bits, "group_size": c.group, "conditions": k.conditions()}
}

// codecTable shows the codecs with a verdict on each.
func (k *kvquant) codecTable(oracle *recallArm, arms []*codecArm) figures.Table {
	t := figures.Table{
		Title: "kvquant: rows of full-attention layers, captured once a prompt and injected where " +
			"the layer gave its own up",
		Columns: []string{"codec", "bits per value", "rel_mse", "found", "oracle found", "verdict"},
		Notes: []string{k.conditions(),
			fmt.Sprintf("%d prompts of %s, seed %d; rel_mse is the energy of the error by that of the rows, before norm and rotary embedding",
				k.samples, haystacks[0].name, needleSeed),
			fmt.Sprintf("a codec wins if its rel_mse is below that of %s at no more bits, and it finds what the oracle finds",
				baseline)},
	}
	t.Notes = append(t.Notes, k.blindNote(oracle.samples)...)
	i := slices.IndexFunc(arms, func(a *codecArm) bool { return a.codec == baseline })
	for _, a := range arms {
		verdict := "control"
		switch {
		case a.wrong != "":
			verdict = "LOSES: the machinery is wrong"
		case a.codec == baseline:
			verdict = "baseline"
		case a.codec != (codec{}) && i >= 0:
			verdict = a.judge(arms[i], oracle)
		}
		t.Rows = append(t.Rows, []any{a.name, a.perValue, fmt.Sprintf("%.2e", a.relMSE),
			fmt.Sprintf("%d/%d", foundIn(a.samples), len(a.samples)),
			fmt.Sprintf("%d/%d", foundIn(oracle.samples), len(oracle.samples)), verdict})
	}
	switch {
	case i < 0:
		t.Notes = append(t.Notes, fmt.Sprintf("the heads of this model do not fit %s, so no codec is judged",
			baseline))
	case !slices.ContainsFunc(arms, func(a *codecArm) bool {
		return a != arms[i] && a.canWin(arms[i])
	}):
		t.Notes = append(t.Notes, fmt.Sprintf("all of these take more bits than %s, so none can win; the verdict is for a codec that is added",
			baseline))
	}
	return t
}

// canWin reports whether a codec takes no more bits than the baseline.
func (a *codecArm) canWin(base *codecArm) bool {
	return a.perValue <= base.perValue+1e-9
}

// judge says whether a codec is better than the baseline.
func (a *codecArm) judge(base *codecArm, oracle *recallArm) string {
	switch {
	case foundIn(a.samples) < foundIn(oracle.samples):
		return "loses recall"
	case a.relMSE >= base.relMSE:
		return "no better: more error"
	case !a.canWin(base):
		return "no better: more bits"
	}
	return "wins"
}

// foundIn counts the right answers.
func foundIn(samples []evidence.Sample) int {
	n := 0
	for _, s := range samples {
		if *s.Correct {
			n++
		}
	}
	return n
}

// blindNote returns a note if full caches found no needle: then an arm cannot lose any. It returns ""
// otherwise.
func (e *subject) blindNote(oracle []evidence.Sample) []string {
	if len(oracle) == 0 || foundIn(oracle) > 0 {
		return nil
	}
	note := "the oracle found no needle, so recall tells nothing here"
	if !e.terse { // else it is that model
		note += "; `--model " + RetrievalModel + "` finds them"
	}
	return []string{note}
}

// sameFound reports whether two arms are right about the same samples.
func sameFound(a, b []evidence.Sample) bool {
	return slices.EqualFunc(a, b, func(x, y evidence.Sample) bool { return *x.Correct == *y.Correct })
}
