package engine

import (
	"context"
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
func (e *Engine) verify(tasks []*task, alone bool) error {
	t := tasks[0]
	b := &block{task: t, carried: t.carried()}
	var read []Token
	var cost time.Duration
	err := e.thread.Do(context.Background(), func(s *mlx.Scope) (err error) {
		defer func() { b.release(s, err != nil) }()
		syncs, start, inC := e.thread.Syncs(), time.Now(), s.TimeInC()
		current := mlx.New(s, t.tokens[len(t.tokens)-1:], 1)
		t.observe(s, current, len(t.tokens))
		p, err := e.propose(s, t, current, alone)
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
		if err := e.buildVerify(s, b, p); err != nil {
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
		e.tellDrafts(s, t, committed{kept, len(t.tokens) - 1, b.draw.layers, b.draw.taps,
			b.carried})
		e.noteHeld(t)
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
	e.emitBlock(b, read, cost, alone)
	return nil
}

// emitBlock takes in the tokens of a block that was read, and what it cost.
func (e *Engine) emitBlock(b *block, read []Token, cost time.Duration, alone bool) {
	t, accepted := b.task, len(read)-1
	e.countRound(t, b.n)
	if b.n > 0 {
		t.stats.Blocks.add(cost)
		t.stats.Drafter = e.opts.Drafters[t.choice.Arm].Name()
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
		if e.accept(t, tok, true); t.finished {
			return
		}
	}
	e.saveCheckpoints(t)
	r := draft.Round{Depth: b.n, Accepted: accepted, Cost: cost, Confidence: b.trust}
	t.course.Record(t.choice.Arm, r)
	if b.n > 0 || b.carried == 0 { // else it cost what it took to catch up
		e.learn(t, alone, r)
	}
}

// propose asks the draft for its guesses and dispatches them. How sure they are is computed only where
// something is learned from it: the rows of a large vocabulary take milliseconds.
func (e *Engine) propose(s *mlx.Scope, t *task, current *mlx.Array,
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
	if e.tryDraft(s, t, i, func() error {
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

// countRound counts a round in the task's figures.
func (e *Engine) countRound(t *task, drafted int) {
	t.stats.Rounds++
	t.stats.Depths = append(t.stats.Depths, drafted)
	t.stats.Accepts = append(t.stats.Accepts, 0)
	t.stats.Drafted += drafted
	arm := -1
	if drafted > 0 {
		arm = t.choice.Arm
		d := &t.stats.Drafters[arm]
		d.Rounds++
		d.Drafted += drafted
		if t.choice.Trial {
			d.Trials++
		}
	}
	t.stats.Arms = append(t.stats.Arms, arm)
	e.countOthers(t, arm)
}

// countOthers counts why drafters that the request wants did not draft in a round; arm did, or -1.
// Where the request fixes the depth, the first drafter with a guess drafts, and none is found slower.
func (e *Engine) countOthers(t *task, arm int) {
	for i, p := range t.prospects {
		switch d := &t.stats.Drafters[i]; {
		case i == arm || t.drafts[i] == nil || !e.wanted(t, e.opts.Drafters[i]):
		case p.Limit == 0 || i == t.choice.Arm: // the chosen one proposed nothing
			d.Idle++
		case t.adaptive():
			d.Slower++
		default:
			d.Preceded++
		}
	}
}

// adaptive reports whether measurements choose who drafts in a round, and how much.
func (t *task) adaptive() bool {
	return t.req.Speculation.Depth == nil && !t.req.Speculation.Exact
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
