package pool

import (
	"context"
	"encoding/json"

	"tandem/engine/draft"
	"tandem/storage"
)

// policies keeps in the database what engines learn about drafting.
type policies struct {
	db      *storage.DB
	sources map[string]string // weightsKey of drafters, by name: another drafter is learned again
}

var _ draft.Store = policies{}

// LoadPolicy implements draft.Store.
func (p policies) LoadPolicy(k draft.Key) (*draft.State, error) {
	row, err := p.db.Policy(context.Background(), k.Model, p.drafter(k), k.Bucket)
	if storage.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state := &draft.State{}
	return state, json.Unmarshal(row.State, state)
}

// drafter returns a name that differs between drafters of one kind.
func (p policies) drafter(k draft.Key) string {
	if source := p.sources[k.Drafter]; source != "" {
		return k.Drafter + " " + source
	}
	return k.Drafter
}

// SavePolicy implements draft.Store.
func (p policies) SavePolicy(k draft.Key, s draft.State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return p.db.SetPolicy(context.Background(),
		storage.Policy{Model: k.Model, Drafter: p.drafter(k), Bucket: k.Bucket, State: text})
}
