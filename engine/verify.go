package engine

import (
	"context"
	"errors"
	"time"

	"tandem/engine/draft"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// errDraft ends a round in which the draft failed before the target was
// touched: the task goes on plainly.
var errDraft = errors.New("the draft failed")

// verify drafts up to t.choice.Depth tokens and evaluates them behind the newest one
// in one forward of the target, with one sync. The draft is dispatched and not
// read; the target's graph is built on it while it runs, with the verdict in
// the graph. One token at least follows: what the target says where the drafts
// end, or where they go wrong.
func (e *Engine) verify(tasks []*task, alone bool) error {
	t := tasks[0]
	carried := t.carried()
	var read []Token
	var n int
	var undone bool
	var cost time.Duration
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) error {
		syncs, start, inC := e.thread.Syncs(), time.Now(), s.TimeInC()
		last := len(t.tokens) - 1
		current := mlx.New(s, t.tokens[last:], 1)
		t.observe(s, current, len(t.tokens))
		defer t.sampler.Release()
		p, err := e.propose(s, t, current)
		if err != nil {
			return err
		}
		n = p.N
		proposed := time.Now()
		t.stats.Build += proposed.Sub(start) - (s.TimeInC() - inC)
		if n > 0 && t.req.Speculation.Timed {
			if _, err := mlx.Read[int32](s, p.Tokens); err != nil {
				return err
			}
			t.stats.Wait += time.Since(proposed)
			proposed = time.Now()
		}
		inC = s.TimeInC()
		tokens := []*mlx.Array{mlx.New(s, t.tokens[t.fed:], carried+1)}
		if n > 0 {
			tokens = append(tokens, p.Tokens)
		}
		var before *checkpoint
		if t.req.Speculation.Rollback == Undo {
			if before, err = t.checkpoint(s); err != nil {
				return err
			}
			defer before.free()
		}
		layers := e.taps(t)
		out := e.block(s, t, s.Concat(0, tokens...), carried+1+n, layers)
		logits := e.logits(s, t, out.Hidden, carried, carried+1+n) // (n+1, V)
		x := t.sampler.Process(s, logits, p.Tokens)
		var v sample.Verdict
		if n > 0 {
			v = t.sampler.Accept(s, t.req.Speculation.Rule, x, p.Tokens, p.LogQ, last+1)
		} else {
			v.Tokens = t.sampler.Choose(s, x, last+1)
		}
		d := t.drawn(s, logits, v.Tokens)
		d.layers, d.taps = layers, out.Taps
		keep := append(d.arrays(), t.sampler.Arrays()...)
		keep = append(keep, t.live()...)
		if n > 0 {
			keep = append(keep, v.Accepted)
		}
		t.stats.Build += time.Since(proposed) - (s.TimeInC() - inC)
		if err := s.AsyncEval(keep...); err != nil {
			return err
		}
		dispatched := time.Now()
		accepted := 0
		if n > 0 {
			a, err := mlx.Read[int32](s, v.Accepted)
			if err != nil {
				return err
			}
			accepted = int(a[0])
		}
		if read, err = d.read(s); err != nil {
			return err
		}
		readAt := time.Now()
		t.stats.Wait += readAt.Sub(dispatched)
		if n > 0 {
			t.stats.Draft += proposed.Sub(start)
			t.stats.Verify += readAt.Sub(proposed)
		}
		inC = s.TimeInC()
		read = read[:accepted+1]
		if undone = before != nil && accepted < n; undone {
			err = before.restore(s)
		} else {
			err = t.trim(n - accepted)
		}
		if err != nil {
			return err
		}
		kept := []int32{t.tokens[last]}
		for _, tok := range read[:accepted] {
			kept = append(kept, tok.ID)
		}
		if accepted > 0 {
			t.observe(s, mlx.New(s, kept[1:], accepted), len(t.tokens)+accepted)
		}
		cost = time.Since(start)
		e.committed(s, t, kept, last, layers, out.Taps, carried)
		t.stats.Host += time.Since(readAt) - (s.TimeInC() - inC)
		t.stats.Syncs += int(e.thread.Syncs() - syncs)
		return nil
	})
	if errors.Is(err, errDraft) {
		return nil
	}
	if err != nil {
		return err
	}
	accepted := len(read) - 1
	t.record(n)
	if n > 0 {
		t.stats.Blocks.add(cost)
		t.stats.Drafter = e.opts.Drafters[t.choice.Arm].Name()
	}
	fed := len(t.tokens)
	read[0].Drafted = n
	for i, tok := range read {
		if !undone {
			t.fed = fed + i // rows of the newest token and of the drafts before this one
		}
		if i < accepted {
			tok.Draft = true
			t.stands(i)
		}
		// The stats are the client's once the task is finished.
		if e.accept(t, tok); t.finished {
			return nil
		}
	}
	if n > 0 || carried == 0 { // else it cost what it took to catch up
		e.learn(t, alone, draft.Round{Depth: n, Accepted: accepted, Cost: cost})
	}
	return nil
}

// propose asks the draft for its guesses and dispatches them.
func (e *Engine) propose(s *mlx.Scope, t *task, current *mlx.Array) (p draft.Proposal, err error) {
	i, n := t.choice.Arm, t.choice.Depth
	if t.carried()+1+n > t.maxRows() {
		n = 0 // what is carried stays with this round
	}
	if n <= 0 || t.drafts[i] == nil {
		return p, nil
	}
	var noise []*mlx.Array
	if t.req.Speculation.Rule != Rejection {
		noise = t.sampler.Hold(s, len(t.tokens), n+1)
	}
	if e.guard(s, t, i, func() error {
		p = t.drafts[i].Propose(s, t.tokens, n)
		if p.N == 0 || t.req.Speculation.Fused {
			return s.Err()
		}
		keep := append([]*mlx.Array{current, p.Tokens}, t.drafts[i].Arrays()...)
		keep = append(append(keep, t.sampler.Arrays()...), noise...)
		if p.LogQ != nil && t.req.Speculation.Rule == Rejection {
			keep = append(keep, p.LogQ) // the other rule does not ask for it
		}
		return s.AsyncEval(keep...)
	}) != nil {
		return p, errDraft
	}
	return p, nil
}

// record counts a round in the task's figures.
func (t *task) record(drafted int) {
	t.stats.Rounds++
	t.stats.Depths = append(t.stats.Depths, drafted)
	t.stats.Accepts = append(t.stats.Accepts, 0)
	t.stats.Drafted += drafted
}

// stands counts the draft at index i of the last round, which is emitted.
func (t *task) stands(i int) {
	t.stats.Accepted++
	t.stats.Accepts[len(t.stats.Accepts)-1]++
	if i == len(t.stats.AcceptedAt) {
		t.stats.AcceptedAt = append(t.stats.AcceptedAt, 0)
	}
	t.stats.AcceptedAt[i]++
}
