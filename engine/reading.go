package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// MaxTexts bounds the texts of one reading. One with more is refused with CodeInvalid.
const MaxTexts = 2048

// readTexts bounds the texts that share a forward. Attention takes each text by itself, so graphs
// grow with their number.
const readTexts = 32

// A Reading asks what a model makes of texts, without an answer to them.
type Reading struct {
	// Texts hold token ids, special tokens included. Each has at least one token and fits the
	// context.
	Texts [][]int32

	// Pooling says which hidden states are returned.
	Pooling lm.Pooling

	// Logits are token ids. If there are any, the result for each text is their logits after its
	// last token, and Pooling is ignored.
	Logits []int32

	// Client is as in a Request.
	Client string

	// Progress, if set, is called as the reading begins and after each round, with the tokens read so
	// far. It runs on the scheduler's goroutine and must not wait.
	Progress func(done int)
}

// A reader is a reading in flight. The scheduler owns it. left connects it to the goroutine that
// waits for it.
type reader struct {
	Reading
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

// Read returns one row for each text, in float32: its pooled hidden states, or logits. It shares
// the device with requests and other readings chunk by chunk, and ends within one round after ctx
// does. It restores nothing and keeps nothing. An error is an *Error or ctx's.
func (e *Engine) Read(ctx context.Context, r Reading) ([][]float32, Stats, error) {
	t := &reader{Reading: r, ctx: ctx, left: make(chan struct{}), arrived: time.Now()}
	for _, text := range r.Texts {
		t.stats.PromptTokens += len(text)
	}
	if err := e.admitReading(t); err != nil {
		t.stats.Err = err
		return nil, t.stats, err
	}
	select {
	case <-t.left:
	case <-ctx.Done():
		e.signal()
		<-t.left
	}
	if t.stats.Err != nil {
		return nil, t.stats, t.stats.Err
	}
	return t.results, t.stats, nil
}

// admitReading checks a reading and puts it into the queue.
func (e *Engine) admitReading(t *reader) error {
	if err := e.checkReading(t.Reading); err != nil {
		return err
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return errClosed
	case e.queued() >= e.opts.Queue:
		return errQueueFull
	}
	e.waitingReadings.list = append(e.waitingReadings.list, t)
	e.notify()
	e.signal()
	return nil
}

// checkReading refuses what cannot be served.
func (e *Engine) checkReading(r Reading) error {
	invalid := func(format string, args ...any) error {
		return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	unknown := func(id int32) bool { return id < 0 || int(id) >= e.config.VocabSize }
	if n := len(r.Texts); n == 0 || n > MaxTexts {
		return invalid("a reading has 1 to %d texts, not %d", MaxTexts, n)
	}
	for i, text := range r.Texts {
		switch n := len(text); {
		case n == 0:
			return invalid("text %d is empty; send at least one token", i)
		case n > e.opts.ContextLength:
			return &Error{Code: CodeContextLength, Message: fmt.Sprintf(
				"This model's maximum context length is %d tokens. However, text %d has %d tokens. Please reduce its length.",
				e.opts.ContextLength, i, n)}
		}
		if at := slices.IndexFunc(text, unknown); at >= 0 {
			return invalid("token %d of text %d has id %d; the vocabulary has %d", at, i, text[at],
				e.config.VocabSize)
		}
	}
	if i := slices.IndexFunc(r.Logits, unknown); i >= 0 {
		return invalid("the logit of token %d is asked for; the vocabulary has %d", r.Logits[i],
			e.config.VocabSize)
	}
	poolings := []lm.Pooling{lm.PoolLast, lm.PoolMean, lm.PoolFirst}
	if len(r.Logits) == 0 && !slices.Contains(poolings, r.Pooling) {
		return invalid("there is no pooling %q", r.Pooling)
	}
	return nil
}

// longestText returns the most positions that the reading holds at once.
func (t *reader) longestText() int {
	n := 0
	for _, text := range t.Texts {
		n = max(n, len(text))
	}
	return n
}

// endReadings ends the readings in flight.
func (e *Engine) finishReadings(err error) {
	for _, t := range e.readers {
		e.finishReading(t, err)
	}
	e.readers = nil
}

// readRound evaluates the next chunk of a reading. One that fails is given up; the others go on.
func (e *Engine) readRound(t *reader) {
	err := e.readPieces(t)
	switch {
	case err != nil:
		e.finishReading(t, e.roundError(err))
	case t.next == len(t.Texts):
		e.finishReading(t, nil)
	}
	e.readers = slices.DeleteFunc(e.readers, func(t *reader) bool { return t.finished })
}

// A piece is what a round reads of one text: rows [at, at+n) of the forward are its tokens from
// position from on.
type piece struct {
	text        int
	at, from, n int
	last        bool // the text ends with it
	caches      cache.Stack
}

// pieces lays out the next round of at most chunk rows. It begins with the next text, or with the
// rest of one that was begun, as far as that fits. Whole texts follow as far as they fit. A round
// has at most readTexts texts. So at most one text is half read.
func (t *reader) pieces(chunk int) []piece {
	var list []piece
	rows := 0
	for i := t.next; i < len(t.Texts) && len(list) < readTexts; i++ {
		p := piece{text: i, at: rows}
		if i == t.next {
			p.from, p.caches = t.fed, t.caches
		}
		rest := len(t.Texts[i]) - p.from
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
func (t *reader) wantedRows(p piece) (from, to int) {
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

// readPieces evaluates the next chunk of a reading.
func (e *Engine) readPieces(t *reader) error {
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.stats.Queue = t.begun.Sub(t.arrived)
		t.tell()
	}
	list := t.pieces(e.opts.Chunk)
	t.caches = nil // list has them until they are free or handed on
	var rows []float32
	width := 0
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) (err error) {
		ok := false
		defer func() {
			if ok {
				return
			}
			for _, p := range list { // after a panic too; freed ones are empty
				p.caches.Free(s)
			}
		}()
		if old, ok := e.limitMemory(s); ok {
			defer s.SetMemoryLimit(old)
		}
		rows, width, err = e.evaluate(s, t, list)
		if err == nil && !allNumbers(rows) {
			err = errNoNumbers
		}
		s.ClearCache()
		ok = err == nil && s.Err() == nil
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range list {
		from, to := t.wantedRows(p)
		n := (to - from) * width
		t.addPiece(p, rows[:n], width)
		rows = rows[n:]
	}
	t.tell()
	return nil
}

// tell says how far the reading is.
func (t *reader) tell() {
	if t.Progress != nil {
		t.Progress(t.done)
	}
}

// evaluate runs the forward of a round and returns the wanted rows in order, width numbers each. It
// frees the caches of texts that end before it evaluates, so that their buffers live no longer than
// their layer.
func (e *Engine) evaluate(s *mlx.Scope, t *reader,
	list []piece) (rows []float32, width int, err error) {
	var b lm.Batch
	for i := range list {
		p := &list[i]
		text := t.Texts[p.text]
		if p.caches == nil {
			p.caches = e.model.NewCaches(e.cacheOptions(len(text)))
		}
		b = append(b, lm.Sequence{
			Tokens: mlx.New(s, text[p.from:p.from+p.n], p.n), N: p.n, Pos: p.from, Caches: p.caches,
		})
	}
	hidden := e.model.Forward(s, b, nil).Hidden // (rows, H)
	var pending, wanted []*mlx.Array
	for _, p := range list {
		if p.last {
			p.caches.Free(s)
		} else {
			pending = append(pending, p.caches.Arrays()...)
		}
		if from, to := t.wantedRows(p); from < to {
			wanted = append(wanted, s.Slice(hidden, 0, from, to))
		}
	}
	if wanted == nil {
		return nil, 0, s.Eval(pending...)
	}
	out := s.Concat(0, wanted...) // (wanted, H)
	if len(t.Logits) > 0 {
		out = s.Take(e.model.Unembed(s, out), mlx.New(s, t.Logits, len(t.Logits)), 1) // (wanted, logits)
	}
	out = s.Contiguous(s.AsType(out, mlx.Float32))
	if err := s.Eval(append(pending, out)...); err != nil {
		return nil, 0, err
	}
	width = out.Dim(1)
	rows, err = mlx.Read[float32](s, out)
	return rows, width, err
}

// addPiece takes in the rows of a piece. Means are added up row by row, so that they do not depend
// on how a text was cut.
func (t *reader) addPiece(p piece, rows []float32, width int) {
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
	t.next, t.fed = p.text+1, 0
	if mean {
		row := make([]float32, width)
		for i, x := range t.sum {
			row[i] = float32(x / float64(len(t.Texts[p.text])))
		}
		t.results = append(t.results, row)
	}
}

// finishReading ends a reading: it frees what it holds and completes its stats.
func (e *Engine) finishReading(t *reader, err error) {
	if t.finished {
		return
	}
	t.finished = true
	if t.caches != nil {
		err := e.thread.Do(context.Background(),
			func(s *mlx.Scope) error { t.caches.Free(s); return nil })
		if err != nil {
			e.opts.Logger.Error("letting go of a reading", "error", err)
		}
		t.caches = nil
	}
	now := time.Now()
	t.stats.Err, t.stats.Total = err, now.Sub(t.arrived)
	if t.begun.IsZero() {
		t.stats.Queue = now.Sub(t.arrived)
	} else {
		t.stats.Prefill = now.Sub(t.begun)
	}
	if err == nil {
		t.stats.Finish = FinishStop
	}
	t.stats.PeakBytes = e.thread.Memory().Peak
	close(t.left)
}
