package history

import (
	"os"
	"testing"

	"tandem/app/control"
	"tandem/storage"
)

// A checkpoint of a program that computed differently is marked in the list and alone.
func TestCheckpointOfOtherArithmeticIsMarked(t *testing.T) {
	r := open(t, t.TempDir())
	row := storage.Checkpoint{ID: "old", Model: "acme/coder", Key: "k", ToToken: 60}
	if err := r.db.Checkpoints.Add(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	path := r.history.CheckpointPath("old")
	if err := os.MkdirAll(r.Home.Path("checkpoints"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := r.history.Checkpoints(t.Context(), control.CheckpointQuery{})
	if err != nil || len(list.Checkpoints) != 1 || !list.Checkpoints[0].TextOnly {
		t.Errorf("the list has %+v: %v", list.Checkpoints, err)
	}
	one, err := r.history.Checkpoint(t.Context(), control.CheckpointRead{Checkpoint: "old"})
	if err != nil || !one.TextOnly {
		t.Errorf("alone it is %+v: %v", one, err)
	}
}
