package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// encoder evaluates the encode requests in flight, chunk by chunk. It belongs to the scheduler's goroutine.
type encoder struct {
	thread *mlx.Thread
	model  lm.Model
	caches cacheOptions
	chunk  int // rows per forward
	log    *slog.Logger
	pauses *pauses

	inFlight []*encodeTask
	shares   fairShares
}

// add puts encode requests into flight.
func (r *encoder) add(list ...*encodeTask) { r.inFlight = append(r.inFlight, list...) }

// dropCancelled ends the encode requests that were cancelled, unless a chunk of theirs is under way.
func (r *encoder) dropCancelled(reading func(any) bool) {
	r.inFlight = slices.DeleteFunc(r.inFlight, func(t *encodeTask) bool {
		if err := t.ctx.Err(); err != nil && !reading(t) {
			r.finish(t, err)
		}
		return t.finished
	})
}

// An encodeChunk is a forward over some texts of an encode request.
type encodeChunk struct {
	task   *encodeTask
	pieces []piece // which have the caches until they are free or handed on
	rows   []float32
	width  int
}

// run evaluates the next chunk of an encode request. Like runner.prefill it may only begin to, and return what
// is under way.
func (r *encoder) run(t *encodeTask) *underWay {
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.stats.Queue = t.begun.Sub(t.arrived)
		t.report()
	}
	c := &encodeChunk{task: t, pieces: t.pieces(r.chunk)}
	t.caches = nil
	long := false
	err := r.thread.Do(context.Background(), func(s *mlx.Scope) error {
		if long = r.pauses.worth(c.size()); long {
			return nil
		}
		return r.evaluateChunk(s, c)
	})
	if !long || err != nil {
		r.finishChunk(c, err)
		return nil
	}
	return evaluateBeside(t, func() {
		err = r.pauses.do(t.remaining() > r.chunk, func(s *mlx.Scope) error { return r.evaluateChunk(s, c) })
	}, func() { r.finishChunk(c, err) })
}

// size returns the rows of the forward.
func (c *encodeChunk) size() (rows int) {
	for _, p := range c.pieces {
		rows += p.n
	}
	return rows
}

// evaluateChunk evaluates a chunk, with pauses if that is worth it.
func (r *encoder) evaluateChunk(s *mlx.Scope, c *encodeChunk) (err error) {
	ok := false
	defer func() {
		if ok {
			return
		}
		for _, p := range c.pieces { // after a panic too; freed ones are empty
			p.caches.Free(s)
		}
	}()
	live := func() (arrays []*mlx.Array) {
		for _, p := range c.pieces {
			arrays = append(arrays, p.caches.Arrays()...)
		}
		return arrays
	}
	err = r.pauses.run(s, c.size(), live, func() (err error) {
		c.rows, c.width, err = r.evaluate(s, c.task, c.pieces)
		return err
	})
	if err == nil && !allNumbers(c.rows) {
		err = errNoNumbers
	}
	s.ClearCache()
	ok = err == nil && s.Err() == nil
	return err
}

// finishChunk takes in what a chunk gave, or gives up its encode request; the others go on.
func (r *encoder) finishChunk(c *encodeChunk, err error) {
	t := c.task
	if err != nil {
		r.finish(t, roundError(r.log, err))
	} else {
		rows := c.rows
		for _, p := range c.pieces {
			from, to := t.wantedRows(p)
			n := (to - from) * c.width
			t.addPiece(p, rows[:n], c.width)
			rows = rows[n:]
		}
		t.report()
		if t.next == len(t.Sequences) {
			r.finish(t, nil)
		}
	}
	r.inFlight = slices.DeleteFunc(r.inFlight, func(t *encodeTask) bool { return t.finished })
}

// evaluate runs the forward of a round and returns the wanted rows in order, width numbers each. It
// frees the caches of texts that end before it evaluates, so that their buffers live no longer than
// their layer, or than the forward if that has pauses.
func (r *encoder) evaluate(s *mlx.Scope, t *encodeTask,
	list []piece) (rows []float32, width int, err error) {
	var b lm.Batch
	for i := range list {
		p := &list[i]
		tokens := t.Sequences[p.sequence]
		if p.caches == nil {
			p.caches = r.model.NewCaches(r.caches.ofModel(len(tokens)))
		}
		b = append(b, lm.Sequence{
			Tokens: mlx.New(s, tokens[p.from:p.from+p.n], p.n), N: p.n, Pos: p.from, Caches: p.caches,
		})
	}
	hidden := r.model.Forward(s, b, nil).Hidden // (rows, H)
	var kept, wanted []*mlx.Array
	for _, p := range list {
		if p.last {
			p.caches.Free(s)
		} else {
			kept = append(kept, p.caches.Arrays()...)
		}
		if from, to := t.wantedRows(p); from < to {
			wanted = append(wanted, s.Slice(hidden, 0, from, to))
		}
	}
	if wanted == nil {
		return nil, 0, s.Eval(kept...)
	}
	out := s.Concat(0, wanted...) // (wanted, H)
	if len(t.Logits) > 0 {
		out = s.Take(r.model.Unembed(s, out), mlx.New(s, t.Logits, len(t.Logits)), 1) // (wanted, logits)
	}
	out = s.Contiguous(s.AsType(out, mlx.Float32))
	if err := s.Eval(append(kept, out)...); err != nil {
		return nil, 0, err
	}
	width = out.Dim(1)
	rows, err = mlx.Read[float32](s, out)
	return rows, width, err
}

// finish ends an encode request: it frees what it holds and completes its stats.
func (r *encoder) finish(t *encodeTask, err error) {
	if t.finished {
		return
	}
	t.finished = true
	if t.caches != nil {
		err := r.thread.Do(context.Background(),
			func(s *mlx.Scope) error { t.caches.Free(s); return nil })
		if err != nil {
			r.log.Error("freeing the caches of a request", "error", err)
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
	t.stats.PeakBytes = r.thread.Memory().Peak
	close(t.left)
}

// finishAll ends the encode requests in flight.
func (r *encoder) finishAll(err error) {
	for _, t := range r.inFlight {
		r.finish(t, err)
	}
	r.inFlight = nil
}
