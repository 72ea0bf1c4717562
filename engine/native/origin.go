package native

import (
	"context"
	"errors"
	"sync"
	"time"
)

// What calls may take. Each call runs in a process of its own. The process ends when it has used up
// its budget, and its memory is given back then. So a template, a grammar or a schema may be as
// hostile as it likes.
//
// A call gets the quick budget first. Nearly every call ends within it. One that does not is begun
// again with the heavy budget, at the lowest priority. Only one heavy call computes at a time.
var (
	quick = budget{time: 200 * time.Millisecond, memory: 32 << 20}
	heavy = budget{time: 3 * time.Second, memory: 192 << 20, low: true}

	// a step of a matcher: a mask, or a token accepted or taken back
	step = budget{time: time.Second, memory: 64 << 20}

	// what a model brings is computed once, at its load
	load = budget{time: 30 * time.Second, memory: 1 << 30}
)

// Time of a call by the clock: until its turn as a heavy one, and until its end. The second counts
// where other programs have the processor, or have stopped the process. So it ends a call with
// ErrProcess, in the heavy phase too: whether a call has used up its budget the process tells itself.
const (
	maxWait = 7 * time.Second
	maxTime = 11 * time.Second
)

// maxPrepare is how long the first call of a process may take by the clock. It takes some hundred ms.
const maxPrepare = time.Minute

// ErrBusy ends a call that has waited too long for its turn.
var ErrBusy = errors.New("other requests with heavy templates or grammars are being computed")

// A Lane is a lock of heavy calls: one of them computes at a time. All templates and
// vocabularies of a program share one. Where nil is given, a template gets its own lane.
type Lane struct {
	turn  chan struct{} // has an element while a heavy call computes
	heavy budget
	time  time.Duration // of a call by the clock
}

// NewLane returns a lane that is free.
func NewLane() *Lane { return &Lane{make(chan struct{}, 1), heavy, maxTime} }

// newOrigin returns an origin with its first process.
func newOrigin(lane *Lane, prepare func(*process) error) (*origin, error) {
	if lane == nil {
		lane = NewLane()
	}
	o := &origin{lane: lane, prepare: prepare}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

// An origin has the process that others are copied from. It is made again if it has ended.
type origin struct {
	lane    *Lane
	prepare func(*process) error // gives a new process what its copies need

	mu      sync.Mutex
	process *process // nil before the first use, and after Close
	closed  bool
}

var errClosed = errors.New("it is closed")

// open makes the process, if there is none. One that something else ends or stops meanwhile is made once
// more. The caller holds o.mu, once others know o.
func (o *origin) open() (err error) {
	if o.closed {
		return errClosed
	}
	if o.process != nil {
		return nil
	}
	if o.process, err = o.start(); errors.Is(err, ErrProcess) {
		o.process, err = o.start()
	}
	return err
}

// start returns a process that is prepared.
func (o *origin) start() (*process, error) {
	p, err := startProcess()
	if err != nil {
		return nil, err
	}
	stopped := time.AfterFunc(maxPrepare, p.end)
	defer stopped.Stop()
	if err := o.prepare(p); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// copy returns a copy of the process.
func (o *origin) copy() (*process, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for again := true; ; again = false {
		if err := o.open(); err != nil {
			return nil, err
		}
		p, err := o.process.copy()
		if err == nil || !again {
			return p, err
		}
		o.process.end() // something has ended it
		o.process = nil
	}
}

// Close ends the process. Its copies stay. A second Close is an error.
func (o *origin) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errors.New("already closed")
	}
	o.closed = true
	if o.process == nil {
		return nil
	}
	p := o.process
	o.process = nil
	return p.Close()
}

// probe reports whether the process still makes copies that answer. If not, it is forgotten, and the next copy is
// made of a new process.
func (o *origin) probe() (lives bool) {
	o.mu.Lock()
	parent, err := o.process, errClosed
	var p *process
	if parent != nil {
		p, err = parent.copy()
	}
	o.mu.Unlock()
	if err == nil {
		defer p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = p.call(ctx, 0, nil, quick)
	}
	if _, answered := errors.AsType[*failure](err); answered { // there is no such call
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if parent != nil && o.process == parent {
		parent.end()
		o.process = nil
	}
	return false
}

// blame returns the failure of a call that has ended two processes in turn, with these errors, and the second
// error for all others. The process that both were copied from lives: something else that ends processes
// ends all of them.
func (o *origin) blame(first, second error) error {
	if errors.Is(first, errEnded) && errors.Is(second, errEnded) && o.probe() {
		return &failure{kind: crashed}
	}
	return second
}

// compute returns the answer to a call and the copy that gave it, which the caller closes. When
// ctx ends, the copy ends, and compute returns ctx's cause. A process that is lost is replaced once.
func (o *origin) compute(ctx context.Context, what byte, body []byte) (*process, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.lane.time, ErrProcess)
	defer cancel()
	// A process that does not answer by half of the time is stopped: a busy machine leaves it more of the
	// processor than the quick budget.
	p, answer, err := o.tryTwice(ctx, what, body, quick, o.lane.time/2)
	if !exhausted(err) {
		return p, answer, err
	}
	select {
	case o.lane.turn <- struct{}{}:
		defer func() { <-o.lane.turn }()
	case <-time.After(maxWait):
		return nil, nil, ErrBusy
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	return o.tryTwice(ctx, what, body, o.lane.heavy, o.lane.time)
}

// tryTwice is try, and once more if the process is lost.
func (o *origin) tryTwice(
	ctx context.Context, what byte, body []byte, b budget, clock time.Duration,
) (*process, []byte, error) {
	p, answer, first := o.try(ctx, what, body, b, clock)
	if !errors.Is(first, ErrProcess) || ctx.Err() != nil {
		return p, answer, first
	}
	o.probe()
	p, answer, err := o.try(ctx, what, body, b, clock)
	return p, answer, o.blame(first, err)
}

func (o *origin) try(
	ctx context.Context, what byte, body []byte, b budget, clock time.Duration,
) (*process, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clock, ErrProcess)
	defer cancel()
	p, err := o.copy()
	if err != nil {
		return nil, nil, err
	}
	answer, err := p.call(ctx, what, body, b)
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, answer, nil
}
