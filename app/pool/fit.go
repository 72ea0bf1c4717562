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

// What the system and other programs keep of the machine's memory: a part in so
// many, and so much at least.
const (
	systemPart  = 4
	systemBytes = 2 << 30
)

// shortContext is what a model is cut to at least, in tokens, where a longer one
// does not fit and nobody asked for a length; contextStep is what lengths are
// multiples of then. shortRequest is how long texts are for which there is room left
// beside a whole context, see engine.Options.Short.
const (
	shortContext = 4096
	contextStep  = 1024
	shortRequest = 4096
)

// roomFor returns how much of a machine's memory a model may take. Of a machine
// whose memory is not known it is all that can be.
func roomFor(memory int64) int64 {
	if memory <= 0 {
		return math.MaxInt64
	}
	return max(0, memory-max(memory/systemPart, systemBytes))
}

// Room returns how much of this machine's memory models may take: what
// checkpoints may is not for them.
func (p *Pool) Room() int64 {
	memory := p.MachineMemory()
	if memory <= 0 {
		return roomFor(memory)
	}
	return max(0, roomFor(memory)-p.CheckpointBytes())
}

// A demand is what a model takes once it is loaded and its context is full.
type demand struct {
	weights int64 // bytes, its drafter's included
	text    int64 // bytes, likewise
	context int   // tokens; 0 = the model's
}

func (d demand) bytes() int64 { return d.weights + d.text }

// A loadable is what fit has to know of a model.
type loadable struct {
	models.Footprint
	drafter models.Footprint // zero if it has none
	wide    bool             // both compute in float32
}

// demand returns what it takes with a context of so many tokens.
func (m loadable) demand(context int) demand {
	return demand{
		weights: m.Weights(m.wide) + m.drafter.Weights(m.wide),
		text:    m.Text(context, m.wide) + m.drafter.Text(context, m.wide),
		context: context,
	}
}

// fit returns what a model takes with the context that was asked for, or, where
// none was, with the longest that there is room for. ok says whether it fits.
func fit(m loadable, asked int, room int64) (d demand, ok bool) {
	whole := m.ContextLength
	if asked > 0 {
		whole = min(asked, cmp.Or(whole, asked))
	}
	if d = m.demand(whole); d.bytes() <= room || asked > 0 {
		return d, d.bytes() <= room
	}
	least := min(whole, shortContext)
	// More than the shortest, but so that a step more would not fit beside so much.
	longest := func(beside int64) int {
		n := sort.Search(whole/contextStep+1, func(n int) bool { return m.demand(n*contextStep).bytes()+beside > room }) - 1
		return max(least, n*contextStep)
	}
	short := m.demand(shortRequest).text
	context := longest(short)
	if context > besideContext { // a small model may come beside it
		context = max(besideContext, longest(short+room/besidePart))
	}
	d = m.demand(context)
	return d, d.bytes() <= room
}

// MachineMemory is the machine's, in bytes; 0 if it is not known.
func (p *Pool) MachineMemory() int64 { return cmp.Or(p.opts.Memory, home.Memory()) }

// Wire lets what a model may take stay in memory, see mlx.Scope.Wire. Where that
// cannot be had all works, only slower after a pause.
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

// demand returns what a model would take if no other were in memory, as far as that can
// be told before it is loaded. Error: CodeMemory if it does not fit, with the demand that
// does not.
func (p *Pool) demand(ctx context.Context, row storage.Model) (demand, error) {
	size, asked, err := p.sizeOf(ctx, row)
	if err != nil {
		return demand{}, err
	}
	return p.fitsAlone(row, size, asked)
}

// sizeOf returns what fit has to know of a model, and the context that was asked for.
func (p *Pool) sizeOf(ctx context.Context, row storage.Model) (size loadable, asked int, err error) {
	if asked, err = p.askedContext(ctx, row); err != nil {
		return size, asked, err
	}
	drafter := ""
	if choice, err := p.drafterChoice(ctx, row); err == nil {
		// A drafter that cannot be used costs nothing: the model is served without.
		drafter, _ = p.drafterSource(row, choice)
	}
	if size, err = p.measure(row, drafter); err != nil {
		return size, asked, InvalidModel(err)
	}
	return size, asked, nil
}

// fitsAlone is fit for a model with all the room to itself. Error: CodeMemory.
func (p *Pool) fitsAlone(row storage.Model, size loadable, asked int) (demand, error) {
	room := p.Room()
	d, ok := fit(size, asked, room)
	if ok || row.Source == storage.SourcePocket { // which is there so that something answers
		return d, nil
	}
	return d, shortOfMemory(row.ID, d, asked > 0, room, p.MachineMemory(), p.CheckpointBytes())
}

// measure reads the headers of a model and of its drafter's folder, which may be
// empty. The drafter that is built in is as good as nothing.
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

// texts returns what a text takes of the memory by its length, and what the model and
// a whole context do.
func (m *Model) texts(d *Drafter) (text func(tokens int) int64, whole demand) {
	source := ""
	if d != nil {
		source = d.source
	}
	size, err := m.pool.measure(m.row, source)
	if err != nil {
		m.pool.log.Warn("what requests take of the memory is not known, so that as many as come are served at once", "model", m.row.ID, "error", err)
		return nil, demand{}
	}
	whole = size.demand(cmp.Or(m.context, size.ContextLength))
	return func(tokens int) int64 { return size.demand(tokens).text }, whole
}

// Memory implements server.Residents.
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
		if short := isShort(err); err == nil || short { // of one that cannot be loaded at all nothing is known
			out.Models = append(out.Models, control.ModelNeeds{ID: row.ID, Needs: control.Needs{Bytes: d.bytes(), Context: d.context, Fits: !short}})
		}
	}
	return out, nil
}

// Needs returns what the model in a folder would take of the memory if it were alone there.
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

// isShort reports whether a model does not fit the memory.
func isShort(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeMemory
}

// shortOfMemory tells why a model is not loaded, with the figures, and what to do.
func shortOfMemory(id string, d demand, asked bool, room, memory, checkpoints int64) *control.Error {
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
