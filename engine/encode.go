package engine

import (
	"context"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/lm"
)

// MaxSequences bounds the texts of one encode request. One with more is refused with CodeInvalid.
const MaxSequences = 2048

// batchSequences bounds the texts that share a forward. Attention takes each text by itself, so graphs
// grow with their number.
const batchSequences = 32

// An EncodeRequest asks what a model makes of texts, without an answer to them.
type EncodeRequest struct {
	// Sequences hold token ids, special tokens included. Each has at least one token and fits the
	// context.
	Sequences [][]int32

	// Pooling says which hidden states are returned.
	Pooling lm.Pooling

	// Logits are token ids. If there are any, the result for each text is their logits after its
	// last token, and Pooling is ignored.
	Logits []int32

	// Client is as in a Request.
	Client string

	// Progress, if set, is called as the encode request begins and after each round, with the tokens read so
	// far. It runs on the scheduler's goroutine and must not wait.
	Progress func(done int)
}

// An encodeTask is an encode request in flight. The scheduler owns it. left connects it to the
// goroutine that waits for it.
type encodeTask struct {
	EncodeRequest
	ctx  context.Context
	left chan struct{} // closed by the scheduler when it lets go; all else is final then

	results [][]float32 // of the texts before next
	next    int         // text to go on with
	fed     int         // tokens of it that caches hold
	caches  cache.Stack // nil if fed is 0
	sum     []float64   // of its hidden states so far, under PoolMean
	done    int         // tokens read, of all texts

	arrived, begun time.Time
	stats          Stats
	finished       bool
}

// cancelled reports whether nobody waits for the encode request any more.
func (t *encodeTask) cancelled() bool { return t.ctx.Err() != nil }

// maxPositions returns the most positions that the encode request holds at once.
func (t *encodeTask) maxPositions() int {
	n := 0
	for _, tokens := range t.Sequences {
		n = max(n, len(tokens))
	}
	return n
}

// remaining returns how many tokens are still to be read.
func (t *encodeTask) remaining() int { return t.stats.PromptTokens - t.done }

// A piece is what a round reads of one text: rows [at, at+n) of the forward are its tokens from
// position from on.
type piece struct {
	sequence    int
	at, from, n int
	last        bool // the text ends with it
	caches      cache.Stack
}

// pieces lays out the next round of at most chunk rows. It begins with the next text, or with the
// rest of one that was begun, as far as that fits. Whole texts follow as far as they fit. A round
// has at most readTexts texts. So at most one text is half read.
func (t *encodeTask) pieces(chunk int) []piece {
	var list []piece
	rows := 0
	for i := t.next; i < len(t.Sequences) && len(list) < batchSequences; i++ {
		p := piece{sequence: i, at: rows}
		if i == t.next {
			p.from, p.caches = t.fed, t.caches
		}
		rest := len(t.Sequences[i]) - p.from
		if len(list) > 0 && rest > chunk-rows {
			break
		}
		p.n = min(rest, chunk)
		p.last = p.n == rest
		rows += p.n
		list = append(list, p)
	}
	return list
}

// wantedRows returns the rows [from, to) of a piece whose hidden states are wanted.
func (t *encodeTask) wantedRows(p piece) (from, to int) {
	switch {
	case len(t.Logits) > 0 || t.Pooling == lm.PoolLast:
		if p.last {
			return p.at + p.n - 1, p.at + p.n
		}
	case t.Pooling == lm.PoolFirst:
		if p.from == 0 {
			return p.at, p.at + 1
		}
	default:
		return p.at, p.at + p.n
	}
	return 0, 0
}

// addPiece takes in the rows of a piece. Means are added up row by row, so that they do not depend
// on how a text was cut.
func (t *encodeTask) addPiece(p piece, rows []float32, width int) {
	t.done += p.n
	if p.from == 0 {
		t.sum = nil
	}
	mean := len(t.Logits) == 0 && t.Pooling == lm.PoolMean
	if mean {
		if t.sum == nil {
			t.sum = make([]float64, width)
		}
		for i, x := range rows {
			t.sum[i%width] += float64(x)
		}
	} else if len(rows) > 0 {
		t.results = append(t.results, slices.Clone(rows))
	}
	if !p.last {
		t.fed, t.caches = p.from+p.n, p.caches
		return
	}
	t.next, t.fed = p.sequence+1, 0
	if mean {
		row := make([]float32, width)
		for i, x := range t.sum {
			row[i] = float32(x / float64(len(t.Sequences[p.sequence])))
		}
		t.results = append(t.results, row)
	}
}

// report calls Progress.
func (t *encodeTask) report() {
	if t.Progress != nil {
		t.Progress(t.done)
	}
}
