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

// dropCancelled ends the encode requests that were cancelled.
func (r *encoder) dropCancelled() {
	r.inFlight = slices.DeleteFunc(r.inFlight, func(t *encodeTask) bool {
		if err := t.ctx.Err(); err != nil {
			r.finish(t, err)
		}
		return t.finished
	})
}

// run evaluates the next chunk of an encode request. One that fails is given up; the others go on.
func (r *encoder) run(t *encodeTask) {
	err := r.evaluatePieces(t)
	switch {
	case err != nil:
		r.finish(t, roundError(r.log, err))
	case t.next == len(t.Sequences):
		r.finish(t, nil)
	}
	r.inFlight = slices.DeleteFunc(r.inFlight, func(t *encodeTask) bool { return t.finished })
}

// evaluatePieces evaluates the next chunk of an encode request.
func (r *encoder) evaluatePieces(t *encodeTask) error {
	if t.begun.IsZero() {
		t.begun = time.Now()
		t.stats.Queue = t.begun.Sub(t.arrived)
		t.report()
	}
	list := t.pieces(r.chunk)
	t.caches = nil // list has them until they are free or handed on
	var rows []float32
	width := 0
	err := r.pauses.do(t.remaining() > r.chunk, func(s *mlx.Scope) (err error) {
		ok := false
		defer func() {
			if ok {
				return
			}
			for _, p := range list { // after a panic too; freed ones are empty
				p.caches.Free(s)
			}
		}()
		n := 0
		for _, p := range list {
			n += p.n
		}
		live := func() (arrays []*mlx.Array) {
			for _, p := range list {
				arrays = append(arrays, p.caches.Arrays()...)
			}
			return arrays
		}
		err = r.pauses.run(s, n, live, func() (err error) {
			rows, width, err = r.evaluate(s, t, list)
			return err
		})
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
	t.report()
	return nil
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
