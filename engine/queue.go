package engine

import (
	"slices"
	"sync"
)

// A queue holds work submitted to the scheduler: requests to generate or encode, and jobs to run
// between two rounds.
// Its methods may be called from any goroutine, but only the scheduler takes work out.
type queue struct {
	size int           // requests to generate or encode that may wait
	wake chan struct{} // capacity 1: something arrived, was cancelled, or may fit now

	mu        sync.Mutex // guards all below
	requests  waitList[*task]
	encodes   waitList[*encodeTask]
	jobs      []func()
	admission admission
	reserved  int64 // bytes, see Engine.Reserved
	closed    bool
}

var (
	errClosed = &Error{Code: CodeClosed,
		Message: "the model was unloaded; send the request again"}
	errQueueFull = &Error{Code: CodeQueueFull,
		Message: "the model is busy and its queue is full; try again in a second"}
)

func newQueue(o Options) *queue {
	return &queue{size: o.Queue, wake: make(chan struct{}, 1), admission: admission{
		places: o.Active, contextLength: o.ContextLength, short: o.Short, sequenceBytes: o.SequenceBytes, room: o.Room,
	}}
}

// signal wakes the scheduler.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close makes later calls of add fail with errClosed. The scheduler drains what waits.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// isClosed reports whether close was called.
func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// waiting returns how many requests to generate or encode wait.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waitingLocked()
}

// waitingLocked is like waiting; mu must be held.
func (q *queue) waitingLocked() int { return len(q.requests.list) + len(q.encodes.list) }

// isFull reports whether one more request of a client is refused. A client alone may fill the queue. Then
// there are still places for others, which take turns with it. mu must be held.
func (q *queue) isFull(client string) bool {
	n := q.waitingLocked()
	return n >= q.size &&
		(n >= q.size+MaxOthers || q.requests.count(client)+q.encodes.count(client) >= q.size/MaxOthers)
}

// add puts a request into the queue.
func (q *queue) add(t *task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errClosed
	case t.resumed(): // it was admitted when it began
		q.requests.list = slices.Insert(q.requests.list, 0, t)
	case q.isFull(t.client()):
		return errQueueFull
	default:
		q.requests.list = append(q.requests.list, t)
	}
	q.signal()
	return nil
}

// addEncode puts an encode request into the queue.
func (q *queue) addEncode(t *encodeTask) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errClosed
	case q.isFull(t.client()):
		return errQueueFull
	}
	q.encodes.list = append(q.encodes.list, t)
	q.signal()
	return nil
}

// addJob has the scheduler run f between two rounds. It reports false if the queue is closed: then f
// never runs.
func (q *queue) addJob(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.jobs = append(q.jobs, f)
	q.signal()
	return true
}

// takeJobs removes the jobs and returns them.
func (q *queue) takeJobs() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.jobs
	q.jobs = nil
	return list
}

// takeCancelled removes and returns the requests to generate or encode whose contexts have ended. It returns none
// if the queue is closed; admit drains it.
func (q *queue) takeCancelled() (requests []*task, encodes []*encodeTask) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil
	}
	return q.requests.take((*task).cancelled), q.encodes.take((*encodeTask).cancelled)
}

// admit removes and returns the requests to generate or encode that fit beside those in flight, or all if the queue
// is closed.
func (q *queue) admit(active []*task, encoding []*encodeTask) (requests []*task, encodes []*encodeTask,
	closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		requests, encodes = q.requests.list, q.encodes.list
		q.requests.list, q.encodes.list = nil, nil
		return requests, encodes, true
	}
	before, beforeEncoding := len(active), len(encoding)
	active, encoding = slices.Clip(active), slices.Clip(encoding) // append copies
	for {
		t, r := q.admission.next(&q.requests, &q.encodes, active, encoding)
		switch {
		case t != nil:
			active = append(active, t)
		case r != nil:
			encoding = append(encoding, r)
		default:
			q.reserved = q.admission.reserved(active, encoding)
			return active[before:], encoding[beforeEncoding:], false
		}
	}
}

// setRoom sets the limit of the bytes that work in flight may come to take.
func (q *queue) setRoom(bytes int64) {
	q.mu.Lock()
	q.admission.room = bytes
	q.mu.Unlock()
	q.signal()
}

// reservedBytes returns the bytes that the work in flight now may come to take.
func (q *queue) reservedBytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reserved
}
