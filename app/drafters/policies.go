package drafters

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tandem/engine/draft"
	"tandem/storage"
)

// policies keeps in the database what engines learn about drafting.
type policies struct {
	db      *storage.DB
	sources map[string]string // keys of drafters, by name: another drafter is learned again
	format  string            // of keys and values, see LoadOptions.Target: another one is learned again
}

// Policies returns what engines with a model's keys and values in a format have learned about drafting.
// names are those of what drafts with the weights of a key.
func (f *Finder) Policies(key, format string, names ...string) draft.Store {
	p := policies{db: f.db, format: format, sources: map[string]string{}}
	for _, name := range names {
		p.sources[name] = key
	}
	return p
}

var _ draft.Store = policies{}

// LoadPolicy implements draft.Store.
func (p policies) LoadPolicy(k draft.Key) (*draft.State, error) {
	row, err := p.db.Models.Policy(context.Background(), k.Model, p.drafter(k), k.Bucket)
	if storage.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state := &draft.State{}
	return state, json.Unmarshal(row.State, state)
}

// drafter returns a name that differs between drafters of one kind, and between formats of the model:
// a verification costs something else in each, and other drafts are accepted.
func (p policies) drafter(k draft.Key) string {
	return JoinWords(k.Drafter, p.sources[k.Drafter], p.format)
}

// JoinWords puts a space between words, and leaves out empty ones.
func JoinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// SavePolicy implements draft.Store.
func (p policies) SavePolicy(k draft.Key, s draft.State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return p.db.Models.SetPolicy(context.Background(),
		storage.Policy{Model: k.Model, Drafter: p.drafter(k), Bucket: k.Bucket, State: text})
}
