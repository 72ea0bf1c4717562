package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// The sizes of the lossless bench.
const (
	losslessTokens = 200 // of a request
	losslessLeast  = 50  // times that each count of accepted drafts occurs in a cell
	losslessChunk  = 128 // rows of a prompt's forward: few, so that rings wrap
)

// A losslessBench compares decoding with drafts to plain decoding of one model, token by token. It
// also measures what exact requests cost.
type losslessBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	least  int
	blocks []int // rows
}

func openLossless(ctx context.Context, o Options) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	return newLosslessBench(t, b, o.Quick), nil
}

// newLosslessBench compares on a loaded model. Its Close closes both.
func newLosslessBench(t *mlx.Thread, b *models.Bundle, quick bool) *losslessBench {
	l := &losslessBench{thread: t, bundle: b, least: losslessLeast, blocks: []int{2, 4, 8, 16}}
	if quick {
		l.least, l.blocks = 1, []int{2, 8}
	}
	return l
}

func (l *losslessBench) header() figures.Header {
	h := newHeader()
	h.DType = l.bundle.Model.Config().Dtype.String()
	return h
}

func (l *losslessBench) Close() error { return errors.Join(l.bundle.Close(), l.thread.Close()) }

// A losslessCell is one way to decode with drafts, and what came of it.
type losslessCell struct {
	rollback engine.Rollback
	block    int // rows

	requests, diverged  int     // generations, and how many gave another token
	excused             int     // how many of the diverged are excused
	logprobs, differing int     // log-probabilities compared, and how many have other bits
	most, share         float64 // largest difference, and largest share of the bound
	histogram           []int   // rounds by accepted drafts
	ends                []int   // generations that ended as without drafts, by the row of the last token
	amiss               error   // how the others ended
	round, plain        time.Duration
}

// report hands over a table for each layout and kind of request. It returns an error in these
// cases:
//
//   - exact requests differ in anything;
//   - other requests give another token where plain decoding is sure of its own;
//   - too many tokens are excused;
//   - log-probabilities differ by more than rounding explains.
func (l *losslessBench) report(ctx context.Context, table func(figures.Table) error) error {
	var differ []error
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, exact := range []bool{false, true} {
			t, wrong, err := l.cells(ctx, layout, exact)
			if err != nil {
				return err
			}
			if err := table(t); err != nil {
				return err
			}
			differ = append(differ, wrong)
		}
	}
	return errors.Join(differ...)
}

// cells measures every way to decode with drafts in a layout. wrong is an error for the differences
// that must not be.
func (l *losslessBench) cells(ctx context.Context, layout cache.Layout,
	exact bool) (t figures.Table, wrong, err error) {
	t = figures.Table{
		Title: fmt.Sprintf("Decoding with drafts against plain decoding, layout %s", layout),
		Columns: []string{"rollback", "block", "requests", "tokens differ in", "excused",
			"logprobs", "differ", "by at most", "of what may be",
			"ms a round", "ms a plain step", "ratio", "rounds that accepted 0, 1, ...",
			"ends on row 0, 1, ..."},
		Notes: []string{
			"A drafter that knows the answer is wrong at each row in turn. Answers end on each row by a token, a text, the limit and the client.",
			"Bits differ where kernels are picked by the number of rows, as on a GPU. Another token is excused if it and plain decoding's are the best two and nearly equal.",
			"In float32 a logit may be off by 1e-5 of the largest one of its row, a log-probability by twice that.",
		},
	}
	what := "answers"
	if exact {
		what, t.Title = "exact requests", t.Title+", exact requests"
		t.Notes = append(t.Notes[:1], "Nothing may differ.")
	}
	differ := 0
	run := l.newRun(layout, exact)
	defer run.Close()
	for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
		for _, block := range l.blocks {
			if exact && block > engine.ExactRows {
				continue
			}
			c := &losslessCell{rollback: rollback, block: block}
			if err := errors.Join(run.cell(ctx, c), run.ends(ctx, c)); err != nil {
				return t, nil, err
			}
			if c.diverged > c.excused || exact && c.differing > 0 || c.share > 1 {
				differ++
			}
			t.Rows = append(t.Rows, []any{string(rollback), block, c.requests, c.diverged,
				c.excused, c.logprobs, c.differing, fmt.Sprintf("%.1g", c.most),
				figures.OrDash(c.share), figures.Milliseconds(c.round), figures.Milliseconds(c.plain),
				float64(c.round) / float64(c.plain),
				strings.Trim(fmt.Sprint(c.histogram), "[]"),
				strings.Trim(fmt.Sprint(c.ends), "[]")})
			wrong = errors.Join(wrong, c.amiss)
		}
	}
	t.Notes = append(t.Notes, run.notes...)
	if differ > 0 {
		wrong = errors.Join(wrong,
			fmt.Errorf("layout %s: %s differ from plain decoding in %d of the table's rows",
				layout, what, differ))
	}
	excused, of := run.excuses()
	if tooMany(excused, of) {
		wrong = errors.Join(wrong,
			fmt.Errorf("layout %s: %d of %d tokens differ and are excused; at most one in a thousand may be",
				layout, excused, of))
	}
	return t, wrong, nil
}

// tooMany reports whether more than one token in a thousand is excused. A single one is always
// allowed: now and then two logits are equal.
func tooMany(excused, of int) bool { return excused > 1 && excused*1000 > of }

// A losslessRun is one engine, and the answers that it gives without drafts.
type losslessRun struct {
	*losslessBench
	open    func(lm.Model, ...draft.Drafter) *engine.Engine
	engine  *engine.Engine
	drafter *scripted
	exact   bool
	known   map[int]losslessAnswer
	endings []*ending // nil until waysToEnd makes them

	umpire umpire
	judged map[divergenceKey]bool // whether each is excused
	notes  []string               // one a judgement
}

// A divergenceKey is a token that differs from plain decoding's, in the answer to a request.
type divergenceKey struct {
	which, at int
	said      int32
}

type losslessAnswer struct {
	tokens []engine.Token
	ids    []int32
	stats  engine.Stats
	bounds []float64 // how far each log-probability may be off; nil if that is not known
}

// newRun opens an engine. The caller closes the run.
func (l *losslessBench) newRun(layout cache.Layout, exact bool) *losslessRun {
	r := &losslessRun{
		losslessBench: l, drafter: &scripted{vocab: l.bundle.Model.Config().VocabSize},
		exact: exact,
		known: map[int]losslessAnswer{}, judged: map[divergenceKey]bool{},
	}
	r.open = func(m lm.Model, drafters ...draft.Drafter) *engine.Engine {
		return engine.New(l.thread, m, l.bundle.Tokenizer,
			engine.Options{Layout: layout, Chunk: losslessChunk, Drafters: drafters})
	}
	r.engine = r.open(l.bundle.Model, r.drafter)
	r.umpire = umpire{l.thread, l.bundle.Model,
		func(m lm.Model) *engine.Engine { return r.open(m) }}
	return r
}

// say generates the answer to a request.
func (l *losslessRun) say(ctx context.Context, e *engine.Engine,
	r engine.Request) (a losslessAnswer, err error) {
	r.Done = func(s engine.Stats) { a.stats = s }
	for tok, err := range e.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.tokens, a.ids = append(a.tokens, tok), append(a.ids, tok.ID)
	}
	return a, nil
}

// request returns one of four requests: greedy or sampled, with a short or a long prompt.
func (l *losslessRun) request(which int) engine.Request {
	r := engine.Request{
		Prompt:    benchIDs([]int{40, 300}[which%2]+which, l.drafter.vocab),
		MaxTokens: new(losslessTokens), IgnoreEOS: true, Logprobs: true, Seed: new(uint64(which)),
		Speculation: engine.Speculation{Drafter: engine.None, Exact: l.exact},
	}
	if which >= 2 {
		r.Sampling = sample.Params{Temperature: 0.8, TopP: 0.95}
	}
	return r
}

// plain returns plain decoding's answer to a request, and keeps it.
func (l *losslessRun) plain(ctx context.Context, which int) (a losslessAnswer, err error) {
	if a, known := l.known[which]; known {
		return a, nil
	}
	r := l.request(which)
	if a, err = l.say(ctx, l.engine, r); err == nil && !l.exact {
		a.bounds, err = l.bounds(ctx, r)
	}
	if err == nil {
		l.known[which] = a
	}
	return a, err
}

// cell decodes until each count of accepted drafts has occurred often enough.
func (l *losslessRun) cell(ctx context.Context, c *losslessCell) error {
	depth := c.block - 1
	c.histogram = make([]int, c.block)
	var rounds engine.Blocks
	for i := 0; slices.Min(c.histogram) < l.least; i++ {
		which := i % 4
		r := l.request(which)
		want, err := l.plain(ctx, which)
		if err != nil {
			return err
		}
		c.plain += want.stats.Decode / time.Duration(want.stats.Rounds)
		l.drafter.text = slices.Concat(r.Prompt, want.ids)
		l.drafter.wrong = inTurn(i)
		r.Speculation = engine.Speculation{Depth: &depth, Rollback: c.rollback, Exact: l.exact}
		got, err := l.say(ctx, l.engine, r)
		if err != nil {
			return err
		}
		c.compare(got, want)
		if excused, err := l.excused(ctx, which, r, want.ids, got.ids); err != nil {
			return err
		} else if excused {
			c.excused++
		}
		for j, n := range got.stats.Depths {
			if n == depth {
				c.histogram[got.stats.Accepts[j]]++
			}
		}
		rounds.Add(got.stats.Blocks)
		if i > 100*l.least {
			return fmt.Errorf("block %d: after %d requests the rounds that accepted 0, 1, ... drafts are %v",
				c.block, i, c.histogram)
		}
	}
	c.round, c.plain = rounds.Mean(), c.plain/time.Duration(c.requests)
	return nil
}

// excused reports whether an answer diverges from plain decoding's where rounding decides. An exact
// request is never excused.
func (l *losslessRun) excused(ctx context.Context, which int, r engine.Request,
	plain, said []int32) (bool, error) {
	at := firstDifference(plain, said)
	if l.exact || at < 0 {
		return false, nil
	}
	key := divergenceKey{which, at, -1}
	if at < len(said) {
		key.said = said[at]
	}
	excused, known := l.judged[key]
	if !known {
		p, err := l.umpire.judge(ctx, r, plain, said)
		if err != nil {
			return false, err
		}
		excused = p.excused
		l.judged[key] = excused
		l.notes = append(l.notes, fmt.Sprintf("Request %d: %s.", which, p))
	}
	return excused, nil
}

// excuses returns how many tokens are excused, and of how many.
func (l *losslessRun) excuses() (excused, of int) {
	for _, is := range l.judged {
		if is {
			excused++
		}
	}
	for _, a := range l.known {
		of += len(a.ids)
	}
	return excused, of
}

// bounds returns how far the log-probability of each token of a plain answer may be off, in
// float32; nil for other types. A log-probability is a logit less the logarithm of the sum of all
// exponentials. Each of the two may be off by 1e-5 of the largest logit.
func (l *losslessRun) bounds(ctx context.Context, r engine.Request) ([]float64, error) {
	if l.bundle.Model.Config().Dtype != mlx.Float32 {
		return nil, nil
	}
	g := &gauged{Model: l.bundle.Model, first: len(r.Prompt)}
	e := l.umpire.open(g)
	defer e.Close()
	for _, err := range e.Generate(ctx, r) {
		if err != nil {
			return nil, err
		}
	}
	var bounds []float64
	err := l.thread.Do(ctx, func(s *mlx.Scope) error {
		defer g.free()
		squares, err := mlx.Read[float32](s, s.Concat(0, g.squares...))
		for _, x := range squares {
			bounds = append(bounds, 2e-5*math.Sqrt(float64(x)))
		}
		return err
	})
	return bounds, err
}

// A gauged model keeps the largest logit for each token that plain decoding gives.
type gauged struct {
	lm.Model
	first, end int          // position of its first token, and after the last row of the last forward
	squares    []*mlx.Array // (1), kept: of each token's largest logit, in order
}

// Forward implements lm.Model, for one sequence.
func (g *gauged) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	g.end = b[0].Pos + b[0].N
	return g.Model.Forward(s, b, taps)
}

// Unembed implements lm.Model, for the last row of the last forward.
func (g *gauged) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := g.Model.Unembed(s, hidden)
	if g.end-g.first == len(g.squares) {
		g.squares = append(g.squares, s.Keep(s.Max(s.Mul(logits, logits), 1, false)))
	}
	return logits
}

func (g *gauged) free() {
	for _, a := range g.squares {
		a.Free()
	}
}

// compare counts what differs, until the texts diverge.
func (c *losslessCell) compare(got, want losslessAnswer) {
	c.requests++
	for i, w := range want.tokens {
		if i == len(got.tokens) || got.tokens[i].ID != w.ID {
			c.diverged++
			return
		}
		a, b := got.tokens[i].Logprobs.Logprob, w.Logprobs.Logprob
		c.logprobs++
		if math.Float32bits(a) != math.Float32bits(b) {
			c.differing++
			off := math.Abs(float64(a) - float64(b))
			if c.most = max(c.most, off); want.bounds != nil {
				c.share = max(c.share, off/want.bounds[i])
			}
		}
	}
}
