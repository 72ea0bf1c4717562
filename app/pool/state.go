package pool

import (
	"cmp"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/models"
)

// State fills in what the pool knows: the models in memory, the model being loaded, the choice, and
// the phase as far as the pool decides it.
func (p *Pool) State(st *control.State) {
	v := p.look()
	mem, current := p.thread.Memory(), v.model()
	st.ActiveBytes, st.PeakBytes, st.Choice, st.Error = mem.Active, mem.MaxActive, v.current, v.failure
	st.InMemory = []control.Loaded{}
	for _, m := range v.models {
		shown := *m.Describe()
		shown.InUse, shown.Drafting = m.users.now().holding > 0, m.drafting()
		st.InMemory = append(st.InMemory, shown)
		if m == current {
			st.Loaded = &shown
		}
		if m.store != nil {
			st.Warning = cmp.Or(st.Warning, m.store.Failure())
		}
	}
	if pressure := p.pressure.Load(); pressure != nil {
		shown := pressure.Told()
		st.Pressure = &shown
	}
	if v.loading != nil {
		st.Loading = v.loading.describe()
	}
	if p.MachineMemory() > 0 {
		st.MemoryRoom = p.Room()
	}
	switch {
	case p.draining.Load():
		st.Phase = control.PhaseDraining
	case v.loading != nil && (current == nil || v.switching || v.loading.id == v.current):
		st.Phase = control.PhaseLoading // requests for the choice wait
	case current != nil:
		st.Phase = control.PhaseReady
	case v.failure != "":
		st.Phase = control.PhaseFailed
	default:
		st.Phase = control.PhaseNoModel
	}
}

// drafting says whether anything drafts for the model, see [control.Loaded].
func (m *Model) drafting() string {
	switch depth := m.modelSettings().Depth; {
	case m.bundle.Purpose.Kind != models.KindText || m.pool.opts.Speculation == engine.None:
		return ""
	case depth != nil && *depth == 0:
		return control.DraftingOff
	}
	return control.DraftingOn
}

func (c *loading) describe() *control.Loading {
	return &control.Loading{ID: c.id, Done: c.done.Load(), Total: c.total.Load()}
}

// Describe returns what the state shows about the model.
func (m *Model) Describe() *control.Loaded {
	device := "cpu"
	if m.pool.thread.GPU() {
		device = "gpu"
	}
	name := ""
	if m.drafter != nil {
		name = m.drafter.Name()
	}
	return &control.Loaded{
		ID: m.row.ID, Architecture: m.bundle.Info.Architecture,
		ContextLength: m.engine.ContextLength(),
		Device:        device, Dtype: m.bundle.Model.Config().Dtype.String(), KVBits: m.kvBits,
		LoadMS: m.loadTime.Milliseconds(), Queued: m.engine.Queued(),
		Drafter: name, NoDrafter: m.noDrafter, KVLayout: m.layoutShown(),
		ShortContext: control.ShortContext(m.pool.opts.ContextLength, m.bundle.Info.ContextLength),
		Bytes:        m.need().Weights, Needs: m.need().Bytes(),
	}
}

// Format implements model.Model.
func (m *Model) Format() model.Format {
	return model.Format{KVBits: m.kvBits, KVLayout: m.layoutShown()}
}

// layoutShown returns the layout of rows, empty for the default.
func (m *Model) layoutShown() string {
	switch {
	case m.restoration != nil:
		return m.restoration.Layout
	case m.layout == control.KVFull:
		return control.KVFull
	}
	return ""
}
