package pool

import (
	"context"
	"errors"

	"tandem/models"
)

// openDrafter loads what drafts for a model, in the form that is given. None is no error.
func (p *Pool) openDrafter(ctx context.Context, m *Model, source string,
	how form) (*Drafter, error) {
	if source == "" {
		return nil, nil
	}
	set, trials, err := p.reading(ctx, m.row, source, how.formSetting)
	if err != nil {
		return nil, err
	}
	set.Window = how.draftWindow
	d, err := LoadDrafter(ctx, m.bundle, source, set, how.drafterOptions())
	if err != nil {
		return nil, err
	}
	d.trials = trials
	// A built-in drafter is read as it was trained.
	d.open = trials == nil && !models.IsBuiltInDrafter(source) && len(d.Readings()) > 1
	return d, nil
}

// openDrafterIfUsable is openDrafter for a model that is served in any case. reason says why there
// is no drafter; each answer tells it.
func (p *Pool) openDrafterIfUsable(ctx context.Context,
	m *Model) (d *Drafter, reason string, err error) {
	choice, err := p.drafterChoice(ctx, m.row)
	if err != nil {
		return nil, "", err
	}
	source, err := p.drafterSource(m.row, choice)
	if err == nil {
		d, err = p.openDrafter(ctx, m, source, m.form)
	}
	if ctx.Err() != nil {
		return nil, "", errors.Join(ctx.Err(), d.Close())
	}
	if err != nil {
		p.log.Warn("a model is served without its drafter", "model", m.row.ID, "drafter", source,
			"error", err)
	}
	return d, noDrafterReason(err), nil
}

// noDrafterReason says in an answer why a model has no drafter; empty without an error.
func noDrafterReason(err error) string {
	if err == nil {
		return ""
	}
	return "the drafter cannot be used: " + err.Error()
}
