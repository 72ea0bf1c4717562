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
func (ms Models) Policy(ctx context.Context, model, drafter string, bucket int) (Policy, error) {
	p := Policy{Model: model, Drafter: drafter, Bucket: bucket}
	err := ms.db.r.QueryRowContext(ctx,
		"SELECT state FROM policies WHERE model = ? AND drafter = ? AND bucket = ?",
		model, drafter, bucket).Scan((*text)(&p.State))
	return p, ms.db.wrap("read policy", err)
}

// SetPolicy stores a policy in place of an older one.
func (ms Models) SetPolicy(ctx context.Context, p Policy) error {
	_, err := ms.db.exec(ctx,
		`INSERT INTO policies (model, drafter, bucket, state, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (model, drafter, bucket) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
		p.Model, p.Drafter, p.Bucket, string(p.State), stamp(ms.db.clock()))
	return ms.db.wrap("write policy", err)
}
