package draft

import (
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A Block is the network of a DFlash drafter: it drafts a whole block of tokens in one forward.
// Package models/dflash implements it.
type Block interface {
	// Taps lists the target's layers whose outputs Context wants, ascending.
	Taps() []int

	// BlockSize is the most rows of a block, its known tokens included.
	BlockSize() int

	// MaskToken is never proposed.
	MaskToken() int32

	// NewCaches makes the caches of one request. Their offsets count the
	// context's rows.
	NewCaches(opts cache.Options) []cache.Cache

	// Context appends rows made from taps (n, H) of n positions from pos on.
	Context(s *mlx.Scope, taps []*mlx.Array, pos int, caches []cache.Cache)

	// Forward returns hidden states (n, H) for the n positions after known (k) int32; known[0] is
	// at pos. Usually only the newest token is known. The known tokens and the n make at most
	// BlockSize rows. The caches hold only the context, before and after. Rows that the context
	// lacks before pos come as taps, as for Context, or nil: they and the block are one forward.
	Forward(s *mlx.Scope, taps []*mlx.Array, known *mlx.Array, n, pos int,
		caches []cache.Cache) *mlx.Array

	// Unembed turns what Forward returned into logits (n, V), see also CutBlock.
	Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array
}

// contextRows is how many rows of taps wait at most before they become context. While a request
// decodes plainly, the context is not read. One write of many rows costs little more than a write
// of one row, and an answer that ends before it costs nothing. With 4,096 channels in bfloat16 and
// five taps the rows take 10 MB.
const contextRows = 256

// A DFlash drafts blocks with a network that reads the target's layers. One whose rows are
// corrected is called dspark.
type DFlash struct {
	block  Block
	vocab  int        // of the target
	forbid *mlx.Array // kept, see forbidMask

	// Of every variant. They are asked for off the MLX thread, where block may be changing.
	name   string
	taps   []int
	drafts int
}

// NewDFlash makes the drafter of a block network, for a target with vocab tokens. The network
// belongs to the caller and must outlive it.
func NewDFlash(s *mlx.Scope, block Block, vocab int) *DFlash {
	name := "dflash"
	if _, ok := isMarkov(block); ok {
		name = "dspark"
	}
	return &DFlash{
		name: name, block: block, vocab: vocab, forbid: s.Keep(forbidMask(s, block, vocab)),
		taps: block.Taps(), drafts: block.BlockSize() - 1,
	}
}

// Use makes requests from the next one on use another variant of the same network. Call it on the
// MLX thread.
func (d *DFlash) Use(block Block) { d.block = block }

// Free releases what the drafter itself holds.
func (d *DFlash) Free() { d.forbid.Free() }

// Name implements Drafter.
func (d *DFlash) Name() string { return d.name }

// Taps implements Drafter.
func (d *DFlash) Taps() []int { return d.taps }

// MaxDrafts implements Drafter.
func (d *DFlash) MaxDrafts() int { return d.drafts }

// Continues reports that its drafts can follow other drafts, see CanContinue.
func (*DFlash) Continues() bool { return true }

// Open implements Drafter.
func (d *DFlash) Open(_ *mlx.Scope, o Options) (Draft, error) {
	t := &dflash{DFlash: d, block: d.block, options: o, caches: o.Context, end: o.From}
	if t.caches == nil {
		t.caches, t.first = d.block.NewCaches(o.Caches), o.From
	}
	return t, nil
}

// NewContext implements Keeper.
func (d *DFlash) NewContext(o cache.Options) cache.Stack { return d.block.NewCaches(o) }

// dflash is the draft of one request.
type dflash struct {
	*DFlash
	block   Block // as it was when this was opened: the caches are its own
	options Options
	caches  cache.Stack
	first   int // position of the context's first row, outside of windows
	end     int // position after its last row, waiting ones not counted

	// Rows that wait to become context: kept runs, with one array for each tap.
	waiting [][]*mlx.Array
	rows    int
}

// Committed implements Draft.
func (t *dflash) Committed(s *mlx.Scope, tokens []int32, from int, taps []*mlx.Array) {
	if from != t.end+t.rows {
		s.Fail(fmt.Errorf("draft: tokens at position %d follow a context of %d",
			from, t.end+t.rows))
		return
	}
	if t.rows == 0 && len(tokens) >= contextRows {
		t.write(s, taps, len(tokens))
		return
	}
	run := make([]*mlx.Array, len(taps))
	for i, tap := range taps {
		run[i] = s.Keep(tap)
	}
	t.waiting = append(t.waiting, run)
	if t.rows += len(tokens); t.rows >= contextRows {
		t.flush(s)
	}
}

// Keep implements Kept. Waiting rows become context first.
func (t *dflash) Keep(s *mlx.Scope, from, to int) ([]*cache.Snapshot, error) {
	if t.first > 0 {
		return nil, nil // snapshots say positions
	}
	if t.rows > 0 {
		t.flush(s)
		if err := s.Eval(t.caches.Arrays()...); err != nil {
			return nil, err
		}
	}
	return keepRows(s, t.caches, from, to)
}

// flush turns waiting rows into context.
func (t *dflash) flush(s *mlx.Scope) {
	taps, n := t.takeWaiting(s)
	t.write(s, taps, n)
}

// takeWaiting returns the waiting rows, taps (n, H), or nil.
func (t *dflash) takeWaiting(s *mlx.Scope) (taps []*mlx.Array, n int) {
	if t.rows == 0 {
		return nil, 0
	}
	taps = make([]*mlx.Array, len(t.waiting[0]))
	for i := range taps {
		var parts []*mlx.Array
		for _, run := range t.waiting {
			parts = append(parts, run[i])
		}
		taps[i] = s.Concat(0, parts...)
	}
	for _, run := range t.waiting {
		for _, tap := range run {
			s.Adopt(tap)
		}
	}
	n = t.rows
	t.waiting, t.rows = nil, 0
	return taps, n
}

// write appends n rows of context, in runs that the caches take: a ring may have been made for
// small chunks.
func (t *dflash) write(s *mlx.Scope, taps []*mlx.Array, n int) {
	chunk := t.options.Caches.MaxRows()
	for from := 0; from < n; from += chunk {
		to := min(from+chunk, n)
		part := taps
		if to-from < n {
			part = make([]*mlx.Array, len(taps))
			for i, tap := range taps {
				part[i] = s.Slice(tap, 0, from, to)
			}
		}
		t.block.Context(s, part, t.end, t.caches)
		t.end += to - from
	}
}

// Propose implements Draft. history may end with tokens of another draft: all its tokens after the
// context are known to the block. It proposes nothing if they fill the block.
func (t *dflash) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	pos := t.end + t.rows
	known := len(history) - pos
	if known < 1 {
		s.Fail(fmt.Errorf("draft: a block after %d tokens has a context of %d", len(history), pos))
		return Proposal{}
	}
	if n = min(n, t.block.BlockSize()-known); n < 1 {
		return Proposal{}
	}
	if t.rows+known+n > cache.MaxBlock {
		t.flush(s)
	}
	taps, rows := t.takeWaiting(s)
	hidden := t.block.Forward(s, taps, mlx.New(s, history[pos:], known), n, pos, t.caches)
	t.end += rows
	g := proposer{block: t.block, forbid: t.forbid, vocab: t.vocab, sampler: t.options.Sampler,
		pos: len(history)}
	return g.proposal(s, hidden, history[len(history)-1])
}

// Arrays implements Draft.
func (t *dflash) Arrays() []*mlx.Array {
	list := t.caches.Arrays()
	if n := len(t.waiting); n > 0 {
		list = append(list, t.waiting[n-1]...) // those before it were listed, and evaluated
	}
	return list
}

// Free implements Draft.
func (t *dflash) Free(s *mlx.Scope) {
	t.caches.Free(s)
	for _, run := range t.waiting {
		for _, tap := range run {
			tap.Free()
		}
	}
	t.waiting, t.rows = nil, 0
}
