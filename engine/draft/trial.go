package draft

import (
	"slices"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

const (
	trialTokens = 256 // tokens of plain decoding that a trial looks at
	trialStride = 4   // of them, from one block to the next
)

// A Trial measures which of several block networks of one target drafts best. It decodes a text
// plainly and lets each network draft how it goes on. All of them read the same layers. It works in
// pieces of one forward each, so that requests can go between them.
type Trial struct {
	target lm.Model
	blocks []Block
	opts   cache.Options
	tokens []int32
	prompt int
	fed    int // tokens in the target's caches, and in the contexts

	caches   cache.Stack
	contexts []cache.Stack // by block
	next     int           // block to draft with next, after the newest token
	said     []trialBlock
	ended    bool
}

// A trialBlock is what the blocks said at one position.
type trialBlock struct {
	at     int // of the first drafted token
	tokens [][]int32
}

// NewTrial makes the trial of a prompt. Target and blocks belong to the caller and must outlive it.
// opts are the options of the target's caches; drafters' caches have no fewer bits.
func NewTrial(target lm.Model, blocks []Block, opts cache.Options, prompt []int32) *Trial {
	t := &Trial{
		target: target, blocks: blocks, opts: opts,
		tokens: slices.Clone(prompt), prompt: len(prompt), caches: target.NewCaches(opts),
	}
	opts.Bits = 0
	for _, b := range blocks {
		t.contexts = append(t.contexts, b.NewCaches(opts))
	}
	return t
}

// Step does the next piece and reports whether there is another.
func (t *Trial) Step(s *mlx.Scope) (more bool, err error) {
	atBlock := t.fed >= t.prompt && (t.fed-t.prompt)%trialStride == 0
	if t.fed == len(t.tokens)-1 && atBlock && t.next < len(t.blocks) {
		return true, t.draftNext(s)
	}
	if t.ended || len(t.tokens)-t.prompt >= trialTokens {
		return false, nil
	}
	return true, t.decode(s)
}

// decode evaluates the next tokens and draws one after the last.
func (t *Trial) decode(s *mlx.Scope) error {
	n := min(len(t.tokens)-t.fed, t.opts.MaxRows())
	out := t.target.Forward(s, lm.Batch{{
		Tokens: mlx.New(s, t.tokens[t.fed:t.fed+n], n), N: n, Pos: t.fed, Caches: t.caches,
	}}, t.blocks[0].Taps())
	token := s.AsType(s.Argmax(t.target.Unembed(s, s.Slice(out.Hidden, 0, n-1, n)), -1), mlx.Int32)
	for i, b := range t.blocks {
		b.Context(s, out.Taps, t.fed, t.contexts[i])
	}
	if err := s.Eval(append(t.arrays(), token)...); err != nil {
		return err
	}
	ids, err := mlx.Read[int32](s, token)
	if err != nil {
		return err
	}
	t.fed, t.next = t.fed+n, 0
	if t.fed == len(t.tokens) {
		t.tokens = append(t.tokens, ids[0])
		t.ended = slices.Contains(t.target.Config().EOS, ids[0])
	}
	return nil
}

// draftNext lets the next block draft after the newest token.
func (t *Trial) draftNext(s *mlx.Scope) error {
	b := t.blocks[t.next]
	hidden := b.Forward(s, nil, mlx.New(s, t.tokens[t.fed:], 1), b.BlockSize()-1, t.fed,
		t.contexts[t.next])
	vocab := t.target.Config().VocabSize
	greedy := sample.New(s, sample.Params{}, 0, vocab, nil)
	defer greedy.Free()
	how := proposer{block: b, forbid: forbidMask(s, b, vocab), vocab: vocab, sampler: greedy,
		pos: t.fed + 1}
	tokens := how.proposal(s, hidden, t.tokens[t.fed]).Tokens
	if err := s.Eval(append(t.arrays(), tokens)...); err != nil {
		return err
	}
	read, err := mlx.Read[int32](s, tokens)
	if err != nil {
		return err
	}
	if t.next == 0 {
		t.said = append(t.said, trialBlock{at: len(t.tokens)})
	}
	g := &t.said[len(t.said)-1]
	g.tokens = append(g.tokens, read)
	t.next++
	return nil
}

func (t *Trial) arrays() []*mlx.Array {
	var list []*mlx.Array
	for _, caches := range append(t.contexts, t.caches) {
		list = append(list, caches.Arrays()...)
	}
	return list
}

// Scores returns for each block network the tokens that a verify of its whole block would have given
// on average, at least 1. n is the number of blocks that count: their text was decoded to their end.
func (t *Trial) Scores() (scores []float64, n int) {
	scores = make([]float64, len(t.blocks))
	for _, g := range t.said {
		came := t.tokens[g.at:]
		if len(g.tokens) < len(t.blocks) || len(came) < len(g.tokens[0]) {
			continue
		}
		n++
		for i, tokens := range g.tokens {
			scores[i]++
			for j := range tokens {
				if tokens[j] != came[j] {
					break
				}
				scores[i]++
			}
		}
	}
	for i := range scores {
		scores[i] /= float64(max(n, 1))
	}
	return scores, n
}

// Free releases what the trial holds.
func (t *Trial) Free(s *mlx.Scope) {
	for _, caches := range append(t.contexts, t.caches) {
		caches.Free(s)
	}
	t.caches, t.contexts = nil, nil
}
