package storage

import (
	"context"
	"encoding/json"
)

// A Policy is what was learned about drafting for one model with one drafter, in contexts of up to
// Bucket tokens.
type Policy struct {
	Model   string          `json:"model"`
	Drafter string          `json:"drafter"`
	Bucket  int             `json:"bucket"`
	State   json.RawMessage `json:"state"` // of the engine
}

// Policy returns the policy of a model, a drafter and a bucket. Error: [NotFound].
func (db *DB) Policy(ctx context.Context, model, drafter string, bucket int) (Policy, error) {
	p := Policy{Model: model, Drafter: drafter, Bucket: bucket}
	var state string
	err := db.r.QueryRowContext(ctx,
		"SELECT state FROM policies WHERE model = ? AND drafter = ? AND bucket = ?",
		model, drafter, bucket).Scan(&state)
	p.State = json.RawMessage(state)
	return p, db.wrap("read policy", err)
}

// SetPolicy stores a policy in place of an older one.
func (db *DB) SetPolicy(ctx context.Context, p Policy) error {
	_, err := db.exec(ctx,
		`INSERT INTO policies (model, drafter, bucket, state, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (model, drafter, bucket) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
		p.Model, p.Drafter, p.Bucket, string(p.State), stamp(db.clock()))
	return db.wrap("write policy", err)
}
