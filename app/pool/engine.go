package pool

import (
	"context"
	"time"

	"tandem/app/drafters"
	"tandem/app/eviction"
	"tandem/engine"
	"tandem/engine/draft"
)

// newEngine starts the engine of a model with its drafter, which may be nil. A client's prediction
// comes before the drafter, since it costs nothing. Looking up earlier text comes after it, and
// costs nothing either: what the client's earlier requests said (memory), then the request's own
// text (n-grams).
func (m *Model) newEngine(d *drafters.Drafter, reason string) *engine.Engine {
	p := m.pool
	o := engine.Options{
		ContextLength: m.context, KVBits: m.kvBits, Layout: m.cacheLayout(), Logger: p.log,
		Name: m.row.ID, NoDrafter: reason,
		Drafters: []draft.Drafter{draft.Prediction{}}, ThreadShare: &p.engines,
	}
	var names []string
	if d != nil {
		o.Drafters = append(o.Drafters, d.Drafter)
		names = append(names, d.Name())
	}
	if memory := (draft.Memory{}); p.opts.NoCheckpoints {
		o.Without = map[string]string{memory.Name(): "nothing is remembered while checkpoints are off"}
	} else {
		o.Drafters = append(o.Drafters, memory)
	}
	o.Drafters = append(o.Drafters, draft.Ngram{})
	if d != nil && draft.CanContinue(d.Drafter) {
		c := draft.NewContinued(d.Drafter)
		o.Drafters = append(o.Drafters, c)
		names = append(names, c.Name())
	}
	o.Policies = p.drafters.Policies(d.Key(), m.learned(m.restoration), names...)
	if !p.opts.NoCheckpoints {
		o.Checkpoints, o.Store = p.CheckpointBytes(), m.store
	}
	o.SequenceBytes, m.needs = m.sequenceMemory(d)
	o.Room, o.Short = m.needs.Cache, eviction.ShortRequest // and more once it is in memory, see owner.divide
	return engine.New(p.thread, m.served, m.bundle.Tokenizer, o)
}

// startEngine starts the engine with a drafter, which may be nil, and the measurement of a drafter
// that was not measured before.
func (m *Model) startEngine(d *drafters.Drafter, reason string) {
	m.drafter, m.noDrafter = d, reason
	m.settings = m.pool.settings.Current()
	m.store, m.key = m.pool.openStore(m, d)
	m.engine = m.newEngine(d, reason)
	ctx, cancel := context.WithCancel(context.Background())
	m.lent, m.endLending = ctx, cancel
	if d == nil || !d.Variant().Measuring {
		return
	}
	m.borrowers.Go(func() {
		select {
		case <-time.After(drafters.TrialPause): // a request is likely to follow the load
		case <-ctx.Done():
			return
		}
		err := m.pool.drafters.MeasureVariants(ctx, d, m.target())
		if err != nil && ctx.Err() == nil {
			m.pool.log.Warn("the drafter could not be measured and is read as published",
				"model", m.row.ID, "drafter", d.Source(), "error", err)
		}
	})
}

// stopEngine ends the engine, and first every measurement of the model.
func (m *Model) stopEngine() {
	m.endLending()
	m.borrowers.Wait()
	m.engine.Close()
	if m.store != nil {
		m.store.Close()
	}
}
