package engine

import (
	"errors"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// A Matcher follows a text by a grammar, token by token. A request brings it at the beginning of
// the answer; until Request.Done it is the engine's. Package native has one.
type Matcher interface {
	// Words is the length of a mask: a bit for each token of the vocabulary, in words of 32.
	Words() int

	// Mask sets the bits of the tokens that may follow, token i in bit i%32 of word i/32. If
	// nothing else may, these are the tokens that end a text. There is always one.
	Mask(bits []uint32) error

	// Accept advances by a token that may follow.
	Accept(id int32) error

	// Rollback takes the last n tokens back.
	Rollback(n int) error

	// Stopped reports whether the text is complete: nothing may follow.
	Stopped() bool
}

// A Walker is a Matcher that makes the masks of a block in one call, because a call costs more than
// a mask.
type Walker interface {
	Matcher

	// Walk sets the masks of what may follow the text and each draft, from the row from on. After
	// a draft that is forbidden, or that ends the text, every token is allowed. Drafts before
	// from are allowed ones. The text stays as it is.
	Walk(drafts []int32, from int, bits []uint32) error
}

// maskWord is how many tokens a word of a mask covers.
const maskWord = 32

// allowed returns which tokens may follow the text, (1, V) bool; nil if all may.
func (t *task) allowed(s *mlx.Scope, vocab int) (*mlx.Array, error) {
	if t.req.Grammar == nil {
		return nil, nil
	}
	bits, err := walk(t.req.Grammar, nil, 0)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, 1, vocab), nil
}

// allowedTokens returns which tokens may follow the newest one and each draft, (n+1, V) bool; nil
// if all may. It dispatches the target's forward first, so that masks are made while the device
// computes. It waits for the draft only. logits are the target's.
func (b *block) allowedTokens(s *mlx.Scope, p draft.Proposal, logits *mlx.Array,
	taps []*mlx.Array) (*mlx.Array, error) {
	t := b.task
	if t.req.Grammar == nil {
		return nil, nil
	}
	keep := slices.Concat([]*mlx.Array{logits}, taps, t.sampler.Arrays(), t.sampler.Held(),
		t.liveArrays())
	var drafts []int32
	if b.n > 0 {
		keep = append(keep, p.Tokens)
		if p.LogQ != nil && t.req.Speculation.Rule == Rejection { // else it is gone
			keep = append(keep, p.LogQ)
		}
		if p.Confidence != nil {
			keep = append(keep, p.Confidence)
		}
	}
	if err := s.AsyncEval(keep...); err != nil {
		return nil, err
	}
	if b.n > 0 {
		var err error
		if drafts, err = mlx.Read[int32](s, p.Tokens); err != nil {
			return nil, err
		}
	}
	bits, err := walk(t.req.Grammar, drafts, 0)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, b.n+1, logits.Dim(1)), nil
}

// walk returns the masks of what may follow the text of m and each draft, one after the other, from
// the row from on. It is Walker.Walk, step by step where m has none. m is left as it was, unless it
// fails.
func walk(m Matcher, drafts []int32, from int) ([]uint32, error) {
	words := m.Words()
	bits := make([]uint32, words*(len(drafts)+1-from))
	for i := range bits {
		bits[i] = ^uint32(0)
	}
	var err error
	if w, ok := m.(Walker); ok {
		err = w.Walk(drafts, from, bits)
	} else {
		err = walkBySteps(m, drafts, from, bits)
	}
	if err != nil {
		return nil, grammarError(err)
	}
	return bits, nil
}

// walkBySteps is Walker.Walk for a Matcher that takes one step at a time. All tokens are allowed in
// bits, and stay so in the rows that it does not reach.
func walkBySteps(m Matcher, drafts []int32, from int, bits []uint32) error {
	words, walked := m.Words(), 0
	var err error
	for err == nil && (walked == 0 || !m.Stopped()) {
		if walked >= from {
			row := bits[(walked-from)*words:][:words]
			if err = m.Mask(row); err != nil || walked == len(drafts) ||
				row[drafts[walked]/maskWord]>>(drafts[walked]%maskWord)&1 == 0 {
				break
			}
		}
		if err = m.Accept(drafts[walked]); err == nil {
			walked++
		}
	}
	if walked > 0 {
		err = errors.Join(err, m.Rollback(walked))
	}
	return err
}

// drawMasked has tasks under a grammar draw from logits that the device computes meanwhile. read
// has the tokens that their grammars have not seen yet. It returns the errors of tasks that
// cannot go on.
func (e *Engine) drawMasked(s *mlx.Scope, tasks []*task, next []*draw,
	read map[*task]Token) map[*task]error {
	failed := map[*task]error{}
	for i, t := range tasks {
		if t.req.Grammar == nil {
			continue
		}
		if err := s.Try(func() error {
			allowed, err := e.allowedAfter(s, t, read)
			if err != nil {
				return err
			}
			d := t.draw(s, next[i].logits, allowed, next[i].pos)
			d.layers, d.taps = next[i].layers, next[i].taps
			next[i] = d
			return s.Err()
		}); err != nil {
			failed[t] = e.roundError(err)
		}
	}
	return failed
}

// allowedAfter returns which tokens may follow the text and the token that was read, (1, V) bool;
// nil if that token ends the text or is none.
func (e *Engine) allowedAfter(s *mlx.Scope, t *task, read map[*task]Token) (*mlx.Array, error) {
	tok, ok := read[t]
	if !ok {
		return t.allowed(s, e.config.VocabSize)
	}
	if slices.Contains(e.config.EOS, tok.ID) || tok.isNone() {
		return nil, nil
	}
	bits, err := walk(t.req.Grammar, []int32{tok.ID}, 1)
	if err != nil {
		return nil, err
	}
	return unpackMasks(s, bits, 1, e.config.VocabSize), nil
}

// unpackMasks turns n masks into (n, vocab) bool.
func unpackMasks(s *mlx.Scope, bits []uint32, n, vocab int) *mlx.Array {
	words := len(bits) / n
	x := mlx.New(s, bits, n, words, 1)
	x = s.ShiftRight(x, s.Reshape(s.Arange(0, maskWord, mlx.Uint32), 1, 1, maskWord))
	x = s.BitAnd(x, s.Scalar(1, mlx.Uint32))
	return s.AsType(s.Slice(s.Reshape(x, n, words*maskWord), 1, 0, vocab), mlx.Bool)
}

// advanceGrammar tells the request's grammar of an emitted token, and reports whether the text is
// complete with it.
func (t *task) advanceGrammar(id int32) (complete bool, err error) {
	g := t.req.Grammar
	if g == nil {
		return false, nil
	}
	if err := g.Accept(id); err != nil {
		return false, grammarError(err)
	}
	return g.Stopped(), nil
}

func grammarError(err error) error {
	return &Error{
		Code:    CodeInvalid,
		Message: "The answer cannot go on as its grammar has it: simplify the schema or the grammar.",
		Err:     err,
	}
}
