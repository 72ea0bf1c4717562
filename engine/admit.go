package engine

import "slices"

// admit moves requests and readings from the queue into flight, while there is room, and ends those
// cancelled in the queue. After Close it moves all.
func (e *Engine) admit(active []*task) (_ []*task, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		active, e.readers = append(active, e.waiting.list...),
			append(e.readers, e.waitingReadings.list...)
		e.waiting.list, e.waitingReadings.list = nil, nil
		return active, true
	}
	e.waiting.list = slices.DeleteFunc(e.waiting.list, e.ended)
	e.waitingReadings.list = slices.DeleteFunc(e.waitingReadings.list, e.readingEnded)
	for {
		t, r := e.nextAdmitted(active)
		switch {
		case t != nil:
			active = append(active, t)
		case r != nil:
			e.readers = append(e.readers, r)
		default:
			e.reserve(active)
			return active, false
		}
	}
}

// ended reports whether a task has ended. It ends one that was cancelled.
func (e *Engine) ended(t *task) bool {
	if err := t.ctx.Err(); err != nil {
		e.finish(t, err)
	}
	return t.finished
}

// readingEnded is ended for readings.
func (e *Engine) readingEnded(t *reader) bool {
	if err := t.ctx.Err(); err != nil {
		e.finishReading(t, err)
	}
	return t.finished
}

// nextAdmitted removes the request or reading that is admitted now from its queue, and returns it.
// Both are nil if there is no room.
//
// Where both wait, requests and readings take turns. The one whose turn it is keeps it until it
// fits, and all others wait. Two kinds may pass, because they take nothing that it waits for:
//
//   - short requests, into the memory and places reserved for them;
//   - the first reading, which needs no place, so that long answers cannot hold it up.
//
// Readings get at most half of the places: more would not be faster and would hold up answers.
func (e *Engine) nextAdmitted(active []*task) (*task, *reader) {
	if e.queued() == 0 {
		return nil, nil
	}
	inFlight := map[string]int{}
	for _, t := range active {
		inFlight[t.client()]++
	}
	for _, r := range e.readers {
		inFlight[r.client()]++
	}
	taken := e.usageOf(active)
	tasks, readings := e.waiting.order(inFlight), e.waitingReadings.order(inFlight)
	if len(e.readers) >= max(1, e.opts.Active/2) {
		readings = nil
	}
	var t *task
	var r *reader
	var both int64 // bytes
	entersTask, entersReading := false, false
	if len(tasks) > 0 {
		t = e.waiting.list[tasks[0]]
		need := e.textBytes(t.maxPositions())
		both += need
		entersTask = taken.places < e.opts.Active && taken.fits(need) || e.admitsShort(taken, t)
	}
	if len(readings) > 0 {
		r = e.waitingReadings.list[readings[0]]
		need := e.textBytes(r.longestText())
		both += need
		entersReading = (len(e.readers) == 0 || taken.places < e.opts.Active) && taken.fits(need)
	}
	switch {
	case entersReading && (t == nil || e.readingNext || !entersTask && taken.fits(both)):
		e.readingNext = false
		return nil, e.waitingReadings.remove(readings[0])
	case entersTask && (r == nil || !e.readingNext):
		e.readingNext = true
		return e.waiting.remove(tasks[0]), nil
	}
	for _, i := range tasks {
		if e.admitsShort(taken, e.waiting.list[i]) {
			return e.waiting.remove(i), nil
		}
	}
	return nil, nil
}

// A usage is what those in flight take, or may come to take.
type usage struct {
	alone  bool  // nothing is in flight
	places int   // taken, without those of short requests
	shorts int   // short requests
	all    int64 // bytes of texts, with the room reserved for short ones
	short  int64 // bytes of short ones
	kept   int64 // bytes reserved for short ones
	room   int64 // bytes for all
}

func (e *Engine) usageOf(active []*task) usage {
	u := usage{
		alone: len(active)+len(e.readers) == 0, room: e.opts.Room,
		kept: min(e.textBytes(e.opts.Short), max(0, e.opts.Room-e.textBytes(e.opts.ContextLength))),
	}
	for _, t := range active {
		if n := e.textBytes(t.maxPositions()); t.maxPositions() <= e.opts.Short {
			u.short += n
			u.shorts++
		} else {
			u.all += n
		}
	}
	for _, r := range e.readers {
		u.all += e.textBytes(r.longestText())
	}
	// Short requests in their own room and places do not count against others.
	u.all += max(u.short, u.kept)
	u.places = len(active) + len(e.readers) - min(u.shorts, MaxShort)
	return u
}

// fits reports whether there is room for so many bytes more. One that is alone has room.
func (u usage) fits(bytes int64) bool { return u.alone || u.all+bytes <= u.room }

// admitsShort reports whether a request may pass others as a short one: it fits into the memory
// reserved for short ones, and there is a place, theirs or another.
func (e *Engine) admitsShort(u usage, t *task) bool {
	n := t.maxPositions()
	place := u.shorts < MaxShort || u.places < e.opts.Active
	return n <= e.opts.Short && place && u.short+e.textBytes(n) <= u.kept
}

// textBytes returns the bytes that a text of so many positions takes, 0 where nothing is bounded.
func (e *Engine) textBytes(positions int) int64 {
	if e.opts.Text == nil {
		return 0
	}
	return e.opts.Text(positions)
}

// SetRoom changes Options.Room, in bytes. Requests in flight go on.
func (e *Engine) SetRoom(bytes int64) {
	e.mu.Lock()
	e.opts.Room = bytes
	e.mu.Unlock()
	e.signal()
}

// Reserved returns the bytes that all in flight may come to take, see Options.Text. It is 0 as soon
// as nothing is in flight.
func (e *Engine) Reserved() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reserved
}

// reserve notes what is in flight. The caller holds mu.
func (e *Engine) reserve(active []*task) {
	e.reserved = 0
	for _, t := range active {
		e.reserved += e.textBytes(t.maxPositions())
	}
	for _, t := range e.readers {
		e.reserved += e.textBytes(t.longestText())
	}
	e.notify()
}
