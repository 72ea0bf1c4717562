package pool

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/storage"
)

// refuseOtherDrafter is the error for another drafter of a model with a Restoration.
func (m *Model) refuseOtherDrafter() error {
	return control.Errorf(control.CodeInvalid, "The layers of %s are %s, and what restores their rows "+
		"reads the drafter that it has; unload the model to set another one.", m.row.ID, m.restoration.Layout)
}

// checkDrafter refuses a choice that cannot be loaded for a model, which is not in memory.
func (o *owner) checkDrafter(ctx context.Context, row storage.Model, dir string) error {
	if dir == control.DrafterAuto || dir == control.DrafterNone {
		return nil
	}
	files, err := o.filesOf(row)
	if err != nil {
		return Unusable(row, err)
	}
	outline, err := files.Outline(o.thread)
	if err != nil {
		return Unusable(row, err)
	}
	m, _, err := o.sizeWith(ctx, row, dir, nil)
	if err != nil {
		return err
	}
	if err := o.drafters.Check(ctx, outline, dir, m.drafterOptions()); err != nil {
		return InvalidModel(err)
	}
	return nil
}

// setDrafter makes a choice for a model. A drafter that cannot be loaded for the model is refused, and
// nothing is changed.
func (p *Pool) setDrafter(ctx context.Context, id, name string) error {
	choice, err := p.drafters.Folder(ctx, name)
	if err != nil {
		return err
	}
	return p.change(ctx, func(o *owner) error {
		row, err := o.db.Models.Get(ctx, id)
		if err != nil {
			return NotInstalled(err, id)
		}
		if choice == row.Path && !o.drafters.HasHead(row.Path) {
			return InvalidModel(fmt.Errorf("%s is the model itself and has no head that could draft; name a drafter, or a smaller model", name))
		}
		return o.setDrafter(ctx, row, choice)
	})
}

func (o *owner) setDrafter(ctx context.Context, row storage.Model, choice string) error {
	m := find(o.models, row.ID)
	if m == nil {
		if err := o.checkDrafter(ctx, row, choice); err != nil {
			return err
		}
		return o.drafters.SetChoice(ctx, row.ID, choice)
	}
	if m.restoration != nil {
		return m.refuseOtherDrafter()
	}
	if !m.users.close(false) {
		return control.Errorf(control.CodeModelBusy,
			"The model %s is answering requests; change its drafter when it is idle.", row.ID)
	}
	o.remove([]*Model{m})
	o.announce(row.ID)
	o.reserved = m.needs
	defer func() { o.add(m) }() // also after a panic
	drafted, err := o.replaceDrafter(ctx, m, row, choice)
	m = drafted
	return err
}

// replaceDrafter stores what drafts for a model in memory, and returns the model with it. After an error
// the choice is as before. So is the drafter, unless it was freed to make room and cannot be loaded again;
// then the error says that the model has none.
func (o *owner) replaceDrafter(ctx context.Context, m *Model, row storage.Model,
	choice string) (*Model, error) {
	source, err := o.drafters.Source(row, choice)
	how, both := m.format, true
	if err == nil {
		// With auto, a drafter without enough memory is left out.
		how, both, err = o.makeRoomForDrafter(ctx, m, source)
	}
	if err != nil && choice != control.DrafterAuto {
		return m, err
	}
	back := func(err error) (*Model, error) { return m, err }
	if !both {
		old := m.drafter.Source()
		o.pool.stopDrafting(m)
		back = func(err error) (*Model, error) {
			m, lost := o.pool.loadAgain(m, old)
			if lost != nil {
				err = InvalidModel(fmt.Errorf("%w; %w", err, lost))
			}
			return m, err
		}
	}
	var d *drafters.Drafter
	if err == nil {
		d, err = o.pool.openDrafter(ctx, m, source, how)
	}
	if err != nil && choice != control.DrafterAuto {
		return back(InvalidModel(err))
	}
	reason := noDrafterReason(err)
	if err := o.drafters.SetChoice(ctx, row.ID, choice); err != nil {
		return back(errors.Join(err, d.Close()))
	}
	if both {
		o.pool.stopDrafting(m)
	}
	return o.pool.withDrafter(m, how, d, reason), nil
}

// stopDrafting ends the engine of a model and frees its drafter, if it has one.
func (p *Pool) stopDrafting(m *Model) {
	m.stopEngine()
	if err := m.drafter.Close(); err != nil {
		p.log.Error("freeing a drafter", "drafter", m.drafter.Source(), "error", err)
	}
}

// withDrafter returns a model whose engine was ended with a new one, and with a drafter, which may be
// nil.
func (p *Pool) withDrafter(m *Model, how format, d *drafters.Drafter, reason string) *Model {
	next := &Model{
		pool: p, row: m.row, weights: m.weights, bundle: m.bundle, context: m.context,
		format: how, users: m.users.successor(), loadTime: m.loadTime,
	}
	next.served, next.free = m.served, m.free
	next.readTokenizer(p.life)
	next.startEngine(d, reason)
	return next
}

// loadAgain returns a model with the drafter that was freed to make room for another one. After an
// error the model has none.
func (p *Pool) loadAgain(m *Model, old string) (*Model, error) {
	d, err := p.openDrafter(p.life, m, old, m.format)
	next := p.withDrafter(m, m.format, d, noDrafterReason(err))
	if err != nil {
		p.log.Warn("a model is served without the drafter that it had", "model", m.row.ID,
			"drafter", old, "error", err)
		err = fmt.Errorf("%s is served without a drafter now: %s cannot be loaded again: %w",
			m.row.ID, old, err)
	}
	return next, err
}

// makeRoomForDrafter makes room for a new drafter of the model in o.reserved. It returns the format to load it in.
//
// both says whether there is room for the old drafter too. Then that is freed once the new one is
// loaded, else before. No sequence of the model takes memory meanwhile. Errors: CodeMemory;
// CodeModelBusy, see waitForMemory.
func (o *owner) makeRoomForDrafter(ctx context.Context, m *Model,
	source string) (how format, both bool, err error) {
	how = m.format
	size, err := o.measure(m.row, source, m.formatSetting)
	if err != nil { // its needs are not known, see sequenceMemory
		return how, true, nil
	}
	how.drafterWide = size.drafterWide
	size.format = how
	need, both, err := o.state().SwapDrafter(m.inPlan(), size.size(0), m.drafter.Bytes())
	if err != nil || need.Bytes() <= m.needs.Bytes() {
		return how, both, err
	}
	o.reserved = need
	o.rebalanceMemory()
	return how, both, o.waitForMemory(ctx, m.row.ID, false)
}
