package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/pool"
)

// TestNoCheckpointFolder: where checkpoints cannot be written requests are
// answered, and the state says so.
func TestNoCheckpointFolder(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, pool.CheckpointFolder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "lock"), nil, 0o600); err != nil { // the mark of a home
		t.Fatal(err)
	}
	r := start(t, Options{Home: home, Model: writeModel(t, "tiny")}, "127.0.0.1:0")
	for range 2 {
		if got := r.say(t, "tiny", fmt.Sprintf(fixedDepth, "ngram")); len(got.Choices) != 1 {
			t.Errorf("%+v", got)
		}
	}
	if s := r.State(); !strings.Contains(s.Warning, "not written to disk") {
		t.Errorf("the state warns of %q", s.Warning)
	}
}
