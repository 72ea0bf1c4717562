package pool

import (
	"context"
	"errors"
	"slices"

	"tandem/app/control"
	"tandem/app/drafters"
	"tandem/engine/cache"
	"tandem/storage"
)

// Drafter returns what drafts for a model, after setting it if the request says so. A drafter that
// cannot be loaded for the model is refused, and nothing is changed. It implements
// server.Residents.
func (p *Pool) Drafter(ctx context.Context, r control.DrafterRequest) (control.Drafter, error) {
	row, err := p.findModel(ctx, r.Model)
	if err != nil {
		return control.Drafter{}, err
	}
	if r.Drafter != "" {
		if err := p.setDrafter(ctx, row.ID, r.Drafter); err != nil {
			return control.Drafter{}, err
		}
	}
	return p.describeDrafter(ctx, row)
}

// describeDrafter says what drafts for a model, or would draft if it were loaded.
func (p *Pool) describeDrafter(ctx context.Context, row storage.Model) (control.Drafter, error) {
	out := control.Drafter{Model: row.ID}
	show := func(r drafters.Variant) {
		out.Embedding, out.Sliding = string(r.Settings.Embedding), string(r.Settings.Sliding)
		out.Trials, out.Measuring = r.Trials, r.Measuring
	}
	var err error
	if out.Choice, err = p.drafters.Choice(ctx, row.ID); err != nil {
		return out, err
	}
	if m := find(p.look().models, row.ID); m != nil {
		out.Loaded, out.Reason = true, m.noDrafter
		if d := m.drafter; d != nil {
			out.Source, out.Kind = d.Source(), d.Name()
			show(d.Variant())
		}
		return out, nil
	}
	if out.Source, err = p.drafters.Source(row, out.Choice); err != nil {
		out.Reason = err.Error()
		return out, nil
	}
	_, asked, err := p.askedFor(ctx, row)
	if err != nil {
		return out, err
	}
	variant, err := p.drafters.Variant(ctx, row.ID, out.Source,
		p.drafterOptionsOf(row, out.Source, format{formatSetting: asked}))
	show(variant)
	return out, err
}

// HasDrafter reports whether the drafter in a folder is in memory.
func (p *Pool) HasDrafter(path string) bool {
	return path != "" && slices.ContainsFunc(p.look().models,
		func(m *Model) bool { return m.drafter.Source() == path })
}

// Candidates returns the drafters that a model could have, see [drafters.Finder.Candidates].
func (p *Pool) Candidates(ctx context.Context, id string) ([]control.DrafterChoice, error) {
	row, err := p.findModel(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.drafters.Candidates(ctx, row)
}

// Candidates are those of a model in memory.
func (m *Model) Candidates(ctx context.Context) ([]control.DrafterChoice, error) {
	return m.pool.drafters.Candidates(ctx, m.row)
}

// drafterOptionsOf returns the format of a drafter beside a model in a format.
func (p *Pool) drafterOptionsOf(row storage.Model, source string, of format) drafters.LoadOptions {
	r, _ := p.restoration(row, source) // the load says what is wrong
	return drafters.LoadOptions{Options: of.drafterOptions(), Window: of.draftWindow,
		Target: of.learned(r)}
}

// openDrafter loads what drafts for a model, in a format. It is nil for an empty source.
func (p *Pool) openDrafter(ctx context.Context, m *Model, source string,
	how format) (*drafters.Drafter, error) {
	return p.drafters.Open(ctx, m.row.ID, m.bundle, source, p.drafterOptionsOf(m.row, source, how))
}

// openDrafterIfUsable is openDrafter for a model that is served in any case. reason says why there
// is no drafter; each answer tells it.
func (p *Pool) openDrafterIfUsable(ctx context.Context,
	m *Model) (d *drafters.Drafter, reason string, err error) {
	choice, err := p.drafters.Choice(ctx, m.row.ID)
	if err != nil {
		return nil, "", err
	}
	source, err := p.drafters.Source(m.row, choice)
	if err == nil {
		d, err = p.openDrafter(ctx, m, source, m.format)
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

// target returns the model as its drafter is measured on it.
func (m *Model) target() drafters.Target {
	t := drafters.Target{ID: m.row.ID, Model: m.served, Tokenizer: m.bundle.Tokenizer,
		Caches: cache.Options{Bits: m.kvBits, Layout: m.cacheLayout()}, AwaitIdle: m.AwaitIdle}
	if m.chats.plain.template != nil {
		t.Render = m.chats.plain.Render
	}
	return t
}

// UseDrafter lets the current model draft with name while this process runs, whatever is set for it: with
// control.DrafterAuto, control.DrafterNone, a path, a registered model or one in the hub's cache. A
// drafter that cannot be loaded for the model is refused.
func (p *Pool) UseDrafter(ctx context.Context, name string) error {
	folder, err := p.drafters.Folder(ctx, name)
	if err != nil {
		return err
	}
	return p.change(ctx, func(o *owner) error {
		row, err := o.db.Models.Get(ctx, o.current)
		if err != nil {
			return NotInstalled(err, o.current)
		}
		if err := o.checkDrafter(ctx, row, folder); err != nil {
			return err
		}
		o.drafters.Use(row.ID, folder)
		return nil
	})
}
