package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// Earlier versions wrote a model named retrieval to the home folder, with its drafter and its f_theta,
// and registered it when it was served. Such a home opens, and the model is one of the user's: served while its files are there, then
// refused with what to do.
func TestHomeWithTheRetrievalModelOpens(t *testing.T) {
	home := newHome(t)
	dir := filepath.Join(home, "models", "retrieval")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("../../../models/retrieval")); err != nil {
		t.Fatal(err)
	}
	serve := func(phase control.Phase, flags ...string) string {
		p := serveProcess(t, home, flags...)
		s := waitState(t, client(t, home), func(s control.State) bool {
			return s.Phase == control.PhaseReady || s.Phase == control.PhaseFailed
		})
		if s.Phase != phase || s.Choice != "retrieval" {
			t.Errorf("%s is %s: %s", s.Choice, s.Phase, s.Error)
		}
		p.stop(t)
		return p.stderr.String()
	}
	serve(control.PhaseReady, "--model", dir)
	serve(control.PhaseReady) // the last choice
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	said := serve(control.PhaseFailed)
	for _, want := range []string{"The model retrieval is no longer at", "`tandem list` lists them"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not there: %s", want, said)
		}
	}
}
