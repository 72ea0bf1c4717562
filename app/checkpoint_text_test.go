package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// The text of a checkpoint is the same whichever model is in memory, also for the built-in
// model. Without the model's tokenizer the text is empty.
func TestCheckpointTextIsReadWithoutItsModelInMemory(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
	prompt := strings.Repeat("abc ", 40)
	kept := func(model string) (id string) {
		t.Helper()
		enginetest.Await(t, "there is a checkpoint of "+model, func() bool {
			list, err := control.Call(t.Context(), r.client(t), control.ListCheckpoints,
				control.CheckpointQuery{Model: model})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Checkpoints) > 0 {
				id = list.Checkpoints[0].ID
				if list.Checkpoints[0].TextOnly {
					t.Errorf("%s's checkpoint is of other arithmetic", model)
				}
			}
			return id != ""
		})
		return id
	}
	text := func(id string) string {
		t.Helper()
		c, err := control.Call(t.Context(), r.client(t), control.GetCheckpoint,
			control.CheckpointRead{Checkpoint: id})
		if err != nil {
			t.Fatal(err)
		}
		return c.Text
	}
	if status, body := r.complete(t, "tiny", prompt); status != 200 {
		t.Fatal(status, body)
	}
	tiny := kept("tiny")
	loaded := text(tiny)
	if !strings.Contains(loaded, "abc abc") {
		t.Fatalf("with the model in memory the text is %q", loaded)
	}
	if status, body := r.complete(t, "pocket", prompt); status != 200 {
		t.Fatal(status, body)
	}
	pocket := kept("pocket")
	embedded := text(pocket)
	if got := text(tiny); got != loaded {
		t.Errorf("with another model in memory the text is %q, want %q", got, loaded)
	}
	if _, err := control.Call(t.Context(), r.client(t), control.UnloadModel,
		control.UnloadRequest{Model: ""}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := text(tiny); got != loaded {
			t.Errorf("with no model in memory the text is %q, want %q", got, loaded)
		}
		if got := text(pocket); got != embedded || !strings.Contains(got, "abc abc") {
			t.Errorf("the text of the built-in model is %q, want %q", got, embedded)
		}
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if got := text(tiny); got != "" {
		t.Errorf("without the tokenizer the text is %q, want none", got)
	}
}
