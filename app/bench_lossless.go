package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/engine"
	"tandem/engine/cache"
	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
	"tandem/models"
)

// What the lossless bench decodes.
const (
	losslessTokens = 200 // of a request
	losslessLeast  = 50  // times each count of accepted drafts occurs in a cell
	losslessChunk  = 128 // rows of a prompt's forward, so that rings are small enough to wrap
)

// A losslessBench compares decoding with drafts to plain decoding of one model,
// token by token, and tells what exact requests cost.
type losslessBench struct {
	thread *mlx.Thread
	bundle *models.Bundle
	least  int
	blocks []int // rows
}

func openLossless(ctx context.Context, o BenchOptions) (bench, error) {
	t, b, err := benchModel(ctx, o.Model, models.Options{})
	if err != nil {
		return nil, err
	}
	l := &losslessBench{thread: t, bundle: b, least: losslessLeast, blocks: []int{2, 4, 8, 16}}
	if o.Quick {
		l.least, l.blocks = 1, []int{2, 8}
	}
	return l, nil
}

func (l *losslessBench) header() benchHeader {
	h := newBenchHeader()
	h.DType = l.bundle.Model.Config().Dtype.String()
	return h
}

func (l *losslessBench) close() error { return errors.Join(l.bundle.Close(), l.thread.Close()) }

// A losslessCell is one way to decode with drafts.
type losslessCell struct {
	rollback engine.Rollback
	block    int // rows

	requests, apart     int     // generations, and those of them that end up with another token
	excused             int     // of these, those where rounding decided
	logprobs, differing int     // log-probabilities of tokens, and those with other bits
	most                float64 // difference
	histogram           []int   // rounds by accepted drafts
	round, plain        time.Duration
}

// report hands over a table for each layout and kind of request. It is an error
// if exact requests differ in anything, and if others say something else where
// plain decoding is sure of its token.
func (l *losslessBench) report(ctx context.Context, table func(benchTable) error) error {
	var differ []error
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, exact := range []bool{false, true} {
			t, bad, err := l.cells(ctx, layout, exact)
			if err != nil {
				return err
			}
			if err := table(t); err != nil {
				return err
			}
			if bad > 0 {
				what := "answers"
				if exact {
					what = "exact requests"
				}
				differ = append(differ, fmt.Errorf("layout %s: %s differ from plain decoding in %d of the table's rows", layout, what, bad))
			}
		}
	}
	return errors.Join(differ...)
}

// cells measures every way to decode with drafts in a layout, and counts those
// in which anything differs that must not.
func (l *losslessBench) cells(ctx context.Context, layout cache.Layout, exact bool) (t benchTable, differ int, err error) {
	t = benchTable{
		Title: fmt.Sprintf("Decoding with drafts against plain decoding, layout %s", layout),
		Columns: []string{"rollback", "block", "requests", "tokens differ in", "excused", "logprobs", "differ", "by at most",
			"least rounds", "ms a round", "ms a plain step", "ratio"},
		Notes: []string{
			"A drafter that knows the answer goes wrong at each row in turn; least rounds is how often the rarest count of accepted drafts occurred.",
			"Bits differ where the BLAS picks its kernels by the number of rows. A token that differs is excused if it and plain's are plain's best two and all but equal.",
		},
	}
	if exact {
		t.Title += ", exact requests"
		t.Notes[1] = "Nothing may differ."
	}
	run := l.open(layout, exact)
	defer run.engine.Close()
	for _, rollback := range []engine.Rollback{engine.Trim, engine.Undo} {
		for _, block := range l.blocks {
			if exact && block > engine.ExactRows {
				continue
			}
			c := &losslessCell{rollback: rollback, block: block}
			if err := run.cell(ctx, c); err != nil {
				return t, differ, err
			}
			if c.apart > c.excused || exact && c.differing > 0 {
				differ++
			}
			t.Rows = append(t.Rows, []any{string(rollback), block, c.requests, c.apart, c.excused, c.logprobs, c.differing, fmt.Sprintf("%.1g", c.most),
				slices.Min(c.histogram), milliseconds(c.round), milliseconds(c.plain), float64(c.round) / float64(c.plain)})
		}
	}
	t.Notes = append(t.Notes, run.notes...)
	return t, differ, nil
}

// A losslessRun is one engine, and what it answers plainly.
type losslessRun struct {
	*losslessBench
	engine  *engine.Engine
	drafter *scripted
	exact   bool
	known   map[int]losslessAnswer

	umpire umpire
	judged map[losslessParting]bool // whether it is excused
	notes  []string                 // of each
}

// A losslessParting is another token than plain's in the answer to a request.
type losslessParting struct {
	which, at int
	said      int32
}

type losslessAnswer struct {
	tokens []engine.Token
	ids    []int32
	stats  engine.Stats
}

func (l *losslessBench) open(layout cache.Layout, exact bool) *losslessRun {
	r := &losslessRun{
		losslessBench: l, drafter: &scripted{vocab: l.bundle.Model.Config().VocabSize}, exact: exact,
		known: map[int]losslessAnswer{}, judged: map[losslessParting]bool{},
	}
	open := func(m lm.Model, drafters ...draft.Drafter) *engine.Engine {
		return engine.New(l.thread, m, l.bundle.Tokenizer, engine.Options{Layout: layout, Chunk: losslessChunk, Drafters: drafters})
	}
	r.engine = open(l.bundle.Model, r.drafter)
	r.umpire = umpire{l.thread, l.bundle.Model, func(m lm.Model) *engine.Engine { return open(m) }}
	return r
}

func (l *losslessRun) say(ctx context.Context, r engine.Request) (a losslessAnswer, err error) {
	r.Done = func(s engine.Stats) { a.stats = s }
	for tok, err := range l.engine.Generate(ctx, r) {
		if err != nil {
			return a, err
		}
		a.tokens, a.ids = append(a.tokens, tok), append(a.ids, tok.ID)
	}
	return a, nil
}

// cell decodes until each count of accepted drafts has occurred often enough.
func (l *losslessRun) cell(ctx context.Context, c *losslessCell) error {
	depth := c.block - 1
	c.histogram = make([]int, c.block)
	var rounds engine.Blocks
	for i := 0; slices.Min(c.histogram) < l.least; i++ {
		which := i % 4
		r := engine.Request{
			Prompt:    benchIDs([]int{40, 300}[which%2]+which, l.drafter.vocab),
			MaxTokens: new(losslessTokens), IgnoreEOS: true, Logprobs: true, Seed: new(uint64(which)),
		}
		if which >= 2 {
			r.Sampling = sample.Params{Temperature: 0.8, TopP: 0.95}
		}
		want, known := l.known[which]
		if !known {
			var err error
			r.Speculation = engine.Speculation{Drafter: engine.None, Exact: l.exact}
			if want, err = l.say(ctx, r); err != nil {
				return err
			}
			l.known[which] = want
		}
		c.plain += want.stats.Decode / time.Duration(want.stats.Rounds)
		l.drafter.text = slices.Concat(r.Prompt, want.ids)
		l.drafter.shift = i
		r.Speculation = engine.Speculation{Depth: &depth, Rollback: c.rollback, Exact: l.exact}
		got, err := l.say(ctx, r)
		if err != nil {
			return err
		}
		c.compare(got.tokens, want.tokens)
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
		rounds.Count += got.stats.Blocks.Count
		rounds.Total += got.stats.Blocks.Total
		if i > 100*l.least {
			return fmt.Errorf("block %d: after %d requests the rounds that accepted 0, 1, ... drafts are %v", c.block, i, c.histogram)
		}
	}
	c.round, c.plain = rounds.Mean(), c.plain/time.Duration(c.requests)
	return nil
}

// excused reports whether the answer to a request parts from plain's where that
// may be. In exact requests it may nowhere.
func (l *losslessRun) excused(ctx context.Context, which int, r engine.Request, plain, said []int32) (bool, error) {
	at := parts(plain, said)
	if l.exact || at < 0 {
		return false, nil
	}
	key := losslessParting{which, at, -1}
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

// compare counts what differs, until the texts part.
func (c *losslessCell) compare(got, want []engine.Token) {
	c.requests++
	for i, w := range want {
		if i == len(got) || got[i].ID != w.ID {
			c.apart++
			return
		}
		a, b := got[i].Logprobs.Logprob, w.Logprobs.Logprob
		c.logprobs++
		if math.Float32bits(a) != math.Float32bits(b) {
			c.differing++
			c.most = max(c.most, math.Abs(float64(a)-float64(b)))
		}
	}
}

// A scripted drafter knows how the text goes on, and gets one row of each
// block wrong, the next one in the next round.
type scripted struct {
	text          []int32
	vocab         int
	shift, rounds int
}

func (*scripted) Name() string   { return "script" }
func (*scripted) Taps() []int    { return nil }
func (*scripted) MaxDrafts() int { return engine.MaxDepth }

func (d *scripted) Open(*mlx.Scope, draft.Options) (draft.Draft, error) {
	d.rounds = 0
	return d, nil
}

// Propose implements draft.Draft. Where the text went another way there is
// nothing to propose.
func (d *scripted) Propose(s *mlx.Scope, history []int32, n int) draft.Proposal {
	n = min(n, len(d.text)-len(history))
	if n <= 0 || !slices.Equal(history, d.text[:len(history)]) {
		return draft.Proposal{}
	}
	tokens := slices.Clone(d.text[len(history):][:n])
	if wrong := (5*d.rounds + d.shift) % (n + 1); wrong < n {
		tokens[wrong] = (tokens[wrong] + 1) % int32(d.vocab)
	}
	d.rounds++
	return draft.Proposal{N: n, Tokens: mlx.New(s, tokens, n)}
}

func (*scripted) Committed(*mlx.Scope, []int32, int, []*mlx.Array) {}
func (*scripted) Arrays() []*mlx.Array                             { return nil }
func (*scripted) Free(*mlx.Scope)                                  {}
