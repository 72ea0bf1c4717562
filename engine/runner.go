package engine

import (
	"context"
	"errors"
	"log/slog"

	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A runner evaluates the rounds of tasks on the MLX thread: chunks of prompts (prefill.go), plain steps
// (step.go) and rounds with drafts (verify.go). State that lasts from round to round is in the tasks. It
// belongs to the scheduler's goroutine.
type runner struct {
	thread *mlx.Thread
	model  lm.Model
	vocab  int
	chunk  int // prompt rows per forward
	log    *slog.Logger

	drafters    *drafters
	planner     *planner // learns what rounds cost
	checkpoints *checkpoints
	pauses      *pauses
}

// finishFailed ends the tasks of a round that failed with err. It does nothing if err is nil. Other
// tasks continue.
func (r *runner) finishFailed(err error, tasks ...*task) {
	if err == nil {
		return
	}
	failed := roundError(r.log, err)
	r.checkpoints.drop() // some share arrays with the caches of these tasks
	for _, t := range tasks {
		t.broken = true
		r.finish(t, failed)
	}
}

// finish ends a task: it saves its state for later requests and frees everything. err is nil for a
// completed generation.
func (r *runner) finish(t *task, err error) {
	if t.finished {
		return
	}
	t.finished = true
	if t.caches != nil {
		freed := work(r.thread, func(s *mlx.Scope) error {
			if t.broken {
				return nil
			}
			if err := t.rollback(); err != nil {
				return err
			}
			if err := r.flush(s, t); err != nil {
				return err
			}
			now := r.kvBytes(t)
			t.stats.KVExact, t.stats.KVWindow, t.stats.KVRestored = now.Exact, now.Window,
				now.Restored+now.Source
			if t.path == nil {
				return nil
			}
			if t.inFlight != nil && t.fed == len(t.tokens) {
				r.drafters.commitNewest(s, t) // cancelled: the row of the step in flight is kept
			}
			return r.checkpoints.keepState(s, t)
		}, t)
		// In a call of its own, so that memory is freed even if the rollback failed.
		freed = errors.Join(freed, r.thread.Do(context.Background(), func(s *mlx.Scope) error {
			t.free(s)
			t.stats.CheckpointBytes = r.checkpoints.bytes()
			return nil
		}))
		if freed != nil {
			r.log.Error("a request could not be freed", "error", freed)
		}
	}
	t.end(err, r.drafters.whyPlain(t), r.thread.Memory().Peak)
}

// kvBytes measures what a task's caches hold, on the MLX thread.
func (r *runner) kvBytes(t *task) lm.KVBytes {
	if m, ok := r.model.(lm.BoundedModel); ok {
		return m.Bytes(t.caches)
	}
	return lm.KVBytes{Exact: t.caches.Bytes()}
}

// resetPeak begins a new measurement of memory.
func (r *runner) resetPeak() {
	err := r.thread.Do(context.Background(), func(s *mlx.Scope) error { s.ResetPeak(); return nil })
	if err != nil {
		r.log.Warn("the peak of MLX's memory could not be reset", "error", err)
	}
}
