package storage

import (
	"context"
	"fmt"
)

// ModelSettings are what a person set for one model. What is nil or empty is as if nothing were set.
type ModelSettings struct {
	Model             string   `json:"model"`
	Context           *int     `json:"context"` // tokens
	Depth             *int     `json:"depth"`   // drafts in each round
	Rule              string   `json:"rule"`    // of acceptance
	Temperature       *float64 `json:"temperature"`
	TopP              *float64 `json:"top_p"`
	TopK              *int     `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	KeepLoaded        bool     `json:"keep_loaded"` // it does not leave the memory for being idle
}

const modelSettingsColumns = "model, context, depth, rule, temperature, top_p, top_k, min_p, repetition_penalty, keep_loaded"

// fields are the columns in the order of modelSettingsColumns, for reading and for writing.
func (m *ModelSettings) fields() []any {
	return []any{&m.Model, &m.Context, &m.Depth, &m.Rule, &m.Temperature, &m.TopP, &m.TopK, &m.MinP, &m.RepetitionPenalty, &m.KeepLoaded}
}

// ModelSettings returns those of a model, or [NotFound] if nothing was ever set. They go with the model.
func (db *DB) ModelSettings(ctx context.Context, model string) (ModelSettings, error) {
	var m ModelSettings
	err := db.r.QueryRowContext(ctx, "SELECT "+modelSettingsColumns+" FROM model_settings WHERE model = ?", model).Scan(m.fields()...)
	return m, db.wrap(fmt.Sprintf("read the settings of model %q", model), err)
}

// SetModelSettings stores those of a registered model in place of older ones.
func (db *DB) SetModelSettings(ctx context.Context, m ModelSettings) error {
	_, err := db.w.ExecContext(ctx, "INSERT OR REPLACE INTO model_settings ("+modelSettingsColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", m.fields()...)
	return db.wrap(fmt.Sprintf("write the settings of model %q", m.Model), err)
}
