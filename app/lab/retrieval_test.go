package lab

import (
	"io"
	"os"
	"testing"

	"tandem/app/bench"
	"tandem/app/figures"
	"tandem/engine/enginetest"
)

// TestRetrievalModelComesWithItsParts opens the retrieval model in an empty folder: it finds the code
// with full caches, and with what its f_theta restores, and not without.
func TestRetrievalModelComesWithItsParts(t *testing.T) {
	o := subjectOptions{model: RetrievalModel, retrieval: retrievalFolder(t), quick: true}
	t.Chdir(t.TempDir())
	e, drafts, err := openDrafted(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(drafts.Loaded) != 1 {
		t.Errorf("%d drafters came with it", len(drafts.Loaded))
	}
	if err := drafts.Close(); err != nil {
		t.Error(err)
	}
	r, err := newRecall(e, recallOptions{subjectOptions: o}, bench.Env{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.keep(func(a *recallArm) bool {
		return a.name == armOracle || a.name == armSinkWindow || a.name == armFTheta
	})
	if len(r.arms) != 3 || !e.terse || e.place != "" {
		t.Fatalf("%d arms, terse %t, place %q", len(r.arms), e.terse, e.place)
	}
	silent := func(figures.Table) error { return nil }
	if err := r.measure(t.Context(), haystacks[0], silent,
		func(string, measuredRun) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.arms {
		if got, want := foundIn(a.samples) == 1, a.name != armSinkWindow; got != want {
			t.Errorf("%s finds the code: %t, with %q", a.name, got, a.samples[0].Text)
		}
	}
}

// TestFolderNamedRetrieval opens a model of the user's in a folder of the built-in one's name. The path
// means the folder, and the name alone does not.
func TestFolderNamedRetrieval(t *testing.T) {
	retrieval := retrievalFolder(t)
	t.Chdir(t.TempDir())
	if err := os.Rename(enginetest.TinyModel(t, "gemma3_text"), RetrievalModel); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{RetrievalModel: true, "./" + RetrievalModel: false} {
		e, err := openSubject(t.Context(), subjectOptions{model: name, retrieval: retrieval})
		if err != nil {
			t.Fatal(err)
		}
		builtIn := e.bundle.Info.Architecture != "gemma3_text"
		if builtIn != want || e.terse != want || (e.ftheta != nil) != want || (e.place == "") != want {
			t.Errorf("%s is a %s, terse %t, f_theta %v, place %q", name, e.bundle.Info.Architecture,
				e.terse, e.ftheta, e.place)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
