package history

import (
	"maps"
	"slices"
	"testing"

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
