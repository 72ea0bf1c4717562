package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"tandem/engine/mlx"
)

// schedule runs rounds until the engine is closed. A round is at most one
// prefill chunk and one decode step, so a request that is admitted while a long
// prompt is being read waits for one chunk, and running answers go on between
// the chunks.
func (e *Engine) schedule() {
	defer close(e.stopped)
	var active []*task
	idle := true
	for turn := 0; ; turn++ {
		closed := false
		active, closed = e.admit(active)
		e.run()
		e.takeReadings(active)
		if closed {
			e.endReadings(errClosed)
			for _, t := range active {
				e.leave(t, errClosed)
			}
			e.save() // nobody idled between the last round and Close
			e.forget()
			return
		}
		active = slices.DeleteFunc(active, func(t *task) bool {
			if err := t.ctx.Err(); err != nil {
				e.leave(t, err)
			}
			return t.finished
		})
		if len(active)+len(e.readers) == 0 {
			e.save()
			<-e.wake
			idle = true
			continue
		}
		if idle {
			idle = false
			if err := e.thread.Do(context.Background(), func(s *mlx.Scope) error { s.ResetPeak(); return nil }); err != nil {
				e.opts.Logger.Warn("resetting the peak of MLX's memory", "error", err)
			}
		}
		e.chunk(active, turn)
		alone, together := len(active) == 1 && len(e.readers) == 0, 0
		if alone {
			clear(e.crowd.costs) // other requests, other lengths
		}
		for _, t := range active {
			if t.shares() {
				together++
			}
		}
		var plain []*task
		for _, t := range active {
			if !t.decoding() {
				continue
			}
			if e.plan(t, alone, together); t.finished {
				continue
			}
			if t.flight == nil && (t.choice.Depth > 0 || t.carried() > 0 || !t.pipelined()) {
				e.round([]*task{t}, e.verify, alone)
			} else {
				plain = append(plain, t)
			}
		}
		if len(plain) > 0 {
			e.round(plain, e.step, alone)
		}
		active = slices.DeleteFunc(active, func(t *task) bool { return t.finished })
	}
}

// chunk evaluates the next chunk of a prompt or of a reading, in turns where there
// are both.
func (e *Engine) chunk(active []*task, turn int) {
	if t := e.nextReading(turn); t != nil {
		if nextPrefill(active, turn) == nil || turn%2 == 1 {
			e.readRound(t)
			return
		}
		turn /= 2 // of prompts alone
	}
	if t := nextPrefill(active, turn); t != nil {
		e.round([]*task{t}, e.prefill, false)
	}
}

// save keeps what was learned of drafting.
func (e *Engine) save() {
	if err := e.selector.Save(); err != nil {
		e.opts.Logger.Warn("keeping what was learned of drafting", "error", err)
	}
}

// admit moves waiting requests to the active ones, in the order in which they
// came but for short ones, while there is room, and lets go of those cancelled in
// the queue. After Close it moves all.
func (e *Engine) admit(active []*task) (_ []*task, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := e.waiting[:0]
	for _, t := range e.waiting {
		switch {
		case t.ctx.Err() != nil && !e.closed:
			e.leave(t, t.ctx.Err())
		case e.admits(active, t, len(kept) > 0) || e.closed:
			active = append(active, t)
		default:
			kept = append(kept, t)
		}
	}
	clear(e.waiting[len(kept):])
	e.waiting = kept
	return active, e.closed
}

// admits reports whether a request may join the active ones, ahead of others that
// wait if it overtakes. Short ones do in the room that is theirs. Nobody waits
// for them: those in it do not count against the others.
func (e *Engine) admits(active []*task, t *task, overtakes bool) bool {
	switch {
	case len(active)+len(e.readers) >= e.opts.Active:
		return false
	case len(active)+len(e.readers) == 0 || e.opts.Text == nil:
		return !overtakes
	}
	kept := min(e.opts.Text(e.opts.Short), max(0, e.opts.Room-e.opts.Text(e.opts.ContextLength)))
	short, long := int64(0), e.held()
	for _, other := range active {
		if n := e.opts.Text(other.most()); other.most() <= e.opts.Short {
			short += n
		} else {
			long += n
		}
	}
	need := e.opts.Text(t.most())
	if t.most() <= e.opts.Short && short+need <= kept {
		return true
	}
	return !overtakes && long+max(short, kept)+need <= e.opts.Room
}

// nextPrefill picks whose chunk comes next: the shortest rest, so that a short
// request is not stuck behind a long one, and every fourth turn the oldest, so
// that a long one is not starved by many short ones.
func nextPrefill(active []*task, turn int) *task {
	var list []*task
	for _, t := range active {
		if t.prefilling() && !t.finished {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if turn%4 == 3 {
		return slices.MinFunc(list, func(a, b *task) int { return a.arrived.Compare(b.arrived) })
	}
	return slices.MinFunc(list, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.remaining(), b.remaining()), a.arrived.Compare(b.arrived))
	})
}

// round runs one piece of work. If it fails or panics, all tasks that shared
// it do; the others and the next round go on.
func (e *Engine) round(tasks []*task, work func(tasks []*task, alone bool) error, alone bool) {
	err := work(tasks, alone)
	if err == nil {
		return
	}
	failed := e.failure(err)
	e.forget() // some lie in the caches of these tasks
	for _, t := range tasks {
		t.broken = true
		e.leave(t, failed)
	}
}

// failure is what a request hears whose round failed.
func (e *Engine) failure(err error) *Error {
	if p, ok := errors.AsType[*mlx.PanicError](err); ok {
		e.opts.Logger.Error("panic on the MLX thread", "panic", p.Value, "stack", string(p.Stack))
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	return &Error{Code: CodeInternal, Message: "the model failed to evaluate; the request was given up", Err: err}
}

// leave ends a task: it frees what it holds, completes its stats and closes
// its mailbox. err is nil for a generation that came to its end.
func (e *Engine) leave(t *task, err error) {
	if t.finished {
		return
	}
	t.finished = true
	if t.caches != nil {
		freed := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
			if t.broken {
				return nil
			}
			if err := t.rollback(); err != nil {
				return err
			}
			if err := e.flush(s, t); err != nil || t.path == nil {
				return err
			}
			if t.flight != nil && t.fed == len(t.tokens) {
				e.report(s, t) // cancelled, its row stays
			}
			return e.keep(s, t)
		})
		// Apart, so that a failed rollback still frees.
		freed = errors.Join(freed, e.thread.Do(context.Background(), func(s *mlx.Scope) error {
			t.free(s)
			if e.trie != nil {
				t.stats.CheckpointBytes = e.trie.Bytes()
			}
			return nil
		}))
		if freed != nil {
			e.opts.Logger.Error("letting go of a request", "error", freed)
		}
	}
	now := time.Now()
	t.stats.Err = err
	t.stats.CompletionTokens = t.generated()
	t.stats.Total = now.Sub(t.arrived)
	if !t.first.IsZero() {
		t.stats.Decode = t.last.Sub(t.first)
	}
	if t.stats.Drafted == 0 && t.stats.NoDrafter == "" {
		t.stats.NoDrafter = e.plainly(t)
	}
	t.stats.PeakBytes = e.thread.Memory().Peak
	t.mail.close()
	close(t.left)
}
