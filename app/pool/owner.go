package pool

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/plan"
)

// A load polls every memoryPoll until requests in flight have freed enough memory. It gives up after
// memoryPatience, since other changes wait. Only the current model waits without a limit.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
)

// An owner owns the list of models in memory. It serializes changes on its own goroutine, and nothing
// else reads or writes its fields. Readers have the pool's view, which it publishes. Models that a
// change does not touch answer requests meanwhile.
type owner struct {
	*Pool
	models    []*Model
	current   string        // id of the current model, in memory or not
	failure   string        // why it could not be loaded
	loading   *loading      // the model being loaded, or nil
	reserved  plan.Need     // memory for the model being loaded
	switching bool          // the change may switch the current model
	done      chan struct{} // closed at the end of the change

	checkpointLimit int64 // bytes of memory that checkpoints may take in a shortage; 0 = no limit
	closed          bool  // no further change
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
	defer close(o.ended)
	o.done = make(chan struct{})
	o.publish()
	for !o.closed {
		select {
		case c := <-o.changes:
			c.done <- o.carryOut(c.do)
		case <-o.rebalance:
			o.rebalanceMemory()
		}
	}
}

// carryOut calls f. Afterwards, also after a panic, every model in memory is open to requests, and shares
// and view are up to date.
func (o *owner) carryOut(f func(*owner) error) (out result) {
	defer func() {
		if out.panicked = recover(); out.panicked != nil {
			o.log.Error("a change of what is in memory panicked", "panic", out.panicked,
				"stack", string(debug.Stack()))
		}
		done := o.done
		reopen(o.models)
		o.loading, o.reserved, o.switching, o.done = nil, plan.Need{}, false, make(chan struct{})
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
	o.mu.Lock()
	defer o.mu.Unlock()
	o.view.models, o.view.current, o.view.failure = o.models, o.current, o.failure
	o.view.loading, o.view.switching, o.view.done = o.loading, o.switching, o.done
}

// state returns what plans are made from.
func (o *owner) state() plan.State {
	s := plan.State{Limits: o.limits(), Now: time.Now(), LoadOnRequest: o.settings.Current().LoadOnRequest,
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
		m.engine.SetRoom(share.Texts)
		if m.keepsCheckpoints() {
			m.engine.SetCheckpoints(share.Checkpoints)
		}
	}
}

// unload frees the models of the Unload actions of a plan. If a request holds one that has to be idle,
// unload returns it as busy and changes nothing.
func (o *owner) unload(list []plan.Action) (unloaded []*Model, busy *Model, err error) {
	if unloaded, busy = o.closeModels(list); busy != nil || unloaded == nil {
		return nil, busy, nil
	}
	o.remove(unloaded)
	return unloaded, nil, closeAll(unloaded)
}

// closeModels lets no further request take the models of the Unload actions of a plan. If a request
// holds one that has to be idle (Action.Finish is false), closeModels returns it as busy and changes
// nothing.
func (o *owner) closeModels(list []plan.Action) (models []*Model, busy *Model) {
	for _, a := range list {
		if a.Step != plan.Unload {
			continue
		}
		m := find(o.models, a.Model)
		if !m.users.close(a.Finish) {
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
