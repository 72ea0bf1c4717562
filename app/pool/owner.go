package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/plan"
)

// While a load waits for memory, the owner looks every memoryPoll whether texts have left enough. It
// gives up after memoryPatience, since other changes wait. Only the current model waits without a
// limit.
const (
	memoryPoll     = 20 * time.Millisecond
	memoryPatience = 10 * time.Second
)

// An owner owns the list of models in memory. It carries out one change after the other on a goroutine
// of its own, and nothing else reads or writes its fields. Readers have the pool's view, which it
// publishes. Models that a change does not touch answer requests meanwhile.
type owner struct {
	*Pool
	models  []*Model
	current string        // id of the current model, in memory or not
	failure string        // why it could not be loaded
	loading *loading      // the model being loaded, or nil
	coming  plan.Need     // memory reserved for it
	settled chan struct{} // closed at the end of a change after which another model may be current; or nil

	checkpointLimit int64 // bytes of memory that checkpoints may take in a shortage; 0 = no limit
	closed          bool  // no further change
}

// A change is a function for the owner.
type change struct {
	do   func(*owner) error
	done chan<- outcome
}

// An outcome is how a change ended.
type outcome struct {
	err      error
	panicked any // the value, or nil
}

// change has the owner call f once no other change is in progress. Errors: those of f; the cause of a
// ctx that ends before f begins; ErrDraining during a drain. f gets no ctx, and must not call change.
func (p *Pool) change(ctx context.Context, f func(*owner) error) error {
	return p.changeAlways(ctx, func(o *owner) error {
		if p.draining.Load() {
			return control.ErrDraining
		}
		return f(o)
	})
}

// changeAlways is change, also during a drain. A panic of f is one of its caller.
func (p *Pool) changeAlways(ctx context.Context, f func(*owner) error) error {
	done := make(chan outcome, 1)
	select {
	case p.changes <- change{f, done}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return control.ErrDraining
	}
	out := <-done
	if out.panicked != nil {
		panic(out.panicked)
	}
	return out.err
}

// run carries out changes until the pool is closed.
func (o *owner) run() {
	defer close(o.ended)
	for !o.closed {
		select {
		case c := <-o.changes:
			c.done <- o.carryOut(c.do)
		case <-o.unbalanced:
			o.divide()
		}
	}
}

// carryOut calls f. Afterwards, also after a panic, requests may take every model in memory, and shares
// and view are those of the models in memory.
func (o *owner) carryOut(f func(*owner) error) (out outcome) {
	defer func() {
		out.panicked = recover()
		settled := o.settled
		reopen(o.models)
		o.loading, o.coming, o.settled = nil, plan.Need{}, nil
		o.divide()
		o.publish()
		if settled != nil {
			close(settled)
		}
	}()
	out.err = f(o)
	return out
}

// maySwitch lets requests for the current model wait until the end of the change: another model may be
// current then.
func (o *owner) maySwitch() {
	o.settled = make(chan struct{})
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

// publish copies for readers what is in memory.
func (o *owner) publish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.view.models, o.view.current, o.view.failure = o.models, o.current, o.failure
	o.view.loading, o.view.settled = o.loading, o.settled
}

// state returns what plans are made from.
func (o *owner) state() plan.State {
	s := plan.State{Limits: o.limits(), Now: time.Now(), LoadOnRequest: o.settings.Current().LoadOnRequest,
		Current: o.current, CheckpointLimit: o.checkpointLimit}
	for _, m := range o.models {
		s.Models = append(s.Models, m.planned())
	}
	return s
}

// divide gives each model in memory its share of what the needs leave.
func (o *owner) divide() {
	for i, share := range o.state().Shares(o.coming) {
		m := o.models[i]
		m.engine.SetRoom(share.Texts)
		if m.keepsCheckpoints() {
			m.engine.SetCheckpoints(share.Checkpoints)
		}
	}
}

// unload frees the models of the Unload actions of a plan. If a request holds one that may not finish,
// unload returns it as busy and changes nothing.
func (o *owner) unload(list []plan.Action) (unloaded []*Model, busy *Model, err error) {
	if unloaded, busy = o.shut(list); busy != nil || unloaded == nil {
		return nil, busy, nil
	}
	o.remove(unloaded)
	return unloaded, nil, closeAll(unloaded)
}

// shut lets no further request take the models of the Unload actions of a plan. If a request holds one
// that may not finish, shut returns it as busy and changes nothing.
func (o *owner) shut(list []plan.Action) (models []*Model, busy *Model) {
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
