package engine

import (
	"errors"
	"time"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// errDraft ends a round in which the draft failed before the target was touched. The task goes on
// plainly.
var errDraft = errors.New("the draft failed")

// verify drafts up to t.choice.Depth tokens and evaluates them after the newest one in one forward
// of the target, with one sync. The draft is dispatched and not read. The target's graph, with the
// verdict in it, is built while the draft runs. At least one token follows: the target's own, where
// the drafts end or go wrong.
func (r *runner) verify(t *task, alone bool) error {
	b := &block{task: t, carried: t.carried()}
	var read []Token
	var cost time.Duration
	err := work(r.thread, func(s *mlx.Scope) (err error) {
		defer func() { b.release(s, err != nil) }()
		syncs, start, inC := r.thread.Syncs(), time.Now(), s.TimeInC()
		current := mlx.New(s, t.tokens[len(t.tokens)-1:], 1)
		t.observe(s, current, len(t.tokens))
		p, err := r.propose(s, t, current, alone)
		if err != nil {
			return err
		}
		b.confidence = p.Confidence
		proposed := time.Now()
		t.stats.Build += proposed.Sub(start) - (s.TimeInC() - inC)
		if p.N > 0 && t.req.Speculation.Timed {
			if _, err := mlx.Read[int32](s, p.Tokens); err != nil {
				return err
			}
			t.stats.Wait += time.Since(proposed)
			proposed = time.Now()
		}
		inC = s.TimeInC()
		if err := r.buildVerify(s, b, p); err != nil {
			return err
		}
		t.stats.Build += time.Since(proposed) - (s.TimeInC() - inC)
		if err := s.AsyncEval(b.arrays()...); err != nil {
			return err
		}
		dispatched := time.Now()
		if read, err = b.read(s); err != nil {
			return err
		}
		readAt := time.Now()
		t.stats.Wait += readAt.Sub(dispatched)
		if b.n > 0 {
			t.stats.Draft += proposed.Sub(start)
			t.stats.Verify += readAt.Sub(proposed)
		}
		inC = s.TimeInC()
		kept, err := b.commit(s, read)
		if err != nil {
			return err
		}
		cost = time.Since(start)
		r.drafters.commit(s, t, committed{kept, len(t.tokens) - 1, b.draw.layers, b.draw.taps,
			b.carried})
		t.stats.Host += time.Since(readAt) - (s.TimeInC() - inC)
		t.stats.Syncs += int(r.thread.Syncs() - syncs)
		return nil
	}, t)
	if errors.Is(err, errDraft) {
		return nil
	}
	if err != nil {
		return err
	}
	r.emitBlock(b, read, cost, alone)
	return nil
}

// emitBlock takes in the tokens of a block that was read, and what it cost.
func (r *runner) emitBlock(b *block, read []Token, cost time.Duration, alone bool) {
	t, accepted := b.task, len(read)-1
	r.drafters.countRound(t, b.n)
	if b.n > 0 {
		t.stats.Blocks.add(cost)
		t.stats.Drafter = r.drafters.list[t.choice.Arm].Name()
	}
	fed := len(t.tokens)
	read[0].Drafted = b.n
	for i, tok := range read {
		if !b.undone {
			t.fed = fed + i // rows of the newest token and of the drafts before this one
		}
		if i < accepted {
			tok.Draft = true
			t.countAccepted(i)
		}
		if b.n > 0 {
			t.stats.Blocks.Tokens++
		}
		// The stats are the client's once the task is finished.
		if r.accept(t, tok, true); t.finished {
			return
		}
	}
	r.checkpoints.save(t)
	round := draft.Round{Depth: b.n, Accepted: accepted, Cost: cost, Confidence: b.trust}
	t.acceptance.Record(t.choice.Arm, round)
	if b.n > 0 || b.carried == 0 { // else it cost what it took to catch up
		r.planner.learn(t, alone, round)
	}
}

// countAccepted counts the draft at index i of the last round, which is emitted.
func (t *task) countAccepted(i int) {
	t.stats.Accepted++
	t.stats.Drafters[t.choice.Arm].Accepted++
	t.stats.Accepts[len(t.stats.Accepts)-1]++
	if i == len(t.stats.AcceptedAt) {
		t.stats.AcceptedAt = append(t.stats.AcceptedAt, 0)
	}
	t.stats.AcceptedAt[i]++
}

// propose asks the draft for its guesses and dispatches them. How sure they are is computed only where
// something is learned from it: the rows of a large vocabulary take milliseconds.
func (r *runner) propose(s *mlx.Scope, t *task, current *mlx.Array,
	alone bool) (p draft.Proposal, err error) {
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
	if r.drafters.try(s, t, i, func() error {
		p = t.drafts[i].Propose(s, t.tokens, n)
		switch {
		case !t.learns(alone):
			p.Confidence = nil
		case p.Confidence == nil && p.LogQ != nil:
			p.Confidence = draft.Confidence(s, p.LogQ)
		}
		if p.N == 0 || t.req.Speculation.Fused {
			return s.Err()
		}
		keep := append([]*mlx.Array{current, p.Tokens}, t.drafts[i].Arrays()...)
		keep = append(append(keep, t.sampler.Arrays()...), noise...)
		if p.Confidence != nil {
			keep = append(keep, p.Confidence)
		}
		if p.LogQ != nil && t.req.Speculation.Rule == Rejection {
			keep = append(keep, p.LogQ) // the other rule does not ask for it
		}
		return s.AsyncEval(keep...)
	}) != nil {
		return p, errDraft
	}
	return p, nil
}
