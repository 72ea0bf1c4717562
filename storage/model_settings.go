package storage

import (
	"context"
	"fmt"
)

// ModelSettings are the settings that a person made for one model. Nil and empty fields are not
// set.
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
	KeepLoaded        bool     `json:"keep_loaded"` // it stays in memory when it is idle
	KVBits            *int     `json:"kv_bits"`     // of an element in keys and values that are kept

	// Of what drafts for it.
	DraftWindow *int `json:"draft_window"` // rows of context that it reads
	DrafterBits *int `json:"drafter_bits"` // that its plain weights are packed in
}

const modelSettingsColumns = "model, context, depth, rule, temperature, top_p, top_k, min_p, repetition_penalty, keep_loaded, kv_bits, draft_window, drafter_bits"

// fields are the columns in the order of modelSettingsColumns, for reading and writing.
func (m *ModelSettings) fields() []any {
	return []any{&m.Model, &m.Context, &m.Depth, &m.Rule, &m.Temperature, &m.TopP, &m.TopK, &m.MinP,
		&m.RepetitionPenalty, &m.KeepLoaded, &m.KVBits,
		&m.DraftWindow, &m.DrafterBits}
}

// Settings returns the settings of a model. They are deleted with the model. Error: [NotFound]
// if there are none.
func (ms Models) Settings(ctx context.Context, model string) (ModelSettings, error) {
	var m ModelSettings
	err := ms.db.r.QueryRowContext(ctx,
		"SELECT "+modelSettingsColumns+" FROM model_settings WHERE model = ?",
		model).Scan(m.fields()...)
	return m, ms.db.wrap(fmt.Sprintf("read the settings of model %q", model), err)
}

// SetSettings stores the settings of a registered model in place of older ones.
func (ms Models) SetSettings(ctx context.Context, m ModelSettings) error {
	_, err := ms.db.exec(ctx,
		"INSERT OR REPLACE INTO model_settings ("+modelSettingsColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		m.fields()...)
	return ms.db.wrap(fmt.Sprintf("write the settings of model %q", m.Model), err)
}
