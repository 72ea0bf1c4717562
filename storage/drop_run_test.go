package storage

import (
	"encoding/json"
	"testing"
)

// TestDroppedRunLeavesNothing expects that a dropped run leaves nothing and that no other run gets
// its id. A run that has ended is not dropped.
func TestDroppedRunLeavesNothing(t *testing.T) {
	db := mustOpen(t, "")
	r, err := db.BeginRun(t.Context(), Run{Model: "m"})
	if err == nil {
		err = db.SetRunText(t.Context(), RunText{Run: r.ID, Request: json.RawMessage(`{}`)})
	}
	if err == nil {
		err = db.DropRun(t.Context(), r.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Run(t.Context(), r.ID)
	wantCode(t, err, NotFound)
	_, err = db.RunText(t.Context(), r.ID)
	wantCode(t, err, NotFound)
	wantCode(t, db.DropRun(t.Context(), r.ID), NotFound)
	next, err := db.BeginRun(t.Context(), Run{Model: "m"})
	if err != nil || next.ID <= r.ID {
		t.Errorf("the next run has id %d, %v; want more than %d", next.ID, err, r.ID)
	}
	if err := db.FinishRun(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.DropRun(t.Context(), next.ID), NotFound)
	if _, err := db.Run(t.Context(), next.ID); err != nil {
		t.Error("a run that has ended is dropped:", err)
	}
}
