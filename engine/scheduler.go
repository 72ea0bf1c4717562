package engine

import "slices"

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
	turn   int  // counts rounds; in odd ones an encode request goes before a prompt
	idle   bool // nothing is in flight, and share was told so by end

	stopped chan struct{} // closed when the goroutine has ended
}

// schedule runs rounds until the queue is closed. A round is at most one chunk of a prompt or a
// encode request, and one decode step, so that answers continue between the chunks of a long prompt and a short
// prompt waits for one or two chunks.
func (s *scheduler) schedule() {
	defer close(s.stopped)
	s.idle = true
	defer func() {
		if !s.idle {
			s.share.end()
		}
		s.share.setShort(s, nil)
	}()
	for ; ; s.turn++ {
		closed := s.admit()
		if jobs := s.queue.takeJobs(); len(jobs) > 0 {
			s.share.setShort(s, nil) // a job may wait for another engine, which yields to short work
			for _, job := range jobs {
				job()
			}
		}
		s.share.setShort(s, s.shortWork())
		if closed {
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
		s.readChunk()
		s.decode()
	}
}

// admit finishes what was cancelled and admits from the queue what there is room for. It reports whether
// the queue is closed.
func (s *scheduler) admit() (closed bool) {
	s.active = slices.DeleteFunc(s.active, s.ended)
	s.encoder.dropCancelled()
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

// ended finishes a task that was cancelled, and reports whether the task has ended.
func (s *scheduler) ended(t *task) bool {
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

// readChunk evaluates the next chunk of a prompt or of an encode request. The two kinds take turns, so
// that neither waits for a long one of the other.
func (s *scheduler) readChunk() {
	var tasks []*task
	var prompts []pending
	for _, t := range s.active {
		if t.prefilling() && !t.finished {
			tasks = append(tasks, t)
			prompts = append(prompts, pending{t.client(), t.remaining(), t.arrived})
		}
	}
	waiting := s.encoder.chunks()
	switch both := len(prompts) > 0 && len(waiting) > 0; {
	case len(waiting) > 0 && (!both || s.turn%2 == 1):
		next := s.encoder.shares.next(waiting)
		s.yield(waiting[next])
		s.encoder.run(s.encoder.inFlight[next])
	case len(prompts) > 0:
		next := s.shares.next(prompts)
		s.yield(prompts[next])
		s.runner.finishFailed(s.runner.prefill(tasks[next]), tasks[next])
	}
}

// yield lets short work of other engines pass before a chunk of a long text. A short request
// takes the thread several times, and would wait for a chunk each time.
func (s *scheduler) yield(p pending) {
	if p.rest > s.chunk {
		s.share.yield(s)
	}
}

// decode advances every request whose prompt is evaluated: a verify round for each that has drafts, and
// one batched step for all others.
func (s *scheduler) decode() {
	sole := len(s.active) == 1 && len(s.encoder.inFlight) == 0
	followed := s.drafters.catchUp(s.active)
	alone := sole && !followed && !s.share.others()
	s.planner.plan(s.active, sole, alone)
	var plain []*task
	for _, t := range s.active {
		if !t.decoding() {
			continue
		}
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
}

// shortTokens is how many tokens of an answer count as short work: no chunk of another engine delays
// them.
const shortTokens = 8

// shortWork lists the requests to generate or encode that need no more than a chunk and some steps.
func (s *scheduler) shortWork() (list []any) {
	for _, t := range s.active {
		if !t.finished && t.remaining() <= s.chunk && t.generated() < shortTokens {
			list = append(list, t)
		}
	}
	for _, t := range s.encoder.inFlight {
		if !t.finished && t.remaining() <= s.chunk {
			list = append(list, t)
		}
	}
	return list
}
