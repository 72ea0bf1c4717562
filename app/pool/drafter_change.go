package pool

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/models"
	"tandem/storage"
)

// checkDrafter refuses a drafter that cannot be loaded for a model, which is not in memory. It is
// loaded in the form that it would have now.
func (p *Pool) checkDrafter(ctx context.Context, row storage.Model, dir string) error {
	outline, err := models.Outline(p.thread, row.Path)
	if err != nil {
		return Unusable(row, err)
	}
	how, err := p.drafterForm(ctx, row, dir)
	if err != nil {
		return err
	}
	if err := drafters.Check(ctx, outline, dir, how.drafterOptions()); err != nil {
		return InvalidModel(err)
	}
	return nil
}

// drafterForm returns the form that the drafter in a folder would have now beside a model. Where the models
// in memory leave too little now, its quantized weights stay packed.
func (p *Pool) drafterForm(ctx context.Context, row storage.Model, dir string) (form, error) {
	asked, set, err := p.askedFor(ctx, row)
	if err != nil {
		return form{}, err
	}
	size, err := p.measure(row, dir, set)
	if err != nil {
		return form{}, Unusable(row, err)
	}
	need, _ := fit(size, asked, p.Room())
	p.mu.Lock()
	defer p.mu.Unlock()
	if size.as(need.form).drafterWeights() > p.roomLeft() {
		need.drafts = false
	}
	return need.form, nil
}

// setDrafter makes a choice for a model. A drafter that cannot be loaded for the model is refused, and
// nothing is changed.
func (p *Pool) setDrafter(ctx context.Context, row storage.Model, name string) error {
	choice, err := p.drafters.Folder(ctx, name)
	if err != nil {
		return err
	}
	if row, err = p.lockFor(ctx, row.ID); err != nil {
		return err
	}
	defer p.mu.Unlock()
	if choice == row.Path && !p.drafters.HasHead(row.Path) {
		return InvalidModel(fmt.Errorf("%s is the model itself and has no head that could draft; name a drafter, or a smaller model", name))
	}
	m := p.inMemory(row.ID)
	if m != nil && m.bounded != nil {
		return refuseOtherDrafter(row)
	}
	if m != nil && m.users > 0 {
		return control.Errorf(control.CodeModelBusy,
			"The model %s is answering requests; change its drafter when it is idle.", row.ID)
	}
	if m != nil { // no request may use it meanwhile
		p.remove([]*Model{m})
		p.loading = &loading{id: row.ID, needs: m.needs}
	}
	return p.change(func() error {
		next := m
		if m != nil { // it comes back, also after a panic
			defer func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.loading = nil
				p.add(next)
			}()
		}
		drafted, err := p.replaceDrafter(ctx, m, row, choice)
		next = drafted
		return err
	})
}

// replaceDrafter stores what drafts for a model, and returns the model with it if it is in memory.
// After an error the choice is as before. The old drafter is too, unless it left to make room and
// cannot be loaded again; then the error says that the model has none.
func (p *Pool) replaceDrafter(ctx context.Context, m *Model, row storage.Model,
	choice string) (*Model, error) {
	if m == nil {
		if choice != control.DrafterAuto && choice != control.DrafterNone {
			if err := p.checkDrafter(ctx, row, choice); err != nil {
				return nil, err
			}
		}
		return nil, p.drafters.SetChoice(ctx, row.ID, choice)
	}
	source, err := p.drafters.Source(row, choice)
	how, both := m.form, true
	if err == nil {
		// With auto, a drafter without enough memory is left out.
		how, both, err = p.makeRoomForDrafter(ctx, m, source)
	}
	if err != nil && choice != control.DrafterAuto {
		return m, err
	}
	back := func(err error) (*Model, error) { return m, err }
	if !both {
		old := m.drafter.Source()
		p.stopDrafting(m)
		back = func(err error) (*Model, error) {
			m, lost := p.loadAgain(m, old)
			if lost != nil {
				err = InvalidModel(fmt.Errorf("%w; %w", err, lost))
			}
			return m, err
		}
	}
	var d *drafters.Drafter
	if err == nil {
		d, err = p.openDrafter(ctx, m, source, how)
	}
	if err != nil && choice != control.DrafterAuto {
		return back(InvalidModel(err))
	}
	reason := noDrafterReason(err)
	if err := p.drafters.SetChoice(ctx, row.ID, choice); err != nil {
		return back(errors.Join(err, d.Close()))
	}
	if both {
		p.stopDrafting(m)
	}
	return p.withDrafter(m, how, d, reason), nil
}

// stopDrafting ends the engine of a model and frees its drafter, if it has one.
func (p *Pool) stopDrafting(m *Model) {
	m.stopEngine()
	if err := m.drafter.Close(); err != nil {
		p.log.Error("freeing a drafter", "drafter", m.drafter.Source(), "error", err)
	}
	if err := m.vocabulary.Close(); err != nil {
		p.log.Error("freeing a vocabulary", "model", m.row.ID, "error", err)
	}
}

// withDrafter returns a model whose engine was ended with a new one, and with a drafter, which may be
// nil.
func (p *Pool) withDrafter(m *Model, how form, d *drafters.Drafter, reason string) *Model {
	next := &Model{
		pool: p, row: m.row, weights: m.weights, bundle: m.bundle, context: m.context,
		form: how, uses: m.uses, used: m.used, took: m.took, own: m.own,
	}
	next.readTokenizer(p.life)
	next.startEngine(d, reason)
	return next
}

// loadAgain returns a model with the drafter that was freed to make room for another one. After an
// error the model has none.
func (p *Pool) loadAgain(m *Model, old string) (*Model, error) {
	d, err := p.openDrafter(p.life, m, old, m.form)
	next := p.withDrafter(m, m.form, d, noDrafterReason(err))
	if err != nil {
		p.log.Warn("a model is served without the drafter that it had", "model", m.row.ID,
			"drafter", old, "error", err)
		err = fmt.Errorf("%s is served without a drafter now: %s cannot be loaded again: %w",
			m.row.ID, old, err)
	}
	return next, err
}

// makeRoomForDrafter makes room for a new drafter of the model in p.loading. It returns the form to
// load it in: float32 where the model may be held so and the drafter fits.
//
// both says whether there is room for the old drafter too. Then that is freed once the new one is
// loaded, else before. No text of the model takes memory meanwhile. Errors: CodeMemory;
// CodeModelBusy, see waitForMemory.
func (p *Pool) makeRoomForDrafter(ctx context.Context, m *Model,
	source string) (how form, both bool, err error) {
	size, err := p.measure(m.row, source, m.formSetting)
	how, both = m.form, true
	if err != nil { // its needs are not known, see textMemory
		how.drafts = false
		return how, both, nil
	}
	how.draftsWide, how.drafts = size.draftsWide, size.unpacks
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.roomLeft()
	room := max(left, m.needs.bytes())
	need := size.as(how).demand(m.needs.context)
	if need.bytes() > room {
		how.drafts = false
		need = size.as(how).demand(m.needs.context)
	}
	if need.bytes() > room {
		return how, both, control.Plain(control.CodeMemory, fmt.Sprintf(
			"With that drafter %s needs %s, but only %s of the %s for models are left. "+
				"Unload other models, give it a shorter context, or choose a smaller drafter.",
			m.row.ID, control.GiB.Of(need.bytes()), control.GiB.Of(max(0, left)),
			control.GiB.Of(p.Room())))
	}
	if m.drafter != nil {
		with, old := need, m.drafter.Bytes()
		with.weights, with.text = need.weights+old, max(0, need.text-old)
		if both = with.bytes() <= room && p.over(with) == nil; both {
			need = with
		}
	}
	if need.bytes() <= m.needs.bytes() {
		return how, both, nil
	}
	p.loading.needs = need
	p.divideMemory()
	return how, both, p.waitForMemory(ctx, m.row.ID, false)
}
