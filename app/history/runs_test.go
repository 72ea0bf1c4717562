package history

import (
	"maps"
	"slices"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

// A client may ask for each order of the database, and for no other.
func TestRunsHaveTheOrdersOfTheDatabase(t *testing.T) {
	known := slices.Sorted(maps.Keys(storage.RunOrders))
	if asked := slices.Sorted(slices.Values(control.RunOrders)); !slices.Equal(asked, known) {
		t.Errorf("clients may ask for %q, the database knows %q", asked, known)
	}
}

// TestSearchFindsClientsByTheNamesThatPeopleSee: a list shows these in place of what the client calls itself.
func TestSearchFindsClientsByTheNamesThatPeopleSee(t *testing.T) {
	h := open(t, t.TempDir()).history
	for i, agent := range []string{"claude-cli/2.1.330 (external, cli)", "codex_exec/0.169.0 (Linux)", "curl/8.1", "", "claude-cli/1.0"} {
		if _, err := h.BeginRun(t.Context(), control.Run{StartedAt: time.Unix(int64(i), 0), Client: agent, Model: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	for search, want := range map[string][]int64{
		"Claude Code": {5, 1}, "claude code": {5, 1}, "codex": {2}, "unnamed": {4}, "CURL": {3}, "2.1.330": {1}, "Wibble": nil, "%": nil,
	} {
		runs, err := h.Runs(t.Context(), control.RunQuery{Search: search})
		var ids []int64
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q finds %v, %v, want %v", search, ids, err, want)
		}
	}
}
