package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// The system and other programs keep 1/systemPart of the machine's memory, systemBytes at least.
const (
	systemPart  = 4
	systemBytes = 2 << 30
)

// Lengths in tokens. A context that does not fit is cut, unless a person set its length: to a
// multiple of contextStep, and to shortContext at least. Beside a whole context there is memory
// left for texts of shortRequest, see engine.Options.Short.
const (
	shortContext = 4096
	contextStep  = 1024
	shortRequest = 4096
)

// roomFor returns how much of a machine's memory models may take, in bytes. If the machine's memory
// is not known, there is no limit.
func roomFor(memory int64) int64 {
	if memory <= 0 {
		return math.MaxInt64
	}
	return max(0, memory-max(memory/systemPart, systemBytes))
}

// Room returns how much of this machine's memory models may take, in bytes. What checkpoints may
// take is not part of it.
func (p *Pool) Room() int64 {
	memory := p.MachineMemory()
	if memory <= 0 {
		return roomFor(memory)
	}
	return max(0, roomFor(memory)-p.CheckpointBytes())
}

// A demand is the memory that a model takes once it is loaded and its context is full.
type demand struct {
	weights int64 // bytes, with those of its drafter
	text    int64 // bytes of a whole context, likewise
	context int   // tokens; 0 = the model's
}

func (d demand) bytes() int64 { return d.weights + d.text }

// A loadable is what fit needs to know about a model.
type loadable struct {
	models.Footprint
	drafter models.Footprint // zero if it has none
	wide    bool             // both compute in float32
}

// demand returns what the model takes with a context of so many tokens.
func (m loadable) demand(context int) demand {
	return demand{
		weights: m.Weights(m.wide) + m.drafter.Weights(m.wide),
		text:    m.Text(context, m.wide) + m.drafter.Text(context, m.wide),
		context: context,
	}
}

// fit returns what a model takes with the context that was asked for. If none was (0), it takes the
// longest context that room allows. ok says whether the model fits.
func fit(m loadable, asked int, room int64) (d demand, ok bool) {
	whole := m.ContextLength
	if asked > 0 {
		whole = min(asked, cmp.Or(whole, asked))
	}
	if d = m.demand(whole); d.bytes() <= room || asked > 0 {
		return d, d.bytes() <= room
	}
	least := min(whole, shortContext)
	// longest returns the longest context, the shortest at least, that fits beside so many bytes.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1, func(n int) bool { return m.demand(n*contextStep).bytes()+beside > room }) - 1
		return max(least, n*contextStep)
	}
	short := m.demand(shortRequest).text
	context := longest(short)
	if context > agentContext { // it leaves memory for a small model
		context = max(agentContext, longest(short+room/neighbourPart))
	}
	d = m.demand(context)
	return d, d.bytes() <= room
}

// MachineMemory returns the machine's memory in bytes, 0 if it is not known.
func (p *Pool) MachineMemory() int64 { return cmp.Or(p.opts.Memory, home.Memory()) }

// Wire lets the memory of models stay resident, see mlx.Scope.Wire. Where the system does not allow
// that, everything works, but slower after a pause.
func (p *Pool) Wire(ctx context.Context) {
	var limit int64
	err := p.thread.Do(ctx, func(s *mlx.Scope) (err error) {
		limit, err = s.Wire(roomFor(p.MachineMemory()))
		return err
	})
	if err != nil {
		p.log.Warn("no memory is wired", "error", err)
		return
	}
	p.log.Debug("memory may be wired", "bytes", limit)
}

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
func (p *Pool) sizeOf(ctx context.Context, row storage.Model) (size loadable, asked int, err error) {
	if asked, err = p.askedContext(ctx, row); err != nil {
		return size, asked, err
	}
	drafter := ""
	if choice, err := p.drafterChoice(ctx, row); err == nil {
		// A drafter that cannot be used takes no memory: the model is served without it.
		drafter, _ = p.drafterSource(row, choice)
	}
	if size, err = p.measure(row, drafter); err != nil {
		return size, asked, InvalidModel(err)
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
	return d, memoryError(row.ID, d, asked > 0, room, p.MachineMemory(), p.CheckpointBytes())
}

// measure reads the headers of a model and of its drafter's folder, which may be empty. The
// built-in drafter is too small to count.
func (p *Pool) measure(row storage.Model, drafter string) (loadable, error) {
	f, err := models.Measure(row.Path)
	m := loadable{Footprint: f, wide: p.computesWide()}
	if drafter != "" && drafter != BuiltInDrafter {
		if size, e := models.MeasureDrafter(drafter); e == nil {
			m.drafter = size
		}
	}
	return m, err
}

// textMemory returns the demand of the model with its whole context. text turns the length of a
// text in tokens into its memory in bytes. Both are zero if the files cannot be read.
func (m *Model) textMemory(d *Drafter) (text func(tokens int) int64, whole demand) {
	source := ""
	if d != nil {
		source = d.source
	}
	size, err := m.pool.measure(m.row, source)
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
	rows, err := p.db.Models(ctx)
	if err != nil {
		return control.Memory{}, err
	}
	out := control.Memory{Total: p.MachineMemory(), Models: []control.ModelNeeds{}}
	if out.Total > 0 {
		out.Room = p.Room()
	}
	for _, row := range rows {
		d, err := p.demand(ctx, row)
		if short := isMemoryError(err); err == nil || short { // a model that cannot be loaded has no needs
			out.Models = append(out.Models, control.ModelNeeds{ID: row.ID, Needs: control.Needs{Bytes: d.bytes(), Context: d.context, Fits: !short}})
		}
	}
	return out, nil
}

// Needs returns what the model in a folder would need if it were alone in memory.
func (p *Pool) Needs(dir string) (control.Needs, error) {
	size, err := models.Measure(dir)
	if err != nil {
		return control.Needs{}, err
	}
	d, ok := fit(loadable{Footprint: size, wide: p.computesWide()}, p.opts.ContextLength, p.Room())
	return control.Needs{Bytes: d.bytes(), Context: d.context, Fits: ok}, nil
}

// computesWide reports whether models are computed in float32, see models.DtypeAuto.
func (p *Pool) computesWide() bool {
	switch models.DtypePolicy(p.opts.Dtype) {
	case models.DtypeFloat32:
		return true
	case models.DtypeCheckpoint:
		return false
	}
	return !p.thread.GPU()
}

// isMemoryError reports whether a model does not fit the memory.
func isMemoryError(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeMemory
}

// memoryError says why a model is not loaded, with the figures, and what to do.
func memoryError(id string, d demand, asked bool, room, memory, checkpoints int64) *control.Error {
	beside := ""
	if checkpoints > 0 {
		beside = ", beside " + control.GiB.Of(checkpoints) + " for checkpoints"
	}
	advice := "choose a smaller model"
	if asked && d.text > 0 && d.weights < room {
		advice = "give it a shorter context, or choose a smaller model"
	}
	if d.bytes() <= roomFor(memory)-control.LeastBudget && checkpoints > control.LeastBudget {
		advice += ", or give checkpoints less memory (checkpoint_memory)"
	}
	return control.Plain(control.CodeMemory, fmt.Sprintf(
		"%s needs %s: %s for its weights and %s for a context of %s tokens. Of this machine's %s models may take %s%s: %s.",
		id, control.GiB.Of(d.bytes()), control.GiB.Of(d.weights), control.GiB.Of(d.text), control.Grouped(d.context), control.GiB.Of(memory), control.GiB.Of(room), beside, advice))
}
