package history

import (
	"maps"
	"slices"
	"testing"

	"tandem/app/control"
	"tandem/storage"
)

// The orders that a client may ask for are those that the database knows.
func TestRunsHaveTheOrdersOfTheDatabase(t *testing.T) {
	known := slices.Sorted(maps.Keys(storage.RunOrders))
	if asked := slices.Sorted(slices.Values(control.RunOrders)); !slices.Equal(asked, known) {
		t.Errorf("clients may ask for %q, the database knows %q", asked, known)
	}
}
