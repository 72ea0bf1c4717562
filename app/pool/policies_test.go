package pool

import (
	"testing"

	"tandem/engine/draft"
)

// What one form of a model has learned about drafting is nothing that another one begins with.
func TestFormsOfAModelLearnApart(t *testing.T) {
	r := open(t, setup{})
	key := draft.Key{Model: "pocket", Drafter: "dflash", Bucket: 1}
	sources := map[string]string{"dflash": "a folder"}
	forms := []policies{
		{db: r.db}, {db: r.db, sources: sources}, {db: r.db, sources: sources, form: " kv 4"},
		{db: r.db, form: " kv 4"}, {db: r.db, form: " bounded by a folder"},
	}
	for i, p := range forms {
		if s, err := p.LoadPolicy(key); s != nil || err != nil {
			t.Errorf("form %d begins with %+v, %v", i, s, err)
		}
		if err := p.SavePolicy(key, draft.State{}); err != nil {
			t.Fatal(err)
		}
		if s, err := p.LoadPolicy(key); s == nil || err != nil {
			t.Errorf("form %d has learned %+v, %v", i, s, err)
		}
	}
}
