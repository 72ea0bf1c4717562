package pool

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/storage"
)

// damage makes the load of a model fail, after every check before the load.
func (r *running) damage(t *testing.T, id string) {
	t.Helper()
	row, err := r.db.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(row.Path, "tokenizer.json"), []byte("{}"),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// Models that left for a request come back if the requested model cannot be loaded.
func TestEvictedModelsComeBackAfterAFailedLoad(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two", "three")
	r.wantAnswers(t, "one", "two")
	r.damage(t, "three")
	for _, value := range []control.LoadOnRequest{control.LoadBeside, control.LoadReplace} {
		r.setLoadOnRequest(t, value)
		if status, body := r.complete(t, "three", "abc"); status == http.StatusOK {
			t.Errorf("%s: %s", value, body)
		}
		r.wantInMemory(t, fmt.Sprintf("after a load that failed (%s)", value), "one two")
	}
	r.wantAnswers(t, control.Alias)
}

// The earlier files of a renewed model do not come back, since no name leads to them.
func TestOldFilesOfARenewedModelAreNotLoadedAgain(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two")
	r.wantAnswers(t, "one", "two")
	row, err := r.db.Model(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	r.renew(t, "two")
	row.Path, row.Source, row.Revision = writeModel(t, "newer"), storage.SourceHub, "newer"
	if _, err := r.db.RegisterModel(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	r.damage(t, "two")
	if status, body := r.complete(t, "two", "abc"); status == http.StatusOK {
		t.Errorf("a damaged model answers: %s", body)
	}
	r.wantInMemory(t, "in the end", "one")
}

// Models that left for a switch come back if it fails, also beside the choice.
func TestEvictedModelsComeBackAfterAFailedSwitch(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two", "three")
	r.wantAnswers(t, "one", "two")
	r.damage(t, "three")
	for _, keep := range []bool{false, true} { // the choice leaves, or it stays and the other leaves
		r.keep(t, "one", keep)
		err := r.pool.Load(t.Context(), "three")
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelInvalid ||
			!strings.Contains(e.Message, "one goes on") {
			t.Errorf("loading three, with one kept (%t): %v", keep, err)
		}
		r.wantInMemory(t, "after a switch that failed", "one two")
		r.wantAnswers(t, control.Alias, "two")
	}
}
