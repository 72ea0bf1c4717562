package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// schedule runs rounds until the engine is closed. A round is at most one chunk of a prompt or a
// reading, and one decode step. So answers go on between the chunks of a long prompt, and a short
// prompt waits for one chunk or two.
func (e *Engine) schedule() {
	defer close(e.stopped)
	var active []*task
	idle := true
	defer func() {
		if !idle {
			e.opts.ThreadShare.end()
		}
		e.opts.ThreadShare.setShort(e, nil)
	}()
	for turn := 0; ; turn++ {
		active = slices.DeleteFunc(active, e.ended)
		e.readers = slices.DeleteFunc(e.readers, e.readingEnded)
		closed := false
		active, closed = e.admit(active)
		e.opts.ThreadShare.setShort(e, e.shortWork(active))
		e.runJobs()
		if closed {
			e.finishReadings(errClosed)
			for _, t := range active {
				e.finish(t, errClosed)
			}
			e.savePolicies() // no pause came between the last round and Close
			e.dropCheckpoints()
			return
		}
		if len(active)+len(e.readers) == 0 {
			if !idle {
				e.opts.ThreadShare.end()
			}
			idle = true
			e.savePolicies()
			<-e.wake
			continue
		}
		if idle {
			idle = false
			e.opts.ThreadShare.begin()
			e.resetPeak()
		}
		e.readChunk(active, turn)
		sole := len(active) == 1 && len(e.readers) == 0
		if sole {
			clear(e.batchPolicy.costs) // other requests, other lengths
		}
		followed := e.catchUpDraft(active)
		alone := sole && !followed && !e.opts.ThreadShare.others()
		e.plan(active, alone)
		var plain []*task
		for _, t := range active {
			if !t.decoding() {
				continue
			}
			if t.inFlight == nil && (t.choice.Depth > 0 || t.carried() > 0 || !t.pipelined()) {
				e.runRound([]*task{t}, e.verify, alone)
			} else {
				plain = append(plain, t)
			}
		}
		if len(plain) > 0 {
			e.runRound(plain, e.step, alone)
		}
		active = slices.DeleteFunc(active, func(t *task) bool { return t.finished })
	}
}

// resetPeak begins a new measurement of memory, unless another engine has one under way.
func (e *Engine) resetPeak() {
	if e.opts.ThreadShare.others() {
		return
	}
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error { s.ResetPeak(); return nil })
	if err != nil {
		e.opts.Logger.Warn("resetting the peak of MLX's memory", "error", err)
	}
}

// chunk evaluates the next chunk of a prompt or of a reading. The two kinds take turns, so
// that neither waits for a long one of the other.
func (e *Engine) readChunk(active []*task, turn int) {
	var tasks []*task
	var prompts, texts []pending
	for _, t := range active {
		if t.prefilling() && !t.finished {
			tasks = append(tasks, t)
			prompts = append(prompts, pending{t.client(), t.remaining(), t.arrived})
		}
	}
	for _, t := range e.readers {
		texts = append(texts, pending{t.client(), t.stats.PromptTokens - t.done, t.arrived})
	}
	switch both := len(prompts) > 0 && len(texts) > 0; {
	case len(texts) > 0 && (!both || turn%2 == 1):
		next := e.readShares.next(texts)
		e.yield(texts[next])
		e.readRound(e.readers[next])
	case len(prompts) > 0:
		next := e.promptShares.next(prompts)
		e.yield(prompts[next])
		e.runRound([]*task{tasks[next]}, e.prefill, false)
	}
}

// yield lets short work of other engines pass before a chunk of a long text. A short request
// takes the thread several times, and would wait for a chunk each time.
func (e *Engine) yield(p pending) {
	if p.rest > e.opts.Chunk {
		e.opts.ThreadShare.yield(e)
	}
}

// savePolicies stores what was learned of drafting.
func (e *Engine) savePolicies() {
	if err := e.selector.Save(); err != nil {
		e.opts.Logger.Warn("keeping what was learned of drafting", "error", err)
	}
}

// runRound runs one piece of work. If it fails or panics, all its tasks fail. Other tasks and the
// next round go on.
func (e *Engine) runRound(tasks []*task, work func(tasks []*task, alone bool) error, alone bool) {
	err := work(tasks, alone)
	if err == nil {
		return
	}
	failed := e.roundError(err)
	e.dropCheckpoints() // some lie in the caches of these tasks
	for _, t := range tasks {
		t.broken = true
		e.finish(t, failed)
	}
}

// roundError is the error of a request whose round failed.
func (e *Engine) roundError(err error) *Error {
	if p, ok := errors.AsType[*mlx.PanicError](err); ok {
		e.opts.Logger.Error("panic on the MLX thread", "panic", p.Value, "stack", string(p.Stack))
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	return &Error{Code: CodeInternal,
		Message: "the model failed to evaluate; the request was given up", Err: err}
}

// finish ends a task: it frees what it holds, completes its stats and closes its mailbox. err is
// nil for a generation that came to its end.
func (e *Engine) finish(t *task, err error) {
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
			if err := e.flush(s, t); err != nil {
				return err
			}
			now := e.measure(t)
			t.stats.KVExact, t.stats.KVOwn, t.stats.KVRestored = now.Exact, now.Own,
				now.Restored+now.Source
			if t.path == nil {
				return nil
			}
			if t.inFlight != nil && t.fed == len(t.tokens) {
				e.tellNewest(s, t) // cancelled, its row stays
			}
			return e.keepState(s, t)
		})
		// Apart, so that a failed rollback still frees.
		freed = errors.Join(freed, e.thread.Do(context.Background(), func(s *mlx.Scope) error {
			t.free(s)
			if e.trie != nil {
				t.stats.CheckpointBytes = e.trie.Bytes()
			}
			return nil
		}))
		e.setHeld(t, lm.KVBytes{})
		if freed != nil {
			e.opts.Logger.Error("letting go of a request", "error", freed)
		}
	}
	now := time.Now()
	t.stats.Err = err
	t.stats.CompletionTokens = t.generated()
	t.stats.Total = now.Sub(t.arrived)
	switch {
	case !t.first.IsZero():
		t.stats.Decode = t.last.Sub(t.first)
	case t.begun.IsZero():
		t.stats.Queue = now.Sub(t.arrived)
	case t.stats.Prefill == 0:
		t.stats.Prefill = now.Sub(t.begun)
	}
	if t.stats.Drafted == 0 && t.stats.NoDrafter == "" {
		t.stats.NoDrafter = e.whyPlain(t)
	}
	if !t.begun.IsZero() {
		t.texts().Add(t.said())
	}
	t.stats.PeakBytes = e.thread.Memory().Peak
	t.mail.close()
	close(t.left)
}
