package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// KeepBenches is how many benches are kept: the newest.
const KeepBenches = 200

// A Bench is the result of measuring a model on a machine.
type Bench struct {
	ID      int64           `json:"id"`
	At      time.Time       `json:"at"`
	Model   string          `json:"model"`
	Machine string          `json:"machine"`
	Version string          `json:"version"` // of the program
	Result  json.RawMessage `json:"result"`
}

// AddBench stores a bench, drops the oldest beyond KeepBenches, and returns its row, with ID and
// At.
func (db *DB) AddBench(ctx context.Context, b Bench) (Bench, error) {
	const op = "keep a bench"
	b.At = db.clock()
	res, err := db.exec(ctx,
		"INSERT INTO benches (at, model, machine, version, result) VALUES (?, ?, ?, ?, ?)",
		stamp(b.At), b.Model, b.Machine, b.Version, text(b.Result))
	if err == nil {
		b.ID, err = res.LastInsertId()
	}
	if err == nil {
		_, err = db.exec(ctx,
			"DELETE FROM benches WHERE id NOT IN (SELECT id FROM benches ORDER BY id DESC LIMIT ?)",
			KeepBenches)
	}
	if err != nil {
		return Bench{}, db.wrap(op, err)
	}
	return b, nil
}

// Benches returns all benches, the newest first.
func (db *DB) Benches(ctx context.Context) (list []Bench, err error) {
	list, err = query(ctx, db.r, func(b *Bench) []any {
		return []any{&b.ID, (*stamp)(&b.At), &b.Model, &b.Machine, &b.Version, (*text)(&b.Result)}
	}, "SELECT id, at, model, machine, version, result FROM benches ORDER BY id DESC")
	return list, db.wrap("list benches", err)
}

// DeleteBench removes a bench. Error: [NotFound].
func (db *DB) DeleteBench(ctx context.Context, id int64) error {
	err := db.execOne(ctx, "DELETE FROM benches WHERE id = ?", id)
	return db.wrapRow(fmt.Sprintf("delete bench %d", id), "there is no such bench", err)
}
