package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// A Key lets a program in. The history of runs names the program by its key.
type Key struct {
	ID        int64
	Name      string
	Hash      string // SHA-256, in hexadecimal
	CreatedAt time.Time
	UsedAt    time.Time // zero before its first use
}

// Keys returns all keys, the oldest first.
func (db *DB) Keys(ctx context.Context) ([]Key, error) {
	list, err := query(ctx, db.r, func(k *Key) []any {
		return []any{&k.ID, &k.Name, &k.Hash, (*stamp)(&k.CreatedAt), (*stamp)(&k.UsedAt)}
	}, "SELECT id, name, hash, created_at, used_at FROM keys ORDER BY id")
	return list, db.wrap("list keys", err)
}

// AddKey stores a key and returns its row. Error: [Conflict] if another key has the name.
func (db *DB) AddKey(ctx context.Context, name, hash string) (Key, error) {
	op := fmt.Sprintf("add key %q", name)
	k := Key{Name: name, Hash: hash, CreatedAt: db.clock()}
	res, err := db.exec(ctx, "INSERT INTO keys (name, hash, created_at) VALUES (?, ?, ?)",
		name, hash, stamp(k.CreatedAt))
	if err == nil {
		k.ID, err = res.LastInsertId()
	}
	return k, db.wrap(op, err)
}

// HasKey reports whether there is a key of that id. No two keys ever have the same.
func (db *DB) HasKey(ctx context.Context, id int64) (has bool, err error) {
	err = db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM keys WHERE id = ?)", id).Scan(&has)
	return has, db.wrap(fmt.Sprintf("look for key %d", id), err)
}

// UseKey notes that a key was used now.
func (db *DB) UseKey(ctx context.Context, id int64) error {
	_, err := db.exec(ctx, "UPDATE keys SET used_at = ? WHERE id = ?", stamp(db.clock()),
		id)
	return db.wrap(fmt.Sprintf("note the use of key %d", id), err)
}

// DeleteKey removes a key, the responses and thoughts that it owns, and the copies of the database.
// The responses go so that a later key of this name does not get them. Errors: [NotFound]; [ReadOnly]
// if a copy cannot be removed, and then nothing is deleted.
func (db *DB) DeleteKey(ctx context.Context, id int64) error {
	op := fmt.Sprintf("delete key %d", id)
	err := db.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx,
			"DELETE FROM responses WHERE owner = (SELECT name FROM keys WHERE id = ?)",
			id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM thoughts WHERE owner = ?", id); err != nil {
			return err
		}
		if err := changedOne(tx.ExecContext(ctx, "DELETE FROM keys WHERE id = ?", id)); err != nil {
			return err
		}
		return db.removeCopies(op)
	})
	if err == nil {
		db.purge()
	}
	return db.wrapRow(op, "no such key", err)
}
