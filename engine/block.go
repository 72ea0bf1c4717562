package engine

import (
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A block is what a verify round evaluates: carried tokens, the newest token, and the drafts after
// it. Its arrays belong to the scope.
type block struct {
	*task
	carried int           // tokens
	n       int           // drafts
	before  *restorePoint // nil where the block is trimmed
	undone  bool          // and its accepted tokens are carried

	draw     *draw      // (n+1): of what follows
	accepted *mlx.Array // () int32, nil without drafts

	confidence *mlx.Array // () float32, of the drafter; nil if it does not say
	trust      float64    // the same, read
}

// buildVerify builds the graph of a block with drafts p, up to the verdict.
func (r *runner) buildVerify(s *mlx.Scope, b *block, p draft.Proposal) (err error) {
	t, last := b.task, len(b.tokens)-1
	b.n = p.N
	tokens := mlx.New(s, t.tokens[t.fed:], b.carried+1)
	if b.n > 0 {
		tokens = s.Concat(0, tokens, p.Tokens)
	}
	if t.req.Speculation.Rollback == Undo {
		if b.before, err = t.restorePoint(s); err != nil {
			return err
		}
	}
	layers, rows := r.drafters.taps(t), b.carried+1+b.n
	out := r.forwardBlock(s, t, tokens, rows, layers)
	logits := r.logits(s, t, out.Hidden, b.carried, rows) // (n+1, V)
	allowed, err := b.allowedTokens(s, p, logits, out.Taps)
	if err != nil {
		return err
	}
	x := t.sampler.Process(s, logits, p.Tokens, allowed)
	var v sample.Verdict
	if b.n > 0 {
		v = t.sampler.Accept(s, t.req.Speculation.Rule, x, p.Tokens, p.LogQ, last+1)
	} else {
		v.Tokens = t.sampler.Choose(s, x, last+1)
	}
	b.draw, b.accepted = t.drawOf(s, logits, v.Tokens), v.Accepted
	b.draw.layers, b.draw.taps = layers, out.Taps
	return nil
}

// arrays lists what the block needs evaluated.
func (b *block) arrays() []*mlx.Array {
	list := append(b.draw.arrays(), b.sampler.Arrays()...)
	if b.accepted != nil {
		list = append(list, b.accepted)
	}
	if b.confidence != nil {
		list = append(list, b.confidence)
	}
	return append(list, b.liveArrays()...)
}

// read waits for the block and returns the tokens that follow: the accepted drafts and the target's
// own.
func (b *block) read(s *mlx.Scope) ([]Token, error) {
	accepted := 0
	if b.accepted != nil {
		a, err := mlx.Read[int32](s, b.accepted)
		if err != nil {
			return nil, err
		}
		accepted = int(a[0])
	}
	if b.confidence != nil {
		x, err := mlx.Read[float32](s, b.confidence)
		if err != nil {
			return nil, err
		}
		b.trust = float64(x[0])
	}
	tokens, err := b.draw.read(s)
	if err != nil {
		return nil, err
	}
	tokens = tokens[:accepted+1]
	if bad := slices.IndexFunc(tokens, Token.isInvalid); bad >= 0 {
		tokens = tokens[:bad+1] // the rest is void
	}
	return tokens, nil
}

// commit rolls back the rejected rows and returns the tokens whose rows stay: the newest one and
// the accepted drafts.
func (b *block) commit(s *mlx.Scope, read []Token) (kept []int32, err error) {
	accepted := len(read) - 1
	if b.undone = b.before != nil && accepted < b.n; b.undone {
		err = b.before.restore(s)
	} else {
		err = b.trim(b.n - accepted)
	}
	if err != nil {
		return nil, err
	}
	kept = append(kept, b.tokens[len(b.tokens)-1])
	for _, tok := range read[:accepted] {
		kept = append(kept, tok.ID)
	}
	if accepted > 0 {
		b.observe(s, mlx.New(s, kept[1:], accepted), len(b.tokens)+accepted)
	}
	return kept, nil
}

// release frees what was held for the round, which may have failed.
func (b *block) release(s *mlx.Scope, failed bool) {
	b.before.free()
	if failed {
		b.sampler.Release(s)
	}
}
