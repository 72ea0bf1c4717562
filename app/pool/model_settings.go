package pool

import (
	"cmp"
	"context"

	"tandem/app/control"
	"tandem/app/eviction"
	"tandem/app/model"
	"tandem/engine"
	"tandem/storage"
)

// ModelSettings returns what is set for a model, its defaults and its needs. It implements
// server.Residents.
func (p *Pool) ModelSettings(ctx context.Context, id string) (control.ModelSettingsState, error) {
	row, err := p.findModel(ctx, id)
	if err != nil {
		return control.ModelSettingsState{}, err
	}
	out := control.ModelSettingsState{ContextLength: row.ContextLength}
	if out.Settings, err = p.perModel.Stored(ctx, row.ID); err != nil {
		return out, err
	}
	if out.Drafter, err = p.drafters.Choice(ctx, row.ID); err != nil {
		return out, err
	}
	// if they cannot be read, the load says why
	if files, err := p.filesOf(row); err == nil {
		d, _ := files.Defaults()
		out.Defaults = control.SamplingDefaults{Temperature: d.Temperature, TopP: d.TopP,
			TopK: d.TopK, MinP: d.MinP, RepetitionPenalty: d.RepetitionPenalty, Ignored: d.Ignored}
	}
	n, size, err := p.need(ctx, row)
	out.Needs, out.Longest = needsOf(n, err), p.longestContext(size)
	out.Drafters, _ = p.drafters.Choices(ctx, row) // a cache that cannot be read offers none
	if m := find(p.look().models, row.ID); m != nil {
		out.Serving = m.engine.ContextLength()
		out.Later = out.Needs != nil && out.Needs.Fits && out.Needs.Context != out.Serving ||
			m.formatSetting.bits() != m.formatAtNextLoad(out.Settings).bits()
	}
	return out, nil
}

// SetModelSettings stores what is set for a model, and returns its settings then. Error:
// CodeInvalid for a context longer than the model's. It implements server.Residents.
func (p *Pool) SetModelSettings(ctx context.Context,
	set control.ModelSettings) (control.ModelSettingsState, error) {
	row, err := p.findModel(ctx, set.Model)
	if err != nil {
		return control.ModelSettingsState{}, err
	}
	if err := p.perModel.Set(ctx, row, set); err != nil {
		return control.ModelSettingsState{}, err
	}
	return p.ModelSettings(ctx, row.ID)
}

// findModel returns the row of a registered model; the alias means the choice.
func (p *Pool) findModel(ctx context.Context, id string) (storage.Model, error) {
	if id == control.Alias {
		id = p.Choice()
	}
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return row, NotInstalled(err, id)
	}
	return row, nil
}

// askedFor returns the context that a person set for a model, in tokens, and the format; the context is 0
// if none is set. Options.ContextLength limits it, and stands in for it.
func (s *sizer) askedFor(ctx context.Context,
	row storage.Model) (context int, set formatSetting, err error) {
	own, err := s.perModel.Stored(ctx, row.ID)
	set = s.formatSetting(own)
	if err != nil || own.Context == nil {
		return s.opts.ContextLength, set, err
	}
	return min(*own.Context, cmp.Or(s.opts.ContextLength, *own.Context)), set, nil
}

// longestContext returns the longest context that a person could set for a model, in tokens.
func (s *sizer) longestContext(z eviction.Size) int {
	longest := z.Longest(s.limits().Room())
	if limit := s.opts.ContextLength; limit > 0 {
		return min(longest, limit)
	}
	return longest
}

// formatAtNextLoad returns the format that the next load of the model is asked for, with settings of its own.
func (m *Model) formatAtNextLoad(own control.ModelSettings) formatSetting {
	return m.pool.formatSetting(own).of(m.bundle.Purpose.Kind)
}

// modelSettings returns the model's settings as they are now.
func (m *Model) modelSettings() control.ModelSettings { return m.pool.perModel.Get(m.row.ID) }

// Defaults implements model.Model.
func (m *Model) Defaults() model.Defaults {
	d, own := m.bundle.Defaults, m.modelSettings()
	return model.Defaults{
		Temperature: cmp.Or(own.Temperature, d.Temperature), TopK: cmp.Or(own.TopK,
			d.TopK), TopP: cmp.Or(own.TopP, d.TopP),
		MinP: cmp.Or(own.MinP, d.MinP), RepetitionPenalty: cmp.Or(own.RepetitionPenalty,
			d.RepetitionPenalty),
	}
}

// speculate fills in how to decode, where a request says nothing about it.
func (m *Model) speculate(s engine.Speculation) engine.Speculation {
	if s.Drafter != "" {
		return s
	}
	own := m.modelSettings()
	if s.Drafter = m.pool.opts.Speculation; s.Drafter != engine.None && s.Depth == nil {
		s.Depth = own.Depth
	}
	s.Rule = cmp.Or(s.Rule, engine.Rule(own.Rule))
	return s
}
