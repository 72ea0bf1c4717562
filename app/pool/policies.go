package pool

import (
	"context"
	"encoding/json"
	"fmt"

	"tandem/app/control"
	"tandem/engine/draft"
	"tandem/storage"
)

// policies keeps in the database what engines learn about drafting.
type policies struct {
	db      *storage.DB
	sources map[string]string // weightsKey of drafters, by name: another drafter is learned again
	form    string            // of keys and values, empty for the usual one: another one is learned again
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

// drafter returns a name that differs between drafters of one kind, and between forms of the model:
// a verification costs something else in each, and other drafts are accepted.
func (p policies) drafter(k draft.Key) string {
	name := k.Drafter
	if source := p.sources[k.Drafter]; source != "" {
		name += " " + source
	}
	return name + p.form
}

// learnedForm returns the form of keys and values as what is learned about drafting tells it apart.
func (m *Model) learnedForm() (form string) {
	if m.kvBits > 0 {
		form = fmt.Sprintf(" kv %d", m.kvBits)
	}
	switch {
	case m.bounded != nil:
		form += " bounded by " + weightsKey(m.bounded.dir)
	case m.layout == control.KVFull:
		form += " full"
	}
	return form
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
