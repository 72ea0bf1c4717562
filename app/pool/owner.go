package pool

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
)

// A load polls every memoryPoll until requests in flight have freed enough memory. It gives up after
// memoryPatience, since other changes wait. Only the current model waits without a limit.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
)

// An owner owns the list of models in memory. It serializes changes on its own goroutine, and nothing
// else reads or writes its fields. Readers have the view that it published last. Models that a change
// does not touch answer requests meanwhile. It calls no method of Pool that waits for a change.
type owner struct {
	*sizer
	pool *Pool
	view // published to readers by publish

	reserved        eviction.Need // memory for the model being loaded
	checkpointLimit int64         // bytes of memory that checkpoints may take in a shortage; 0 = no limit
	closed          bool          // no further change
}

// A change is a function for the owner.
type change struct {
	do   func(*owner) error
	done chan<- result
}

// A result is how a change ended.
type result struct {
	err      error
	panicked any // the value, or nil
}

// change has the owner call f once no other change is in progress. Errors: those of f; the cause of a
// ctx that ends before f begins; ErrDraining during a drain. f must not call change: it would wait for itself.
func (p *Pool) change(ctx context.Context, f func(*owner) error) error {
	return p.changeAlways(ctx, func(o *owner) error {
		if p.draining.Load() {
			return control.ErrDraining
		}
		return f(o)
	})
}

// changeAlways is like change but also runs during a drain. It panics in the caller if f panics.
func (p *Pool) changeAlways(ctx context.Context, f func(*owner) error) error {
	return p.changeUnless(ctx, nil, f)
}

// errChanged is returned by changeUnless.
var errChanged = errors.New("what is in memory has changed")

// changeUnless is changeAlways, and returns errChanged if done is closed before f begins.
func (p *Pool) changeUnless(ctx context.Context, done <-chan struct{}, f func(*owner) error) error {
	ended := make(chan result, 1)
	select {
	case p.changes <- change{f, ended}:
	case <-done:
		return errChanged
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return control.ErrDraining
	}
	out := <-ended
	if out.panicked != nil {
		panic(out.panicked)
	}
	return out.err
}

// run carries out changes until the pool is closed.
func (o *owner) run() {
	defer close(o.pool.ended)
	for !o.closed {
		select {
		case c := <-o.pool.changes:
			c.done <- o.carryOut(c.do)
		case <-o.pool.rebalance:
			o.rebalanceMemory()
		}
	}
}

// carryOut calls f. Afterwards, also after a panic, every model in memory is open to requests, and shares
// and view are up to date.
func (o *owner) carryOut(f func(*owner) error) (out result) {
	defer func() {
		if out.panicked = recover(); out.panicked != nil {
			o.pool.log.Error("a change of what is in memory panicked", "panic", out.panicked,
				"stack", string(debug.Stack()))
		}
		done := o.done
		reopen(o.models)
		o.loading, o.reserved, o.switching, o.done = nil, eviction.Need{}, false, make(chan struct{})
		o.rebalanceMemory()
		o.publish()
		close(done) // once the new view is published
	}()
	out.err = f(o)
	return out
}

// holdForSwitch makes requests for the current model wait until the end of the change, which may switch
// it.
func (o *owner) holdForSwitch() {
	o.switching = true
	o.publish()
}

// setModels replaces the list of models in memory.
func (o *owner) setModels(list []*Model) {
	o.models = list
	o.publish()
}

func (o *owner) add(list ...*Model) { o.setModels(slices.Concat(o.models, list)) }

func (o *owner) remove(list []*Model) {
	o.setModels(slices.DeleteFunc(slices.Clone(o.models),
		func(m *Model) bool { return slices.Contains(list, m) }))
}

// announce shows a model as being loaded, and returns its progress.
func (o *owner) announce(id string) *loading {
	o.loading = &loading{id: id}
	o.publish()
	return o.loading
}

// publish publishes a copy of what is in memory for readers.
func (o *owner) publish() {
	v := o.view
	o.pool.published.Store(&v)
}

// state returns what plans are made from.
func (o *owner) state() eviction.State {
	s := eviction.State{Limits: o.limits(), Now: time.Now(), LoadOnRequest: o.settings.Current().LoadOnRequest,
		Current: o.current, CheckpointLimit: o.checkpointLimit}
	for _, m := range o.models {
		s.Models = append(s.Models, m.inPlan())
	}
	return s
}

// rebalanceMemory gives each model in memory its share of what the needs leave.
func (o *owner) rebalanceMemory() {
	for i, share := range o.state().Shares(o.reserved) {
		m := o.models[i]
		m.engine.SetRoom(share.Sequences)
		if m.keepsCheckpoints() {
			m.engine.SetCheckpoints(share.Checkpoints)
		}
	}
}

// unload frees idle models in memory. If a request holds one of them, unload returns it as busy and
// changes nothing.
func (o *owner) unload(ids []string) (unloaded []*Model, busy *Model, err error) {
	if unloaded, busy = o.closeModels(ids, false); busy != nil || unloaded == nil {
		return nil, busy, nil
	}
	o.remove(unloaded)
	return unloaded, nil, closeAll(unloaded)
}

// closeModels lets no further request take models in memory. If a request holds one and waitForUsers is
// false, closeModels returns it as busy and changes nothing.
func (o *owner) closeModels(ids []string, waitForUsers bool) (models []*Model, busy *Model) {
	for _, id := range ids {
		m := find(o.models, id)
		if !m.users.close(waitForUsers) {
			reopen(models)
			return nil, m
		}
		models = append(models, m)
	}
	return models, nil
}

// reopen lets requests take models again.
func reopen(list []*Model) {
	for _, m := range list {
		m.users.reopen()
	}
}

// closeAll frees models that are off the list and that no request holds.
func closeAll(list []*Model) error {
	var errs []error
	for _, m := range list {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
