package engine

import (
	"cmp"
	"slices"
	"time"

	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A plainStep is one round of plain decoding that its tasks share.
type plainStep struct {
	tasks       []*task
	pending     []*task // have a token in flight, which is read
	dispatching []*task // get their next token dispatched
	next        []*draw // of dispatching

	read   map[*task]Token // of pending
	failed map[*task]error // of dispatching, where a grammar failed
	syncs  int64
	cost   time.Duration
}

// newPlainStep sorts tasks by their part in the step. A task whose next round is a block
// gets no successor of the token in flight. One that comes from a block has none to read.
func newPlainStep(tasks []*task) *plainStep {
	p := &plainStep{tasks: tasks, read: map[*task]Token{}}
	for _, t := range tasks {
		if t.inFlight != nil {
			p.pending = append(p.pending, t)
		}
		// The last allowed token needs no successor.
		if t.inFlight == nil || t.choice.Depth == 0 && t.pipelined() && t.generated()+1 < t.limit {
			p.dispatching = append(p.dispatching, t)
		}
	}
	return p
}

// step advances plainly decoding tasks by one token in one forward.
//
// The graph of step n+1 is built while step n still runs, on its unread tokens. Then step
// n is read, and step n+1 is dispatched at once. Dispatching before the read would overlap
// a little more, but step n holds the cache buffers while it runs: each write of step n+1
// would copy a whole cache (log/2026-11-21.md). From here on the row of step n+1 is in the
// caches. A task that ends with token n rolls it back.
//
// Tasks under a grammar draw in a second graph, for what is allowed in step n+1 depends on
// token n. Their masks are made while the device computes the logits.
func (r *runner) step(tasks []*task, alone bool) error {
	p := newPlainStep(tasks)
	err := work(r.thread, func(s *mlx.Scope) error {
		syncs, start := r.thread.Syncs(), time.Now()
		if err := r.readAndDispatch(s, p); err != nil {
			return err
		}
		r.handOver(s, p)
		p.syncs, p.cost = r.thread.Syncs()-syncs, time.Since(start)
		return nil
	}, tasks...)
	if err != nil {
		return err
	}
	r.acceptStep(p, alone)
	return nil
}

// readAndDispatch builds the next step, reads the one in flight and dispatches the next.
func (r *runner) readAndDispatch(s *mlx.Scope, p *plainStep) error {
	start, inC := time.Now(), s.TimeInC()
	p.next = r.buildStep(s, p.dispatching)
	build := time.Since(start) - (s.TimeInC() - inC)
	built := time.Now()
	for _, t := range slices.SortedStableFunc(slices.Values(p.pending), dispatchedLast) {
		tokens, err := t.inFlight.read(s)
		if err != nil {
			return err
		}
		p.read[t] = tokens[0]
	}
	readAt := time.Now()
	inC = s.TimeInC()
	if err := r.dispatch(s, p.dispatching, p.next); err != nil {
		return err
	}
	host := time.Since(readAt) - (s.TimeInC() - inC)
	if slices.ContainsFunc(p.dispatching, (*task).constrained) {
		p.failed = r.drawMasked(s, p.dispatching, p.next, p.read)
		if err := r.dispatch(s, p.dispatching, p.next); err != nil {
			return err
		}
	}
	for _, t := range p.tasks {
		t.stats.Wait += readAt.Sub(built)
		t.stats.Host += host
		t.stats.Build += build
	}
	return nil
}

// handOver replaces the tokens that were read by those just dispatched.
func (r *runner) handOver(s *mlx.Scope, p *plainStep) {
	for _, t := range p.pending {
		r.drafters.commitNewest(s, t)
		t.inFlight.free()
		t.inFlight = nil
	}
	for i, t := range p.dispatching {
		t.fed = len(t.tokens) // the caches hold the row of one that begins here
		if p.failed[t] != nil {
			continue
		}
		p.next[i].keep(s)
		t.inFlight = p.next[i]
		r.drafters.countRound(t, 0)
	}
}

// acceptStep emits the tokens that were read, learns what the step cost, and ends the tasks
// whose grammar failed after their last token.
func (r *runner) acceptStep(p *plainStep, alone bool) {
	if len(p.pending) == len(p.tasks) && len(p.dispatching) == len(p.tasks) {
		r.planner.learnStep(len(p.tasks), p.cost)
	}
	for _, t := range p.pending {
		t.stats.Syncs += int(p.syncs)
		if t.inFlight != nil {
			// A task that only waits for its last step makes no whole round.
			r.planner.learn(t, alone && len(p.tasks) == 1, draft.Round{Cost: p.cost})
		}
		r.accept(t, p.read[t], p.failed[t] == nil)
		if p.failed[t] != nil {
			continue
		}
		if t.inFlight != nil {
			t.fed = len(t.tokens)
		}
		r.checkpoints.save(t)
	}
	for t, err := range p.failed {
		r.finish(t, err)
	}
}

// dispatchedLast orders tasks by their draws, the last dispatched first: once these are there, the
// others need no wait. The first draw after a prompt comes after those of the step before it. A
// draw under a grammar comes after the others of its step.
func dispatchedLast(a, b *task) int {
	rank := func(t *task) int {
		switch {
		case len(t.tokens) == t.given:
			return 0
		case t.constrained():
			return 1
		}
		return 2
	}
	return cmp.Compare(rank(a), rank(b))
}

// buildStep makes the graph of the next forward of all tasks, and of the draws of those without a
// grammar.
func (r *runner) buildStep(s *mlx.Scope, tasks []*task) []*draw {
	if len(tasks) == 0 {
		return nil
	}
	batch := make(lm.Batch, len(tasks))
	for i, t := range tasks {
		q := lm.Sequence{N: 1, Pos: len(t.tokens), Caches: t.caches}
		if t.inFlight != nil {
			q.Tokens = t.inFlight.token
		} else {
			q.Pos--
			q.Tokens = mlx.New(s, t.tokens[q.Pos:], 1)
		}
		t.observe(s, q.Tokens, q.Pos+1)
		t.checkOffsets(s, q.Pos)
		batch[i] = q
	}
	taps := r.drafters.taps(tasks...)
	out := r.model.Forward(s, batch, taps)
	logits := r.model.Unembed(s, out.Hidden) // (B, V)
	next := make([]*draw, len(tasks))
	for i, t := range tasks {
		row, pos := rows(s, logits, i, i+1), batch[i].Pos+1
		if t.constrained() {
			next[i] = &draw{logits: row, pos: pos}
		} else {
			next[i] = t.draw(s, row, nil, pos)
		}
		next[i].layers = taps
		for _, tap := range out.Taps {
			next[i].taps = append(next[i].taps, rows(s, tap, i, i+1))
		}
	}
	return next
}

// dispatch starts the evaluation of a built step.
func (r *runner) dispatch(s *mlx.Scope, tasks []*task, next []*draw) error {
	if len(tasks) == 0 {
		return s.Err()
	}
	var keep []*mlx.Array
	for i, t := range tasks {
		keep = append(keep, next[i].arrays()...)
		keep = append(keep, t.sampler.Arrays()...)
		keep = append(keep, t.liveArrays()...)
	}
	return s.AsyncEval(keep...)
}
