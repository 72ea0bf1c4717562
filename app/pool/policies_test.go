package pool

import (
	"encoding/json"
	"strings"
	"testing"

	"tandem/engine/draft"
	"tandem/storage"
)

// What one format of a model has learned about drafting is nothing that another one begins with.
func TestFormsOfAModelLearnApart(t *testing.T) {
	r := open(t, setup{})
	key := draft.Key{Model: "pocket", Drafter: "dflash", Bucket: 1}
	of := r.pool.drafters.Policies
	formats := []draft.Store{of("", ""), of("a folder", "", "dflash"), of("a folder", "kv 4", "dflash"),
		of("", "kv 4"), of("", "bounded by a folder")}
	for i, p := range formats {
		if s, err := p.LoadPolicy(key); s != nil || err != nil {
			t.Errorf("format %d begins with %+v, %v", i, s, err)
		}
		if err := p.SavePolicy(key, draft.State{}); err != nil {
			t.Fatal(err)
		}
		if s, err := p.LoadPolicy(key); s == nil || err != nil {
			t.Errorf("format %d has learned %+v, %v", i, s, err)
		}
	}
}

// What an engine learns about drafting is stored under the format of keys and values that it has.
func TestEnginesLearnUnderTheirForm(t *testing.T) {
	const id = "tiny-qwen3"
	for _, bits := range []int{0, 4} {
		r := start(t, setup{Model: wideHeads(t), NoCheckpoints: true, KVBits: bits})
		r.ask(t, map[string]any{"model": id, "max_tokens": 60, "temperature": 0, "ignore_eos": true,
			"prompt":      strings.Repeat("func (s *Server) Len() int {\n\treturn s.len\n}\n\n", 3),
			"speculation": json.RawMessage(`{"drafter":"ngram"}`)}, false)
		if err := r.pool.Unload(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		for drafter, want := range map[string]bool{"ngram": bits == 0, "ngram kv 4": bits == 4} {
			_, err := r.db.Models.Policy(t.Context(), id, drafter, draft.Buckets[0])
			if got := err == nil; got != want || err != nil && !storage.IsNotFound(err) {
				t.Errorf("%d bits: a policy of %q: %t, %v", bits, drafter, got, err)
			}
		}
	}
}
