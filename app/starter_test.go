package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/storage"
)

// served returns the model that an app with these options serves, and the warning that it shows.
func served(t *testing.T, o Options) (choice, warning string) {
	t.Helper()
	a, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := a.pool.Preload(t.Context()); err != nil {
		t.Error(err)
	}
	return a.State().Choice, a.State().Warning
}

// An empty home serves the starter, which is listed and cannot be removed.
func TestEmptyHomeServesTheStarter(t *testing.T) {
	r := start(t, Options{Starter: writeModel(t, "model")}, "127.0.0.1:0")
	status, body := r.complete(t, control.Alias, "abc")
	if status != http.StatusOK || !strings.Contains(body, `"model":"starter"`) {
		t.Errorf("status %d: %s", status, body)
	}
	list, err := r.library.Models(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v, want starter and pocket", list, err)
	}
	for _, m := range list {
		if m.ID != m.Source {
			t.Errorf("%s comes from %s", m.ID, m.Source)
		}
		_, asked := r.library.Removal(t.Context(), m.ID)
		_, err := r.library.RemoveModel(t.Context(), m.ID)
		for _, err := range []error{asked, err} {
			if err == nil || !strings.Contains(err.Error(), "The "+m.ID+" model is part of") {
				t.Errorf("removing %s: %v", m.ID, err)
			}
		}
	}
	if kept, err := r.library.Storage(t.Context()); err != nil || len(kept.Models) > 0 {
		t.Errorf("the models on the disk are %+v, %v; want none", kept.Models, err)
	}
}

// Pocket takes the place of a starter that is missing or damaged, until there is one again.
func TestPocketTakesTheStartersPlace(t *testing.T) {
	home, folder := t.TempDir(), writeModel(t, "model")
	weights := filepath.Join(folder, "model.safetensors")
	whole, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(weights, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	o := Options{Home: home, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	expect := func(why, starter, choice, warning string) {
		t.Helper()
		log.Reset()
		o.Starter = starter
		got, said := served(t, o)
		if got != choice || (said == "") != (warning == "") || !strings.Contains(said, warning) {
			t.Errorf("%s: it serves %s and says %q, want %s and %q", why, got, said, choice, warning)
		}
		if warned := strings.Contains(log.String(), "starter model cannot be used"); warned !=
			(warning != "") {
			t.Errorf("%s: the log says %q", why, log.String())
		}
		next, err := LastChoice(t.Context(), home, starter)
		if err != nil || next.ID != choice {
			t.Errorf("%s: the next start will serve %s, %v, want %s", why, next.ID, err, choice)
		}
	}
	expect("the first start", folder, "starter", "")
	expect("the program has no starter", "", "pocket", "")
	expect("it has one again", folder, "starter", "")
	write(whole[:len(whole)/2])
	expect("half a starter", folder, "pocket",
		"The starter model cannot be used, so that pocket is served in its place")
	write(nil)
	expect("an empty file", folder, "pocket", "starter model cannot be used")
	write(whole)
	expect("a whole one again", folder, "starter", "")

	o.Model = "pocket"
	expect("a person chooses pocket", folder, "pocket", "")
	o.Model = ""
	expect("and starts again", folder, "pocket", "")
	o.Model = "starter"
	expect("a person chooses the starter", folder, "starter", "")
	o.Model = ""
	expect("and starts again", folder, "starter", "")
}

// The starter has one row, wherever its program lies. A model of a person that has its name keeps
// it.
func TestStarterHasOneRow(t *testing.T) {
	home, own := t.TempDir(), writeModel(t, "starter")
	o := Options{Home: home, Model: own}
	if choice, _ := served(t, o); choice != "starter" {
		t.Fatalf("the person's model is served as %s", choice)
	}
	o.Model = "pocket"
	served(t, o)
	for range 2 {
		o.Starter, o.Model = writeModel(t, "model"), "starter-2"
		if choice, _ := served(t, o); choice != "starter-2" {
			t.Errorf("the choice is %s, want starter-2", choice)
		}
		a, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := a.db.Models.List(t.Context())
		var found []string
		for _, r := range rows {
			if r.Source == storage.SourceStarter {
				found = append(found, r.ID, r.Path)
			}
		}
		if err != nil || len(found) != 2 || found[0] != "starter-2" || found[1] != o.Starter {
			t.Errorf("the starters are %q, %v, want starter-2 at %s", found, err, o.Starter)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A removed choice is followed by the starter.
func TestRemovedChoiceIsFollowedByTheStarter(t *testing.T) {
	r := start(t, Options{Starter: writeModel(t, "model"), Model: writeModel(t, "gone")}, "")
	if err := r.pool.Load(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.library.RemoveModel(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if got := r.State().Choice; got != "starter" {
		t.Errorf("the choice is %q, want starter", got)
	}
}
