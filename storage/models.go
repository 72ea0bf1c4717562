package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Models is the model registry, with what is stored for its models: settings, drafters, what was
// measured and learned about drafting, and downloads.
type Models struct{ db *DB }

// The sources of a model.
const (
	SourceHub    = "hub"    // the Hugging Face cache
	SourceFolder = "folder" // a folder the user added
	SourceOllama = "ollama" // Ollama's store
	SourcePocket = "pocket" // embedded in the program

	SourceStarter = "starter" // a file beside the program; one model at most
)

const modelColumns = "id, path, source, revision, architecture, quantization, dtype, parameters, bytes, context_length, downloaded_by_us, added_at, last_used_at, load_ms, kind, file_type"

// modelFields are the columns in the order of modelColumns, for reading and writing.
func modelFields(m *Model) []any {
	return []any{&m.ID, &m.Path, &m.Source, &m.Revision, &m.Architecture, &m.Quantization, &m.Dtype,
		&m.Parameters, &m.Bytes, &m.ContextLength, &m.DownloadedByUs, (*stamp)(&m.AddedAt),
		(*stamp)(&m.LastUsedAt), &m.LoadMS, &m.Kind, &m.FileType}
}

// Register adds m to the registry or renews its row, and returns the row as it now is.
//
// A model is the same as a registered one in these cases:
//   - Both have the same path.
//   - Both come from the hub, or both are embedded in the program, under the same id.
//   - Both are the starter.
//
// Then id, added_at, last_used_at and load_ms stay, and the rest is taken from m. If the path is
// the same, downloaded_by_us also stays set, and a folder that came from the hub keeps that source
// and its revision. A new model whose id is taken gets the first free one of id-2, id-3, ...
// AddedAt is the time now, whatever m has.
//
// Errors: [Invalid] if the id or the source is empty.
func (ms Models) Register(ctx context.Context, m Model) (Model, error) {
	op := fmt.Sprintf("register model %q", m.ID)
	if m.ID == "" || m.Source == "" {
		return Model{}, invalid(op, "a model needs an id and a source")
	}
	err := ms.db.update(ctx, func(tx *sql.Tx) error {
		const marks = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		old, err := registered(ctx, tx, m)
		switch {
		case err == nil:
			m.ID, m.AddedAt, m.LastUsedAt, m.LoadMS = old.ID, old.AddedAt, old.LastUsedAt,
				old.LoadMS
			if m.Path == old.Path {
				m.DownloadedByUs = m.DownloadedByUs || old.DownloadedByUs
				if m.Source == SourceFolder {
					m.Source, m.Revision = old.Source, old.Revision
				}
			}
			if m == old {
				return nil // a disk without room is not asked for any
			}
			_, err = tx.ExecContext(ctx,
				"UPDATE models SET ("+modelColumns+") = "+marks+" WHERE id = ?1", modelFields(&m)...)
		case errors.Is(err, sql.ErrNoRows):
			m.AddedAt, m.LastUsedAt, m.LoadMS = ms.db.clock(), time.Time{}, 0
			if m.ID, err = FreeID(m.ID, isTaken(ctx, tx)); err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO models ("+modelColumns+") VALUES "+marks,
					modelFields(&m)...)
			}
		}
		return err
	})
	if err != nil {
		return Model{}, ms.db.wrap(op, err)
	}
	return m, nil
}

// registered returns the row that m renews.
func registered(ctx context.Context, tx *sql.Tx, m Model) (Model, error) {
	var old Model
	err := tx.QueryRowContext(ctx, "SELECT "+modelColumns+` FROM models
		WHERE (path = ?1 AND path <> '') OR (id = ?2 AND source = ?3 AND source IN ('hub', 'pocket'))
			OR (source = ?3 AND source = 'starter')
		ORDER BY path = ?1 DESC LIMIT 1`, m.Path, m.ID, m.Source).Scan(modelFields(&old)...)
	return old, err
}

// FreeID returns id, or id with the first suffix that is free. An error is taken's.
func FreeID(id string, taken func(id string) (bool, error)) (string, error) {
	for n, try := 2, id; ; n++ {
		if is, err := taken(try); err != nil || !is {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", id, n)
	}
}

// isTaken returns a function that reports whether a model has an id.
func isTaken(ctx context.Context, tx *sql.Tx) func(id string) (bool, error) {
	return func(id string) (taken bool, err error) {
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM models WHERE id = ?)",
			id).Scan(&taken)
		return taken, err
	}
}

// Get returns the model with this id. Error: [NotFound].
func (ms Models) Get(ctx context.Context, id string) (Model, error) {
	var m Model
	err := ms.db.r.QueryRowContext(ctx, "SELECT "+modelColumns+" FROM models WHERE id = ?", id).
		Scan(modelFields(&m)...)
	return m, ms.wrap("find", id, err)
}

// List returns all models, the last used first, then the last added.
func (ms Models) List(ctx context.Context) ([]Model, error) {
	list, err := query(ctx, ms.db.r, modelFields,
		"SELECT "+modelColumns+" FROM models ORDER BY coalesce(last_used_at, '') DESC, added_at DESC, id")
	return list, ms.db.wrap("list models", err)
}

// MarkUsed notes that the model was used now. Error: [NotFound].
func (ms Models) MarkUsed(ctx context.Context, id string) error {
	return ms.change(ctx, "use", id, "UPDATE models SET last_used_at = ?2 WHERE id = ?1", id,
		stamp(ms.db.clock()))
}

// SetLoadTime notes how long the model took to load. Error: [NotFound].
func (ms Models) SetLoadTime(ctx context.Context, id string, took time.Duration) error {
	return ms.change(ctx, "time", id, "UPDATE models SET load_ms = ?2 WHERE id = ?1", id,
		max(1, took.Milliseconds()))
}

// Remove removes the model from the registry, with what was learned about drafting for it,
// because another model may get its id. The caller deletes its files. Error: [NotFound].
func (ms Models) Remove(ctx context.Context, id string) error {
	for _, query := range []string{"DELETE FROM policies WHERE model = ?",
		"DELETE FROM drafter_readings WHERE model = ?"} {
		if _, err := ms.db.exec(ctx, query, id); err != nil {
			return ms.wrap("remove", id, err)
		}
	}
	return ms.change(ctx, "remove", id, "DELETE FROM models WHERE id = ?", id)
}

func (ms Models) change(ctx context.Context, verb, id, query string, args ...any) error {
	return ms.wrap(verb, id, ms.db.execOne(ctx, query, args...))
}

func (ms Models) wrap(verb, id string, err error) error {
	return ms.db.wrapRow(fmt.Sprintf("%s model %q", verb, id), "no such model is registered", err)
}
