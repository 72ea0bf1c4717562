package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Setting returns the value of a setting, empty if it is not set.
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := db.r.QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, db.wrap(fmt.Sprintf("read setting %q", key), err)
}

// Settings returns all settings that are set.
func (db *DB) Settings(ctx context.Context) (map[string]string, error) {
	type setting struct{ key, value string }
	all := map[string]string{}
	err := each(ctx, db.r, func(s *setting) []any { return []any{&s.key, &s.value} },
		func(s setting) { all[s.key] = s.value }, "SELECT key, value FROM settings")
	return all, db.wrap("read the settings", err)
}

// SetSetting sets a setting, whether or not it was set before.
func (db *DB) SetSetting(ctx context.Context, key, value string) error {
	return db.ChangeSettings(ctx, map[string]*string{key: &value})
}

// ChangeSettings sets settings, and removes those whose value is nil. After an error none is
// changed.
func (db *DB) ChangeSettings(ctx context.Context, change map[string]*string) error {
	err := db.update(ctx, func(tx *sql.Tx) error {
		for key, value := range change {
			query, args := "DELETE FROM settings WHERE key = ?", []any{key}
			if value != nil {
				query = `INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)
					ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`
				args = append(args, *value, stamp(db.clock()))
			}
			if _, err := tx.ExecContext(ctx, query, args...); err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
		}
		return nil
	})
	return db.wrap("write settings", err)
}
