package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tandem/app/control"
)

// users are the requests that hold a model. Only the owner closes and reopens it. Its methods may be
// called by several goroutines.
type users struct {
	uses *atomic.Int64 // of all models: gives each use its number

	mu sync.Mutex
	usage
	released chan struct{} // closed when no request holds it any more; nil if nobody waits
}

// A usage is what users are at a moment.
type usage struct {
	holding int       // requests
	closed  bool      // no request gets the model
	last    int64     // number of the last use
	used    time.Time // when it was last taken, released or touched
}

// take adds n requests, or reports that the model is closed.
func (u *users) take(n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	u.holding += n
	u.used = time.Now()
	if n > 0 {
		u.last = u.uses.Add(1)
	}
	return true
}

// touch counts a use of the model that holds nothing.
func (u *users) touch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used, u.last = time.Now(), u.uses.Add(1)
}

// release takes off one request.
func (u *users) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = time.Now()
	if u.holding--; u.holding == 0 && u.released != nil {
		close(u.released)
		u.released = nil
	}
}

// close lets no further request take the model. It reports false, and does nothing, if a request
// holds the model and waitForUsers is false.
func (u *users) close(waitForUsers bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holding > 0 && !waitForUsers {
		return false
	}
	u.closed = true
	return true
}

// reopen undoes close.
func (u *users) reopen() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = false
}

// wait waits until no request holds a closed model. Errors: the cause of ctx; ErrDraining when life
// ends.
func (u *users) wait(ctx, life context.Context) error {
	u.mu.Lock()
	var released chan struct{}
	if u.holding > 0 {
		released = make(chan struct{})
		u.released = released
	}
	u.mu.Unlock()
	if released == nil {
		return nil
	}
	return waitFor(ctx, life, released)
}

// waitFor waits for a channel. Errors: the cause of ctx; ErrDraining when life ends.
func waitFor[T any](ctx, life context.Context, done <-chan T) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done():
		return control.ErrDraining
	}
}

// successor returns users for what takes the place of a closed model: nobody holds it, and it was used
// when that was. Who still has the closed model does not get it.
func (u *users) successor() *users {
	return &users{uses: u.uses, usage: usage{last: u.uses.Add(1), used: u.now().used}}
}

func (u *users) now() usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.usage
}
