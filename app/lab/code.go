package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/evidence"
	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
)

// codeTasks are small, and their answers end by themselves.
var codeTasks = []string{
	"Write a Python class for a binary search tree with insert and contains.",
	"Write a Python class for an LRU cache with get and put, using OrderedDict.",
	"Write a Python function that reads a CSV file and returns a list of dictionaries.",
	"Write a Python function that sorts a list with quicksort.",
	"Write a Python class for a ring buffer of fixed size with append and to_list.",
	"Write a Python function that evaluates an expression with +, - and integers.",
	"Write a Python decorator that retries a function three times.",
	"Write a Python class for a counter that several threads can increment safely.",
}

const (
	codeTokens  = 128 // of an answer, at most
	probeTokens = 16  // of an answer of a probe: a block may take long
	probeBlock  = 8   // rows
)

// probeFused is the probe that puts drafts and their verification into one graph.
const probeFused = "fused"

// A codeBench decodes answers to code tasks with drafts and without, in turns.
type codeBench struct {
	*subject
	options codeOptions
	log     io.Writer
	drafts  *bench.Drafters
	tasks   []string
	tokens  int
	ways    []*codeWay // plain decoding first
	now     func() time.Time
}

// A codeWay is a way of decoding with its answers, task by task.
type codeWay struct {
	bench.Way
	engine  *engine.Engine
	answers []bench.Response
}

type codeOptions struct {
	subjectOptions
	tokens int    // of an answer; 0 = codeTokens, probeTokens for a probe
	block  int    // rows; 0 = 4, 8 and 16
	probe  string // empty or probeFused
}

// Flags implements Options.
func (o *codeOptions) Flags(f *pflag.FlagSet) {
	o.subjectOptions.Flags(f)
	o.drafterFlag(f)
	f.Func("tokens", "`N` tokens of an answer, at most", bench.Positive(&o.tokens))
	f.Func("block", "`N` rows of a block (default 4, 8 and 16)", bench.Positive(&o.block))
	f.StringVar(&o.probe, "probe", "", "`PROBE`: fused")
}

// Open implements Options.
func (o *codeOptions) Open(ctx context.Context, e bench.Env) (bench.Opened, error) {
	if o.probe != "" && o.probe != probeFused {
		return nil, fmt.Errorf("there is no probe %q; there is fused", o.probe)
	}
	if o.block == 1 {
		return nil, errors.New("a block of one row has no drafts: give --block at least 2")
	}
	s, drafts, err := openDrafted(ctx, o.subjectOptions)
	if err != nil {
		return nil, err
	}
	return gated{newCode(s, drafts, *o, e.Err), o.reports}, nil
}

// newCode measures a loaded subject with its drafters. Its Close closes both.
func newCode(e *subject, drafts *bench.Drafters, o codeOptions, log io.Writer) *codeBench {
	b := &codeBench{subject: e, options: o, log: log, drafts: drafts, tasks: codeTasks, tokens: codeTokens,
		now: time.Now}
	first := drafts.List[0]
	add := func(w bench.Way) {
		b.ways = append(b.ways, &codeWay{Way: w, engine: e.open(e.bundle.Model,
			engine.Options{Drafters: drafts.List})})
	}
	add(bench.Way{})
	if o.probe == probeFused {
		b.tokens = probeTokens
		w := bench.Way{Drafter: first.Name(), Depth: b.depth(first, o.block, probeBlock)}
		add(w)
		w.Fused = true
		add(w)
	} else {
		var depths []int
		for _, block := range []int{4, 8, 16} {
			if d := b.depth(first, o.block, block); !slices.Contains(depths, d) {
				depths = append(depths, d)
				add(bench.Way{Drafter: first.Name(), Depth: d})
			}
		}
	}
	if o.tokens > 0 {
		b.tokens = o.tokens
	}
	if o.quick {
		b.tasks, b.tokens = b.tasks[:2], min(b.tokens, 16)
	}
	return b
}

// depth returns the drafts of a block: for the requested rows, or for usual ones. A drafter may
// allow fewer.
func (b *codeBench) depth(d draft.Drafter, asked, usual int) int {
	rows := usual
	if asked > 0 {
		rows = asked
	}
	return max(1, min(rows-1, d.MaxDrafts()))
}

func (b *codeBench) Close() error {
	for _, w := range b.ways {
		w.engine.Close()
	}
	return errors.Join(b.drafts.Close(), b.subject.Close())
}

func (b *codeBench) evaluate(ctx context.Context, table func(figures.Table) error,
	report reporting) error {
	if err := b.measure(ctx); err != nil {
		return err
	}
	if err := table(b.table()); err != nil {
		return err
	}
	for _, w := range b.ways[1:] {
		if err := report("code, "+w.String(), b.run(w)); err != nil {
			return err
		}
	}
	return nil
}

// measure lets all ways answer each task in turns.
func (b *codeBench) measure(ctx context.Context) error {
	for i, task := range b.tasks {
		ids, err := b.directPrompt(ctx, task)
		if err != nil {
			return err
		}
		for _, w := range b.ways {
			if i == 0 || b.thread.GPU() { // once unmeasured, as in recall
				if _, err := b.answerTask(ctx, w, ids, min(b.tokens, 2*probeBlock)); err != nil {
					return err
				}
			}
			fmt.Fprintf(b.log, "\rcode: task %d of %d, %-30s ", i+1, len(b.tasks), w)
			a, err := b.answerTask(ctx, w, ids, b.tokens)
			if err != nil {
				return fmt.Errorf("%s: %w", w, err)
			}
			w.answers = append(w.answers, a)
		}
	}
	fmt.Fprintln(b.log)
	return nil
}

// answerTask decodes one answer to its natural end.
func (b *codeBench) answerTask(ctx context.Context, w *codeWay, ids []int32,
	limit int) (a bench.Response, err error) {
	request := engine.Request{Prompt: ids, MaxTokens: &limit, Fresh: true,
		Speculation: w.Speculation(), Done: func(s engine.Stats) { a.Stats = s }}
	for tok, err := range w.engine.Generate(ctx, request) {
		if err != nil {
			return a, err
		}
		a.IDs = append(a.IDs, tok.ID)
	}
	return a, nil
}

// blocks sums up the blocks of all answers.
func (w *codeWay) blocks() (sum engine.Blocks) {
	for _, a := range w.answers {
		sum.Add(a.Stats.Blocks)
	}
	return sum
}

// exact counts the answers that are the same as another way's.
func (w *codeWay) exact(plain *codeWay) (n int) {
	for i, a := range w.answers {
		if slices.Equal(a.IDs, plain.answers[i].IDs) {
			n++
		}
	}
	return n
}

// loops counts the answers that fell into a loop.
func (w *codeWay) loops() (n int) {
	for _, a := range w.answers {
		if a.Stats.Repeats > 0 {
			n++
		}
	}
	return n
}

// rate returns the median of tokens per second of decoding alone, or 0 if nothing was decoded.
func (w *codeWay) rate() float64 {
	var rates []float64
	for _, a := range w.answers {
		if len(a.IDs) > 1 && a.Stats.Decode > 0 {
			rates = append(rates, a.Rate())
		}
	}
	if len(rates) == 0 {
		return 0
	}
	return figures.Median(rates)
}

// table compares all ways.
func (b *codeBench) table() figures.Table {
	t := figures.Table{Title: fmt.Sprintf("code: %d Python tasks, %s", len(b.tasks), b.ends()),
		Columns: []string{"way", "decode tokens/s", "times plain", "tokens/block", "blocks", "exact",
			"tokens", "block s first 8", "block s max", "block s mean"},
		Notes: []string{b.conditions(),
			"rates are medians of decoding alone, in turns; exact: answers equal to plain decoding's, token by token",
			"block times go from the beginning of a round until the caches hold the accepted rows"}}
	if b.options.probe == probeFused {
		t.Title = "code, fused probe: draft and verify in one graph, against two phases"
	}
	plain := b.ways[0]
	for _, w := range b.ways {
		tokens := 0
		for _, a := range w.answers {
			tokens += len(a.IDs)
		}
		row := []any{w.String(), figures.OrDash(w.rate()), nil, nil, nil,
			fmt.Sprintf("%d/%d", w.exact(plain), len(w.answers)), tokens, nil, nil, nil}
		s := w.blocks()
		if plain.rate() > 0 && (w == plain || s.Count > 0) {
			row[2] = w.rate() / plain.rate() // without a block both decoded alike
		}
		if s.Count > 0 {
			row[3], row[4] = float64(s.Tokens)/float64(s.Count), s.Count
			row[7], row[8], row[9] = s.First8().Seconds(), s.Max.Seconds(), s.Mean().Seconds()
		}
		t.Rows = append(t.Rows, row)
	}
	if names := b.undrafted(); len(names) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("nothing was drafted, so nothing is compared, in: %s",
			strings.Join(names, "; ")))
	}
	if n := plain.loops(); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d of %d plain answers fell into a loop, which drafts guess "+
			"too well: the rates say little of other texts", n, len(plain.answers)))
	}
	return t
}

// ends says how the answers ended: by themselves, or at the limit.
func (b *codeBench) ends() string {
	cut, all := 0, 0
	for _, w := range b.ways {
		for _, a := range w.answers {
			if all++; a.Stats.Finish == engine.FinishLength {
				cut++
			}
		}
	}
	if cut > 0 {
		return fmt.Sprintf("%d of %d answers cut off at %d tokens", cut, all, b.tokens)
	}
	return fmt.Sprintf("natural stop, at most %d tokens", b.tokens)
}

// undrafted returns the ways with a drafter that verified no block.
func (b *codeBench) undrafted() (names []string) {
	for _, w := range b.ways[1:] {
		if w.blocks().Count == 0 {
			names = append(names, w.String())
		}
	}
	return names
}

// run returns what was measured of a way, compared with plain decoding.
func (b *codeBench) run(w *codeWay) evidence.Run {
	s := w.blocks()
	return evidence.Run{Kind: evidence.KindCode, At: b.now(),
		Config: map[string]any{"model": b.name, "drafter": w.Drafter, "block_size": w.Depth + 1,
			"fused": w.Fused, "max_new_tokens": b.tokens, "conditions": b.conditions()},
		Cross: b.arm(w), Oracle: b.arm(b.ways[0]),
		Details: map[string]any{"exact_match": w.exact(b.ways[0]), "tasks": len(w.answers),
			"block_eval_s_first8_mean": s.First8().Seconds(), "block_eval_s_max": s.Max.Seconds(),
			"block_eval_s_mean": s.Mean().Seconds()}}
}

// arm returns the samples of a way.
func (b *codeBench) arm(w *codeWay) *evidence.Arm {
	a := &evidence.Arm{Name: w.String()}
	for _, r := range w.answers {
		s := evidence.Sample{Prompt: r.Stats.PromptTokens,
			Text: b.bundle.Tokenizer.Decode(r.IDs, true), Tokens: len(r.IDs),
			Prefill: r.Stats.FirstToken - r.Stats.Queue, Decode: r.Stats.Decode,
			Blocks: r.Stats.Blocks.Count, MeanAccept: r.Stats.Blocks.MeanTokens(),
			LoopedFrom: new(r.Stats.Repeats)}
		a.Samples = append(a.Samples, s)
	}
	return a
}
