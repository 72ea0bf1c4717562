package engine

import (
	"cmp"
	"slices"
)

// maxPassed is how many short prompts and encode requests may pass a chunk under way. More that keep
// coming cannot hold it up for ever.
const maxPassed = oldestEvery - 1

// A scheduler decides what each round evaluates: which chunk of a prompt, and which requests take a step
// together. Only its goroutine touches what is in flight, the runner, encoder, planner and
// checkpoints.
type scheduler struct {
	queue       *queue
	runner      *runner
	encoder     *encoder
	drafters    *drafters
	planner     *planner
	checkpoints *checkpoints
	share       *ThreadShare // nil if no other engine is on the thread
	chunk       int          // tokens; a prompt with more left is long

	active []*task // requests in flight
	shares fairShares
	turn   bool // the next chunk is of an encode request, if there is one
	idle   bool // nothing is in flight, and share was told so by end

	// chunks take long and are under way, at most two: the second is to run in a pause of the first.
	// passed counts what was read so.
	chunks []*underWay
	passed int

	stopped chan struct{} // closed when the goroutine has ended
}

// underWay is a chunk with pauses, of a prompt or of an encode request. Other rounds may run while it is
// evaluated.
type underWay struct {
	task  any           // *task or *encodeTask
	ended chan struct{} // closed when it was evaluated
	end   func()        // goes on with the task after that
}

// evaluateBeside evaluates a chunk of a task beside the scheduler's goroutine.
func evaluateBeside(task any, evaluate, end func()) *underWay {
	u := &underWay{task: task, ended: make(chan struct{}), end: end}
	go func() {
		defer close(u.ended)
		evaluate()
	}()
	return u
}

// schedule runs rounds until the queue is closed. A round is at most one chunk of a prompt or an
// encode request, and one decode step. While a chunk is under way that takes long, rounds run between
// its layers: answers continue, and a short prompt passes.
func (s *scheduler) schedule() {
	defer close(s.stopped)
	s.idle = true
	defer func() {
		if !s.idle {
			s.share.end()
		}
	}()
	for {
		s.endChunks()
		closed := s.admit()
		if jobs := s.queue.takeJobs(); len(jobs) > 0 {
			s.finishChunks()
			for _, job := range jobs {
				job()
			}
		}
		if closed {
			s.finishChunks()
			s.finishAll()
			return
		}
		if len(s.active)+len(s.encoder.inFlight) == 0 {
			s.wait()
			continue
		}
		if s.idle {
			s.idle = false
			s.share.begin()
			if !s.share.others() { // else one of them measures
				s.runner.resetPeak()
			}
		}
		read := s.readChunk()
		if !s.decode() && !read && len(s.chunks) > 0 {
			select {
			case <-s.chunks[0].ended:
			case <-s.chunks[len(s.chunks)-1].ended:
			case <-s.queue.wake:
			}
		}
	}
}

// endChunks goes on with the chunks that have ended since the last round.
func (s *scheduler) endChunks() {
	s.chunks = slices.DeleteFunc(s.chunks, func(c *underWay) bool {
		select {
		case <-c.ended:
			c.end()
			return true
		default:
			return false
		}
	})
}

// finishChunks waits until no chunk is under way.
func (s *scheduler) finishChunks() {
	for len(s.chunks) > 0 {
		<-s.chunks[len(s.chunks)-1].ended
		s.endChunks()
	}
}

// reading reports whether a chunk of a task or an encode task is under way.
func (s *scheduler) reading(t any) bool {
	return slices.ContainsFunc(s.chunks, func(c *underWay) bool { return c.task == t })
}

// admit finishes what was cancelled and admits from the queue what there is room for. It reports whether
// the queue is closed.
func (s *scheduler) admit() (closed bool) {
	s.active = slices.DeleteFunc(s.active, s.ended)
	s.encoder.dropCancelled(s.reading)
	requests, encodes := s.queue.takeCancelled()
	for _, t := range requests {
		s.runner.finish(t, t.ctx.Err())
	}
	for _, t := range encodes {
		s.encoder.finish(t, t.ctx.Err())
	}
	requests, encodes, closed = s.queue.admit(s.active, s.encoder.inFlight)
	s.active = append(s.active, requests...)
	s.encoder.add(encodes...)
	return closed
}

// ended finishes a task that was cancelled, and reports whether the task has ended. A chunk under way
// ends first.
func (s *scheduler) ended(t *task) bool {
	if s.reading(t) {
		return false
	}
	if err := t.ctx.Err(); err != nil {
		s.runner.finish(t, err)
	}
	return t.finished
}

// finishAll ends everything, because the queue is closed.
func (s *scheduler) finishAll() {
	s.encoder.finishAll(errClosed)
	for _, t := range s.active {
		s.runner.finish(t, errClosed)
	}
	s.planner.save() // wait has not saved since the last round
	s.checkpoints.drop()
}

// wait blocks until something arrives in the queue.
func (s *scheduler) wait() {
	if !s.idle {
		s.share.end()
	}
	s.idle = true
	s.planner.save()
	<-s.queue.wake
}

// readChunk evaluates the next chunk of a prompt or of an encode request, or begins to, and reports
// whether there was one. The two kinds take turns, so that neither waits for a long one of the other.
func (s *scheduler) readChunk() bool {
	if len(s.chunks) > 0 {
		return s.passChunk()
	}
	s.passed = 0
	prompts := s.prompts()
	encodes := s.encoder.inFlight
	switch both := len(prompts) > 0 && len(encodes) > 0; {
	case len(encodes) > 0 && (!both || s.turn):
		s.turn = false
		s.begin(s.encoder.run(encodes[s.encoder.shares.next(waiting(encodes))]))
	case len(prompts) > 0:
		s.turn = true
		s.begin(s.runner.prefill(prompts[s.shares.next(waiting(prompts))]))
	default:
		return false
	}
	return true
}

// begin notes a chunk that is under way. It ignores nil.
func (s *scheduler) begin(c *underWay) {
	if c != nil {
		s.chunks = append(s.chunks, c)
	}
}

// passChunk reads a prompt or an encode request between the layers of a chunk under way, if one waits
// that has no more than a chunk left, and reports whether there was one. This is not counted as a share.
func (s *scheduler) passChunk() bool {
	if len(s.chunks) > 1 || s.passed == maxPassed {
		return false
	}
	for _, t := range s.encoder.inFlight {
		if t.remaining() <= s.chunk && !s.reading(t) {
			s.passed++
			s.begin(s.encoder.run(t))
			return true
		}
	}
	prompts := slices.DeleteFunc(s.prompts(), func(t *task) bool { return t.remaining() > s.chunk || s.reading(t) })
	if len(prompts) == 0 {
		return false
	}
	s.passed++
	shortest := slices.MinFunc(prompts, func(a, b *task) int { return cmp.Compare(a.remaining(), b.remaining()) })
	s.begin(s.runner.prefill(shortest))
	return true
}

// prompts lists the requests in flight whose prompts are still read.
func (s *scheduler) prompts() (list []*task) {
	for _, t := range s.active {
		if t.prefilling() && !t.finished {
			list = append(list, t)
		}
	}
	return list
}

// decode advances every request whose prompt is evaluated: a verify round for each that has drafts, and
// one batched step for all others. It reports whether there was one.
func (s *scheduler) decode() (decoded bool) {
	sole := len(s.active) == 1 && len(s.encoder.inFlight) == 0
	followed := s.drafters.catchUp(s.active)
	shared := !sole || s.share.others()
	alone := !shared && !followed
	s.planner.plan(s.active, sole, alone)
	var plain []*task
	for _, t := range s.active {
		t.shared = t.shared || shared && !t.begun.IsZero()
		if !t.decoding() {
			continue
		}
		decoded = true
		if t.inFlight == nil && (t.choice.Depth > 0 || t.carried() > 0 || !t.pipelined()) {
			s.runner.finishFailed(s.runner.verify(t, alone), t)
		} else {
			plain = append(plain, t)
		}
	}
	if len(plain) > 0 {
		s.runner.finishFailed(s.runner.step(plain, alone), plain...)
	}
	s.active = slices.DeleteFunc(s.active, func(t *task) bool { return t.finished })
	return decoded
}
