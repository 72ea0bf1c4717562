package storage

import (
	"context"
	"encoding/json"
	"fmt"
)

// Drafter returns the drafter that was chosen for a model. The choice is deleted with the model.
// Error: [NotFound].
func (ms Models) Drafter(ctx context.Context, model string) (choice string, err error) {
	err = ms.db.r.QueryRowContext(ctx, "SELECT choice FROM drafters WHERE model = ?",
		model).Scan(&choice)
	return choice, ms.db.wrap(fmt.Sprintf("read the drafter of model %q", model), err)
}

// SetDrafter stores the drafter of a registered model.
func (ms Models) SetDrafter(ctx context.Context, model, choice string) error {
	_, err := ms.db.exec(ctx,
		`INSERT INTO drafters (model, choice, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (model) DO UPDATE SET choice = excluded.choice, updated_at = excluded.updated_at`,
		model, choice, stamp(ms.db.clock()))
	return ms.db.wrap(fmt.Sprintf("write the drafter of model %q", model), err)
}

// A Reading says how a drafter's checkpoint is read for one model, where the checkpoint leaves that
// open, and which measurements decided it.
type Reading struct {
	Model    string          `json:"model"`
	Drafter  string          `json:"drafter"`  // its folder, and what identifies its weights
	Settings json.RawMessage `json:"settings"` // of package models
	Trials   json.RawMessage `json:"trials"`   // of the app
}

// Reading returns the reading of a drafter for a model. Error: [NotFound].
func (ms Models) Reading(ctx context.Context, model, drafter string) (Reading, error) {
	r := Reading{Model: model, Drafter: drafter}
	err := ms.db.r.QueryRowContext(ctx,
		"SELECT settings, trials FROM drafter_readings WHERE model = ? AND drafter = ?", model,
		drafter).Scan((*text)(&r.Settings), (*text)(&r.Trials))
	return r, ms.db.wrap("read how a drafter is read", err)
}

// SetReading stores a reading in place of an older one.
func (ms Models) SetReading(ctx context.Context, r Reading) error {
	_, err := ms.db.exec(ctx,
		`INSERT INTO drafter_readings (model, drafter, settings, trials, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (model, drafter) DO UPDATE SET settings = excluded.settings, trials = excluded.trials, updated_at = excluded.updated_at`,
		r.Model, r.Drafter, string(r.Settings), string(r.Trials), stamp(ms.db.clock()))
	return ms.db.wrap("write how a drafter is read", err)
}
