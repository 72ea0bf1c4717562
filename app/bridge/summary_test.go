package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Results stay in the checkout, whatever links it has.
func TestResultsFollowNoLinks(t *testing.T) {
	for _, at := range []string{resultsFolder, resultsFolder + "/nonce-1"} {
		b := newBench(t, "exit 0\n")
		b.ask("tests", "nonce-1", nil)
		outside := t.TempDir()
		link := filepath.Join(b.checkout, at)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(outside, link)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.runner.Run(t.Context(), ManifestFile); err == nil {
			t.Errorf("%s: a run with a link in its place succeeds", at)
		}
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("%s: %v lies outside", at, entries)
		}
	}
	// A command replaces a file of the results by a link.
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "mine")
	b := newBench(t, "ln -s "+victim+" .tandem-bridge/results/nonce-1/new-summary.json\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	if read(t, victim) != "mine" || !strings.Contains(b.result("nonce-1", summaryFile), "nonce-1") {
		t.Error("the summary followed a link")
	}
}
