package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tandem/app/control"
	"tandem/storage"
)

// damage makes each load of a model fail after every check before it: the tokenizer is spoiled when
// another model leaves the memory for that one, and repaired after the test's request.
func (r *running) damage(t *testing.T, id string) (repair func()) {
	t.Helper()
	row, err := r.db.Models.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(row.Path, "tokenizer.json")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Error(err)
		}
	}
	r.leaves.Store(&departure{id, func() { write([]byte("{}")) }})
	return func() { write(good) }
}

// A departure is done when a model leaves the memory for the model id.
type departure struct {
	id string
	do func()
}

// A departureLog does what a departure wants, when the log tells of one.
type departureLog struct {
	slog.Handler
	leaves *atomic.Pointer[departure]
}

// Enabled implements slog.Handler.
func (departureLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l departureLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "a model leaves the memory for another" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if d := l.leaves.Load(); d != nil && a.Key == "for" && a.Value.String() == d.id {
			d.do()
		}
		return true
	})
	return nil
}

// Models that left for a request come back if the requested model cannot be loaded.
func TestEvictedModelsComeBackAfterAFailedLoad(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two", "three")
	r.wantAnswers(t, "one", "two")
	repair := r.damage(t, "three")
	for _, value := range []control.LoadOnRequest{control.LoadBeside, control.LoadReplace} {
		r.setLoadOnRequest(t, value)
		if status, body := r.complete(t, "three", "abc"); status == http.StatusOK {
			t.Errorf("%s: %s", value, body)
		}
		repair()
		r.wantInMemory(t, fmt.Sprintf("after a load that failed (%s)", value), "one two")
	}
	r.wantAnswers(t, control.Alias)
}

// The earlier files of a renewed model do not come back, since no name leads to them.
func TestOldFilesOfARenewedModelAreNotLoadedAgain(t *testing.T) {
	r := startWithRoom(t, 2.5, "one", "two")
	r.wantAnswers(t, "one", "two")
	row, err := r.db.Models.Get(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	r.renew(t, "two")
	row.Path, row.Source, row.Revision = writeModel(t, "newer"), storage.SourceHub, "newer"
	if _, err := r.db.Models.Register(t.Context(), row); err != nil {
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
	repair := r.damage(t, "three")
	for _, keep := range []bool{false, true} { // the choice leaves, or it stays and the other leaves
		r.keep(t, "one", keep)
		err := r.pool.Load(t.Context(), "three")
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeModelInvalid ||
			!strings.Contains(e.Message, "one goes on") {
			t.Errorf("loading three, with one kept (%t): %v", keep, err)
		}
		repair()
		r.wantInMemory(t, "after a switch that failed", "one two")
		r.wantAnswers(t, control.Alias, "two")
	}
}
