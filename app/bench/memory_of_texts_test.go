package bench

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tandem/engine/texts"
)

// The bar of a full memory is that of lookups and of updates, and it can be missed.
func TestSlowMemoryOfTextsMissesItsBar(t *testing.T) {
	const fast, slow = 5 * time.Microsecond, 21 * time.Microsecond
	for _, c := range []struct {
		lookup, update time.Duration
		want           string
	}{{fast, fast, "at most 20 met"}, {slow, fast, "at most 20 missed"},
		{fast, slow, "at most 20 missed"}} {
		row := fullFigures{lookups: []time.Duration{c.lookup}, update: c.update}.table().Rows[0]
		if got := row[len(row)-1]; got != c.want {
			t.Errorf("lookups of %v and updates of %v: %v, want %s", c.lookup, c.update, got, c.want)
		}
	}
}

// A memory that cannot be written has no bytes on disk, and the bench says so.
func TestUnwrittenMemoryOfTextsIsAnError(t *testing.T) {
	full := errors.New("no space left on device")
	store := texts.NewStore(texts.Options{Dir: t.TempDir() + "/texts",
		Make: func(string) error { return full }})
	use := store.Open(texts.Owner{}, texts.Origin{})
	use.Add(texts.Text{Tokens: []int32{1, 2, 3}})
	use.Close()
	store.Flush()
	if _, err := keptBytes(store); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v", err)
	}
}
