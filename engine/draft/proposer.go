package draft

import (
	"math"

	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A CutBlock is a Block whose logits may cover only some tokens. That saves time and costs some
// acceptance.
type CutBlock interface {
	Block

	// Vocabulary returns the ids (C) int32, ascending, that the logits (n, C) of Unembed cover. It
	// belongs to the block. nil means all tokens.
	Vocabulary() *mlx.Array
}

// vocabularyOf returns the tokens that a block's logits cover, or nil for all.
func vocabularyOf(b Block) *mlx.Array {
	if cut, ok := b.(CutBlock); ok {
		return cut.Vocabulary()
	}
	return nil
}

// forbidMask returns what is added to a block's logits, (1, C) float32: -inf for the mask token.
func forbidMask(s *mlx.Scope, b Block, vocab int) *mlx.Array {
	forbid := make([]float32, vocab)
	forbid[b.MaskToken()] = float32(math.Inf(-1))
	mask := mlx.New(s, forbid, 1, vocab)
	if ids := vocabularyOf(b); ids != nil {
		mask = s.Take(mask, ids, 1)
	}
	return mask
}

// A proposer makes a proposal of the rows of one block. All is lazy.
type proposer struct {
	block   Block
	forbid  *mlx.Array      // see forbidMask
	vocab   int             // of the target
	sampler *sample.Sampler // the request's own
	pos     int             // of the first draft

	ids *mlx.Array // (C), nil for all tokens
}

// proposal drafts a token for each row of hidden (n, H), which the block made. last is the token
// before them.
func (p proposer) proposal(s *mlx.Scope, hidden *mlx.Array, last int32) Proposal {
	if p.ids = vocabularyOf(p.block); p.ids != nil {
		p.sampler = p.sampler.Over(s, p.ids)
	}
	logits := s.Add(s.AsType(p.block.Unembed(s, hidden), mlx.Float32), p.forbid)
	if b, ok := isMarkov(p.block); ok {
		return p.correct(s, b, hidden, logits, last)
	}
	x := p.sampler.Process(s, logits, nil, nil)
	if b, ok := p.block.(PathBlock); ok && b.Candidates() > 0 {
		return p.walk(s, b, hidden, x, last)
	}
	drafts := Proposal{N: x.Dim(0), Tokens: p.tokens(s, p.sampler.Choose(s, x, p.pos)), LogQ: x,
		Confidence: Confidence(s, x)}
	if p.ids != nil {
		drafts.LogQ = p.spread(s, s.BroadcastTo(s.Reshape(p.ids, 1, x.Dim(1)), x.Shape()...), x)
	}
	return drafts
}

// tokens returns the tokens at places of the block's vocabulary.
func (p *proposer) tokens(s *mlx.Scope, at *mlx.Array) *mlx.Array {
	if p.ids == nil {
		return at
	}
	return s.Take(p.ids, at, 0)
}

// spread returns distributions (n, V) with x (n, K) at the tokens ids (n, K), and no mass elsewhere.
func (p *proposer) spread(s *mlx.Scope, ids, x *mlx.Array) *mlx.Array {
	none := s.BroadcastTo(s.Scalar(math.Inf(-1), mlx.Float32), x.Dim(0), p.vocab)
	return s.PutAlong(none, ids, x, -1)
}
