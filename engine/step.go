package engine

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"time"

	"tandem/engine/draft"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// step advances plainly decoding tasks by one token in one forward. A task
// whose next round is a block gets no successor of the step in flight; one that
// comes from such a round begins here.
//
// The graph of step n+1 is built while step n still runs, on its unread
// tokens; then step n is read, and at once step n+1 is dispatched. Dispatching
// before the read would overlap a little more, but step n still holds the
// cache buffers while it runs, and each write of step n+1 would copy a whole
// cache (engine/LOG.md). The row of step n+1 is in the caches from here on: a
// task that ends with token n rolls it back.
//
// What a grammar allows of step n+1 depends on token n. Its tasks draw in a second
// graph, for which masks are made while the device computes the logits.
func (e *Engine) step(tasks []*task, alone bool) error {
	var landing, going []*task
	for _, t := range tasks {
		if t.flight != nil {
			landing = append(landing, t)
		}
		// The last allowed token needs no successor.
		if t.flight == nil || t.choice.Depth == 0 && t.pipelined() && t.generated()+1 < t.limit {
			going = append(going, t)
		}
	}
	read := make(map[*task]Token, len(landing))
	var failed map[*task]error // of grammars
	var syncs int64
	var cost time.Duration
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		before := e.thread.Syncs()
		start, inC := time.Now(), s.TimeInC()
		next := e.build(s, going)
		build := time.Since(start) - (s.TimeInC() - inC)
		built := time.Now()
		for _, t := range slices.SortedStableFunc(slices.Values(landing), dispatchedLast) {
			tokens, err := t.flight.read(s)
			if err != nil {
				return err
			}
			read[t] = tokens[0]
		}
		readAt := time.Now()
		inC = s.TimeInC()
		if err := e.dispatch(s, going, next); err != nil {
			return err
		}
		host := time.Since(readAt) - (s.TimeInC() - inC)
		if slices.ContainsFunc(going, (*task).constrained) {
			failed = e.constrain(s, going, next, read)
			if err := e.dispatch(s, going, next); err != nil {
				return err
			}
		}
		for _, t := range tasks {
			t.stats.Wait += readAt.Sub(built)
			t.stats.Host += host
			t.stats.Build += build
		}
		for _, t := range landing {
			e.report(s, t)
			t.flight.free()
			t.flight = nil
		}
		for i, t := range going {
			t.fed = len(t.tokens) // the row of one that begins here is in the caches
			if failed[t] != nil {
				continue
			}
			next[i].keep(s)
			t.flight = next[i]
			t.record(0)
		}
		syncs = e.thread.Syncs() - before
		cost = time.Since(start)
		return nil
	})
	if err != nil {
		return err
	}
	if len(landing) == len(tasks) && len(going) == len(tasks) {
		e.batchPolicy.measured(len(tasks), cost)
	}
	for _, t := range landing {
		t.stats.Syncs += int(syncs)
		if t.flight != nil {
			// One that only waits for its last step is no whole round.
			e.learn(t, alone && len(tasks) == 1, draft.Round{Cost: cost})
		}
		e.accept(t, read[t], failed[t] == nil)
		if failed[t] != nil {
			continue
		}
		if t.flight != nil {
			t.fed = len(t.tokens)
		}
		e.remember(t)
	}
	for t, err := range failed {
		e.leave(t, err) // behind its last token
	}
	return nil
}

// dispatchedLast orders tasks by their draws, those that were dispatched last first: once
// these are there, nobody waits for the others. A prompt's comes behind those of the
// step before it, and one under a grammar behind the others of its step.
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

// report tells the drafts of the newest token, whose row the step in flight
// computes. Of the last one that was given they know.
func (e *Engine) report(s *mlx.Scope, t *task) {
	if d := t.flight; len(t.tokens) > t.given {
		e.committed(s, t, t.tokens[len(t.tokens)-1:], len(t.tokens)-1, d.layers, d.taps, 0)
	}
}

// build makes the graph of the next forward of all tasks and of the draws from
// it, but for those under a grammar.
func (e *Engine) build(s *mlx.Scope, tasks []*task) []*draw {
	if len(tasks) == 0 {
		return nil
	}
	batch := make(lm.Batch, len(tasks))
	for i, t := range tasks {
		q := lm.Sequence{N: 1, Pos: len(t.tokens), Caches: t.caches}
		if t.flight != nil {
			q.Tokens = t.flight.token
		} else {
			q.Pos--
			q.Tokens = mlx.New(s, t.tokens[q.Pos:], 1)
		}
		t.observe(s, q.Tokens, q.Pos+1)
		t.stand(s, q.Pos)
		batch[i] = q
	}
	taps := e.taps(tasks...)
	out := e.model.Forward(s, batch, taps)
	logits := e.model.Unembed(s, out.Hidden) // (B, V)
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
func (e *Engine) dispatch(s *mlx.Scope, tasks []*task, next []*draw) error {
	if len(tasks) == 0 {
		return s.Err()
	}
	var keep []*mlx.Array
	for i, t := range tasks {
		keep = append(keep, next[i].arrays()...)
		keep = append(keep, t.sampler.Arrays()...)
		keep = append(keep, t.live()...)
	}
	return s.AsyncEval(keep...)
}

// accept takes the token that was read: it is recorded, then emitted, and may
// end the task. A panic on the way, in a tokenizer's decoder say, ends this
// task only. Of followed see take.
func (e *Engine) accept(t *task, tok Token, followed bool) {
	defer func() {
		if v := recover(); v != nil {
			e.opts.Logger.Error("panic while taking a token", "token", tok.ID, "panic", v, "stack", string(debug.Stack()))
			e.leave(t, &Error{Code: CodeInternal, Message: "a generated token could not be decoded; the request was given up"})
		}
	}()
	now := time.Now()
	if t.first.IsZero() {
		t.first = now
		t.stats.FirstToken = now.Sub(t.arrived)
		t.stats.Prefill = now.Sub(t.begun)
	}
	t.last = now
	if last, err := e.take(t, tok, followed); last || err != nil {
		e.leave(t, err)
	}
}

// take records and emits a token, and reports whether it is the last one. The grammar of
// a task hears of it if it is followed: one that has failed refuses everything, but what
// it allowed before it failed stands.
func (e *Engine) take(t *task, tok Token, followed bool) (last bool, err error) {
	t.tokens = append(t.tokens, tok.ID)
	eos := (!t.req.IgnoreEOS || t.req.Grammar != nil) && slices.Contains(e.config.EOS, tok.ID)
	hit, complete := false, false
	if !eos {
		if followed {
			if complete, err = t.follow(tok.ID); err != nil {
				return false, err
			}
		}
		tok.Text, hit = t.hear(t.stream.Push(tok.ID))
	}
	switch {
	case eos || hit || complete:
		tok.Finish = FinishStop
	case t.generated() >= t.limit:
		tok.Finish = FinishLength
	}
	if tok.Finish != "" && !hit {
		// What was held back is certain now; it may itself complete a stop.
		rest, late := t.hear(t.stream.Flush())
		tok.Text += rest
		if late {
			tok.Finish = FinishStop
		} else {
			tok.Text += t.stops.Flush()
		}
	}
	tok.Stop = t.stops.Found
	t.mail.post(tok)
	t.stats.Finish = tok.Finish
	return tok.Finish != "", nil
}
