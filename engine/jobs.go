package engine

import (
	"context"

	"tandem/engine/mlx"
)

// addJob has the scheduler run f between two rounds. It reports false if the engine is
// closed: then f never runs.
func (e *Engine) addJob(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.jobs = append(e.jobs, f)
	e.notify()
	e.signal()
	return true
}

// runJobs runs the jobs that wait.
func (e *Engine) runJobs() {
	e.mu.Lock()
	list := e.jobs
	e.jobs = nil
	e.mu.Unlock()
	for _, f := range list {
		f()
	}
}

// Forget gives up all texts that are kept in memory. Then it calls remove, which may delete
// what is on disk: until remove returns nothing is restored from there or written there.
// Requests in flight and in the queue go on and leave nothing. The error is remove's.
func (e *Engine) Forget(remove func() error) error {
	done := make(chan error, 1)
	added := e.addJob(func() {
		e.dropCheckpoints()
		e.mu.Lock()
		e.forgets++
		e.mu.Unlock()
		if e.opts.Store != nil {
			e.opts.Store.Settle()
			defer e.opts.Store.Refresh()
		}
		done <- remove()
	})
	if !added {
		<-e.stopped
		return remove()
	}
	return <-done
}

// SetCheckpoints changes Options.Checkpoints, in bytes, between two rounds. What is beyond
// the new bound leaves the memory.
func (e *Engine) SetCheckpoints(bytes int64) { e.addJob(func() { e.resizeCheckpoints(bytes) }) }

// FreeCheckpoints is SetCheckpoints, and returns the bytes that left the memory, because the
// machine is short of it. It waits for the round in progress. What MLX holds for reuse goes back to
// the system too. An engine that is closed frees nothing.
func (e *Engine) FreeCheckpoints(bytes int64) (freed int64) {
	done := make(chan int64, 1)
	added := e.addJob(func() {
		freed := e.resizeCheckpoints(bytes)
		err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
			s.ClearCache()
			return nil
		})
		if err != nil {
			e.opts.Logger.Error("giving memory back to the system", "error", err)
		}
		done <- freed
	})
	if !added {
		return 0
	}
	return <-done
}

// resizeCheckpoints gives checkpoints another budget, and returns the bytes that left the memory for
// it. The scheduler calls it between two rounds.
func (e *Engine) resizeCheckpoints(bytes int64) (freed int64) {
	same := e.opts.Checkpoints == bytes
	e.opts.Checkpoints = bytes
	if same || e.trie == nil {
		return 0
	}
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		before := e.trie.Bytes()
		err := e.trie.Resize(s, bytes)
		freed = max(0, before-e.trie.Bytes())
		return err
	})
	if err != nil {
		e.opts.Logger.Error("giving checkpoints another budget", "error", err)
		e.dropCheckpoints() // what was moved may be in two places, or in none
	}
	return freed
}
