package pool

import (
	"context"
	"fmt"
	"time"

	"tandem/app/control"
	"tandem/app/eviction"
)

// planLoad makes the plan for a load, and closes the models that it unloads to further requests. It
// returns what the model will need, and those models. Errors: those of the plan; nothing is changed then.
func (o *owner) planLoad(w eviction.Want) (need eviction.Need, models []*Model, err error) {
	models, err = o.closeAsPlanned(w.Current, func(s eviction.State) (unload []string, err error) {
		need, unload, err = s.Load(w)
		return unload, err
	})
	return need, models, err
}

// closeAsPlanned makes a plan and lets no further request take the models that it unloads. It makes the
// plan again if a request has taken a model that was idle in it and waitForUsers is false.
func (o *owner) closeAsPlanned(waitForUsers bool,
	decide func(eviction.State) (unload []string, err error)) ([]*Model, error) {
	for {
		unload, err := decide(o.state())
		if err != nil {
			return nil, err
		}
		if models, busy := o.closeModels(unload, waitForUsers); busy == nil {
			return models, nil
		}
	}
}

// makeRoom unloads models for another one, as planned: once no request holds them, and the sequences of the
// others fit beside the new model. Their memory stays reserved while that is loaded: if the load fails,
// they come back. Errors: those of waiting, after which nothing is changed. If the memory of models cannot
// be freed, they are gone.
func (o *owner) makeRoom(ctx context.Context, w eviction.Want, need eviction.Need, unloaded []*Model) error {
	var back eviction.Need
	for _, m := range unloaded {
		if err := m.users.wait(ctx, o.pool.life); err != nil {
			return err
		}
		back.Weights += m.needs.Weights
		back.Cache += m.needs.Cache
	}
	before := o.models
	o.remove(unloaded)
	if o.reserved = need; back.Bytes() > need.Bytes() {
		o.reserved = back
	}
	o.rebalanceMemory()
	if err := o.waitForMemory(ctx, w.ID, w.Current); err != nil {
		o.setModels(before)
		return err
	}
	for _, m := range unloaded {
		o.pool.log.Info("a model leaves the memory for another", "model", m.row.ID, "for", w.ID)
	}
	if err := closeAll(unloaded); err != nil {
		return fmt.Errorf("make room for %s: %w", w.ID, err)
	}
	return nil
}

// waitForMemory waits until the sequences in flight fit beside the model being loaded. Those admitted
// under larger shares have to end. Only for the current model it waits without a limit. Error:
// CodeModelBusy.
func (o *owner) waitForMemory(ctx context.Context, id string, isCurrent bool) error {
	for begun := time.Now(); ; {
		over := o.state().Overdrawn(o.reserved)
		if over == "" {
			return nil
		}
		if !isCurrent && time.Since(begun) > o.pool.patience {
			return control.Errorf(control.CodeModelBusy,
				"The memory that %s needs is taken by requests that %s is answering; try again when they have ended, or ask for shorter answers.",
				control.Word(id), control.Word(over))
		}
		if err := waitFor(ctx, o.pool.life, time.After(memoryPoll)); err != nil {
			return err
		}
	}
}

// restore loads models again, with the contexts and in the formats that they had, after the load for
// which they were unloaded has failed. Their memory was kept.
func (o *owner) restore(unloaded []*Model) {
	for _, m := range unloaded {
		back, err := o.pool.open(m.row, m.format, m.context, o.announce(m.row.ID))
		if err != nil {
			o.pool.log.Warn("a model that was unloaded for another cannot be loaded again",
				"model", m.row.ID, "error", err)
			o.noteFailure(o.pool.life, m.row.ID, err)
			continue
		}
		back.users = m.users.successor()
		o.add(back)
	}
}
