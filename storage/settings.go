package storage

import (
	"context"
	"fmt"
)

// Setting returns the value of a setting, or [NotFound] if it was never set.
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := db.r.QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", key).Scan(&value)
	return value, db.wrap(fmt.Sprintf("read setting %q", key), err)
}

// SetSetting sets a setting, whether or not it was set before.
func (db *DB) SetSetting(ctx context.Context, key, value string) error {
	_, err := db.w.ExecContext(ctx, `INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, key, value, stamp(db.clock()))
	return db.wrap(fmt.Sprintf("write setting %q", key), err)
}
