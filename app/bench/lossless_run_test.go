package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

const (
	losslessTokens = 200 // of a request
	losslessChunk  = 128 // rows of a prompt's forward: few, so that rings wrap
)

// A losslessBench compares decoding with drafts to plain decoding of one model, token by token, on a
// device or with a library whose results depend on the number of rows.
type losslessBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	least  int   // times that each count of accepted drafts occurs in a cell
	blocks []int // rows
}

// A losslessCell is one way to decode with drafts, and what came of it.
type losslessCell struct {
	rollback engine.Rollback
	block    int // rows

	requests, diverged  int     // generations, and how many gave another token
	excused             int     // how many of the diverged are excused
	logprobs, differing int     // log-probabilities compared, and how many have other bits
	share               float64 // largest share of the bound of a difference
	histogram           []int   // rounds by accepted drafts
	ends                []int   // generations that ended as without drafts, by the row of the last token
	amiss               error   // how the others ended
}

// cells decodes in every way with drafts in a layout. wrong is an error for the differences that must
// not be:
//
//   - exact requests differ in anything;
//   - other requests give another token where plain decoding is certain of its own;
//   - too many tokens are excused;
//   - log-probabilities differ by more than rounding explains;
//   - an answer ends in another way than without drafts.
func (l *losslessBench) cells(ctx context.Context, layout cache.Layout,
	exact bool) (all []*losslessCell, notes []string, wrong, err error) {
	run := l.newRun(layout, exact)
	defer run.Close()
	for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
		for _, block := range l.blocks {
			if exact && block > engine.ExactRows {
				continue
			}
			c := &losslessCell{rollback: rollback, block: block}
			if err := errors.Join(run.cell(ctx, c), run.ends(ctx, c)); err != nil {
				return nil, nil, nil, err
			}
			if c.diverged > c.excused || exact && c.differing > 0 || c.share > 1 {
				wrong = errors.Join(wrong, fmt.Errorf(
					"layout %s, exact %t, %s, block %d: %d of %d answers differ, %d are excused; %d of %d log-probabilities differ, by %.2g of what may be",
					layout, exact, rollback, block, c.diverged, c.requests, c.excused, c.differing,
					c.logprobs, c.share))
			}
			wrong = errors.Join(wrong, c.amiss)
			all = append(all, c)
		}
	}
	if excused, of := run.excuses(); tooMany(excused, of) {
		wrong = errors.Join(wrong,
			fmt.Errorf("layout %s: %d of %d tokens differ and are excused; at most one in a thousand may be",
				layout, excused, of))
	}
	return all, run.notes, wrong, nil
}

// tooMany reports whether more than one token in a thousand is excused. A single one is always
// allowed: now and then two logits are equal.
func tooMany(excused, of int) bool { return excused > 1 && excused*1000 > of }

// inTurn returns a function that makes each row wrong in turn. shift says which one is first.
func inTurn(shift int) func(round, n int) int {
	return func(round, n int) int { return (5*round + shift) % (n + 1) }
}

// A losslessRun is one engine, and the answers that it gives without drafts.
type losslessRun struct {
	*losslessBench
	open    func(lm.Model, ...draft.Drafter) *engine.Engine
	engine  *engine.Engine
	drafter *enginetest.Scripted
	exact   bool
	known   map[int]losslessAnswer
	endings []*ending // nil until waysToEnd makes them

	judge  DivergenceJudge
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
		losslessBench: l, drafter: &enginetest.Scripted{Vocab: l.bundle.Model.Config().VocabSize, Lenient: true},
		exact: exact,
		known: map[int]losslessAnswer{}, judged: map[divergenceKey]bool{},
	}
	r.open = func(m lm.Model, drafters ...draft.Drafter) *engine.Engine {
		return engine.New(l.thread, m, l.bundle.Tokenizer,
			engine.Options{Layout: layout, Chunk: losslessChunk, Drafters: drafters})
	}
	r.engine = r.open(l.bundle.Model, r.drafter)
	r.judge = DivergenceJudge{l.thread, l.bundle.Model,
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
		Prompt:    TokenIDs([]int{40, 300}[which%2]+which, l.drafter.Vocab),
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
	for i := 0; slices.Min(c.histogram) < l.least; i++ {
		which := i % 4
		r := l.request(which)
		want, err := l.plain(ctx, which)
		if err != nil {
			return err
		}
		l.drafter.Text = slices.Concat(r.Prompt, want.ids)
		l.drafter.Wrong = inTurn(i)
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
		if i > 100*l.least {
			return fmt.Errorf("block %d: after %d requests the rounds that accepted 0, 1, ... drafts are %v",
				c.block, i, c.histogram)
		}
	}
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
		p, err := l.judge.Judge(ctx, r, plain, said)
		if err != nil {
			return false, err
		}
		excused = p.Excused
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
	e := l.judge.Open(g)
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
			if want.bounds != nil {
				c.share = max(c.share, math.Abs(float64(a)-float64(b))/want.bounds[i])
			}
		}
	}
}
