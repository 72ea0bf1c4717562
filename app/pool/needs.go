package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/texts"
	"tandem/models"
	"tandem/storage"
)

// demand returns what a model would take if no other were in memory, as far as its files tell.
// Error: CodeMemory if it does not fit, together with the demand.
func (p *Pool) demand(ctx context.Context, row storage.Model) (demand, error) {
	size, asked, err := p.sizeOf(ctx, row)
	if err != nil {
		return demand{}, err
	}
	return p.fitsAlone(row, size, asked)
}

// sizeOf returns what fit needs to know about a model, and the context that was asked for, in
// tokens.
func (p *Pool) sizeOf(ctx context.Context,
	row storage.Model) (size loadable, asked int, err error) {
	asked, set, err := p.askedFor(ctx, row)
	if err != nil {
		return size, asked, err
	}
	var drafter string
	choice, missing := p.drafters.Choice(ctx, row.ID)
	if missing == nil {
		// A drafter that cannot be used takes no memory: the model is served without it.
		drafter, missing = p.drafters.Source(row, choice)
	}
	if size, err = p.measure(row, drafter, set); err != nil {
		if _, ok := errors.AsType[*noDrafterError](err); ok {
			err = &noDrafterError{row.ID, noDrafterReason(missing)}
		}
		return size, asked, Unusable(row, err)
	}
	return size, asked, nil
}

// fitsAlone is fit for a model that has the whole memory to itself. Error: CodeMemory.
func (p *Pool) fitsAlone(row storage.Model, size loadable, asked int) (demand, error) {
	room := p.Room()
	d, ok := fit(size, asked, room)
	if ok || row.Source == storage.SourcePocket { // it is served always, so that some model answers
		return d, nil
	}
	return d, p.memoryError(row.ID, d, asked > 0)
}

// measure returns the memory of a model and of its drafter's folder, which may be empty, if they are
// loaded so. The pocket drafter is too small to count. Error: also a model that cannot be loaded so.
func (p *Pool) measure(row storage.Model, drafter string, set formSetting) (loadable, error) {
	inspect := func() (models.Summary, error) { // the pocket model never changes
		return p.models.Get(row.Source, row.Source, models.InspectPocket)
	}
	if row.Source != storage.SourcePocket {
		inspect = func() (models.Summary, error) { return p.Inspect(row.Path) }
	}
	s, err := inspect()
	m, refused := p.loadable(s, set)
	if drafter != "" && drafter != models.PocketDrafter {
		if size, e := p.drafters.Measure(row, drafter); e == nil {
			m.draftsWide = p.computesWide(size, set.dtype)
			if set.layout == control.KVFull {
				size = size.Full()
			}
			if m.drafter = size.PackedIn(set.drafterBits); !p.thread.GPU() {
				m.drafter = m.drafter.OnCPU()
			}
		}
	}
	if err = cmp.Or(err, refused); err == nil && set.bounds(s.Kind) {
		var dir string
		if dir, err = p.findFTheta(row, drafter); err != nil {
			return m, err
		}
		c, err := models.ReadFTheta(dir)
		if err != nil {
			return m, &fThetaError{row.ID, err}
		}
		m.Footprint, m.fTheta = m.Footprint.Bounded(c), c.Parameters()
	}
	return m, err
}

// loadable returns a model without a drafter. Error: its keys and values cannot be held so.
func (p *Pool) loadable(s models.Summary, set formSetting) (loadable, error) {
	set = set.of(s.Kind)
	wide := p.computesWide(s.Footprint, set.dtype)
	of, err := s.Footprint.Quantized(set.kvBits)
	if err != nil {
		advice := "; set it to 0 for this model"
		if by, given := p.settings.Given("kv_bits"); given {
			advice = fmt.Sprintf(", by %s; leave that out", by.By)
		}
		err = fmt.Errorf("%w (kv_bits is %d%s)", err, set.kvBits, advice)
	}
	if set.layout == control.KVFull {
		of = of.Full()
	}
	gpu := p.thread.GPU()
	if !gpu {
		of = of.OnCPU()
	}
	if gpu || !wide {
		of = of.Unpacking(gpu)
	}
	return loadable{Footprint: of,
		unpacks: wide && !gpu && set.dtype != models.DtypeCheckpoint,
		form:    form{formSetting: set, wide: wide}}, err
}

// measure returns the memory of the model as it is held, with the drafter in a folder, see
// [Pool.measure].
func (m *Model) measure(drafter string) (loadable, error) {
	size, err := m.pool.measure(m.row, drafter, m.formSetting)
	return size.as(m.form), err
}

// noChat returns why a model cannot chat though it has a chat template.
func (p *Pool) noChat(row storage.Model) string {
	if row.Source == storage.SourcePocket {
		return ""
	}
	s, err := p.Inspect(row.Path)
	if err != nil {
		return "" // why it cannot be loaded is told
	}
	return s.NoChat()
}

// inexact says what the weights of a model lose in memory: of the whole if it is loaded, else of a
// sample. Weights that a load would hold unpacked lose nothing.
func (p *Pool) inexact(row storage.Model, unpacked bool) string {
	losses, loaded := p.losses(row.ID)
	if !loaded && !unpacked && row.Source != storage.SourcePocket {
		s, _ := p.Inspect(row.Path) // why it cannot be loaded is told
		losses = s.Losses
	}
	return sayLosses(losses)
}

// sayLosses returns losses as one text, empty for none.
func sayLosses(losses []models.Loss) string {
	if losses == nil {
		return ""
	}
	var list []string
	for _, l := range losses {
		list = append(list, l.String())
	}
	return strings.Join(list, "; ") + " (a step is the rms of the file's own scales)"
}

// losses returns what a loaded model lost.
func (p *Pool) losses(id string) (_ []models.Loss, loaded bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.resident {
		if m.row.ID == id {
			return m.bundle.Losses, true
		}
	}
	return nil, false
}

// Inspect is [models.Inspect]. It reads a folder again only if one of its files is another one.
func (p *Pool) Inspect(dir string) (models.Summary, error) {
	return p.InspectBy(dir, func() (models.Summary, error) { return models.Inspect(dir) })
}

// InspectBy is Inspect with another function to read the files at a path.
func (p *Pool) InspectBy(path string,
	read func() (models.Summary, error)) (models.Summary, error) {
	return p.models.Get(path, models.FileDates(path), read)
}

// textMemory returns the demand of the model with its whole context. text turns the length of a
// text in tokens into its memory in bytes. Both are zero if the files cannot be read.
func (m *Model) textMemory(d *drafters.Drafter) (text func(tokens int) int64, whole demand) {
	source := ""
	if d != nil {
		source = d.Source()
	}
	size, err := m.measure(source)
	if err != nil {
		m.pool.log.Warn("the memory of requests is not known, so all of them are served at once",
			"model", m.row.ID, "error", err)
		return nil, demand{}
	}
	whole = size.demand(cmp.Or(m.context, size.ContextLength))
	return func(tokens int) int64 { return size.demand(tokens).text }, whole
}

// Memory returns what each registered model would need if it were alone in memory. It implements
// server.Residents.
func (p *Pool) Memory(ctx context.Context) (control.Memory, error) {
	rows, err := p.db.Models.List(ctx)
	if err != nil {
		return control.Memory{}, err
	}
	out := control.Memory{Total: p.MachineMemory()}
	if out.Total > 0 {
		out.Room = p.Room()
	}
	out.Models = make([]control.ModelNeeds, len(rows))
	var reading sync.WaitGroup
	for i, row := range rows { // at once, since a folder that does not answer takes its time
		reading.Go(func() {
			m := &out.Models[i]
			m.ID = row.ID
			d, err := p.demand(ctx, row)
			if short := isMemoryError(err); err == nil || short {
				m.Needs = control.Needs{Bytes: d.bytes(), Context: d.context, Fits: !short}
			} else {
				m.Why = err.Error()
			}
			m.NoChat, m.Inexact = p.noChat(row), p.inexact(row, d.unpacked)
		})
	}
	reading.Wait()
	return out, nil
}

// Needs returns what a model that is not registered would need if it were alone in memory. It is nil
// where only a registered model can tell. That is so for bounded layers, which need a drafter and an
// f_theta. It is so too where kv_bits does not fit the heads: settings of its own may say other bits.
func (p *Pool) Needs(of models.Summary) *control.Needs {
	set := p.formSetting(control.ModelSettings{})
	m, refused := p.loadable(of, set)
	if refused != nil || set.bounds(of.Kind) {
		return nil
	}
	d, ok := fit(m, p.opts.ContextLength, p.Room())
	return &control.Needs{Bytes: d.bytes(), Context: d.context, Fits: ok}
}

// formSetting returns what the next load of a model with settings of its own does. A flag or the
// environment wins over these.
func (p *Pool) formSetting(own control.ModelSettings) formSetting {
	now := p.settings.Current()
	set := formSetting{dtype: models.DtypePolicy(now.Dtype), kvBits: now.KVBits,
		layout: p.opts.KVLayout}
	if _, given := p.settings.Given("kv_bits"); !given && own.KVBits != nil {
		set.kvBits = *own.KVBits
	}
	if own.DraftWindow != nil {
		set.draftWindow = *own.DraftWindow
	}
	if own.DrafterBits != nil {
		set.drafterBits = *own.DrafterBits
	}
	return set
}

// computesWide reports whether a model is computed in float32, see models.DtypeAuto. On the CPU a
// GGUF file is, whatever the dtype: in bfloat16 a small one answers nonsense.
func (p *Pool) computesWide(of models.Footprint, dtype models.DtypePolicy) bool {
	switch dtype {
	case models.DtypeFloat32:
		return true
	case models.DtypeCheckpoint:
		return of.IsGGUF() && !p.thread.GPU()
	}
	return !p.thread.GPU()
}

// isMemoryError reports whether a model does not fit the memory.
func isMemoryError(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeMemory
}

// memoryError says why a model is not loaded, with the figures, and what to do. asked says that a
// person set the length of its context.
func (p *Pool) memoryError(id string, d demand, asked bool) *control.Error {
	room, memory, checkpoints := p.Room(), p.MachineMemory(), p.CheckpointBytes()
	beside := ""
	if checkpoints > 0 {
		beside = fmt.Sprintf(", beside %s for checkpoints and %s for remembered texts",
			control.GiB.Of(checkpoints), control.GiB.Of(texts.MaxBytes))
	}
	advice := "Choose a smaller model"
	if asked && d.text > 0 && d.weights < room {
		advice = "Give it a shorter context, or choose a smaller model"
	}
	if d.bytes() <= p.besideTexts()-control.LeastBudget && checkpoints > control.LeastBudget {
		advice += ", or give checkpoints less memory (checkpoint_memory)"
	}
	return control.Plain(control.CodeMemory, fmt.Sprintf(
		"%s needs %s, but models may take only %s of this machine's %s%s. %s.",
		id, d, control.GiB.Of(room), control.GiB.Of(memory), beside, advice))
}
