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

// Settings returns every setting.
func (db *DB) Settings(ctx context.Context) (map[string]string, error) {
	const op = "read settings"
	rows, err := db.r.QueryContext(ctx, "SELECT key, value FROM settings")
	if err != nil {
		return nil, db.wrap(op, err)
	}
	defer rows.Close()
	all := make(map[string]string)
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, db.wrap(op, err)
		}
		all[key] = value
	}
	return all, db.wrap(op, rows.Err())
}

// SetSetting sets a setting, whether or not it was set before.
func (db *DB) SetSetting(ctx context.Context, key, value string) error {
	_, err := db.w.ExecContext(ctx, `INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, key, value, stamp(db.clock()))
	return db.wrap(fmt.Sprintf("write setting %q", key), err)
}

// DeleteSetting forgets a setting; one that was never set is no error.
func (db *DB) DeleteSetting(ctx context.Context, key string) error {
	_, err := db.w.ExecContext(ctx, "DELETE FROM settings WHERE key = ?", key)
	return db.wrap(fmt.Sprintf("delete setting %q", key), err)
}
