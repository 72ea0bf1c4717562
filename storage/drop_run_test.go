package storage

import (
	"encoding/json"
	"testing"
)

// TestDroppedRunLeavesNothing expects that a dropped run leaves nothing and that no other run gets
// its id. A run that has ended is not dropped.
func TestDroppedRunLeavesNothing(t *testing.T) {
	db := mustOpen(t, "")
	r, err := db.Runs.Begin(t.Context(), Run{Model: "m"})
	if err == nil {
		err = db.Runs.SetText(t.Context(), RunText{Run: r.ID, Request: json.RawMessage(`{}`)})
	}
	if err == nil {
		err = db.Runs.Drop(t.Context(), r.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Runs.Get(t.Context(), r.ID)
	wantCode(t, err, NotFound)
	_, err = db.Runs.Text(t.Context(), r.ID)
	wantCode(t, err, NotFound)
	wantCode(t, db.Runs.Drop(t.Context(), r.ID), NotFound)
	next, err := db.Runs.Begin(t.Context(), Run{Model: "m"})
	if err != nil || next.ID <= r.ID {
		t.Errorf("the next run has id %d, %v; want more than %d", next.ID, err, r.ID)
	}
	if err := db.Runs.Finish(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.Runs.Drop(t.Context(), next.ID), NotFound)
	if _, err := db.Runs.Get(t.Context(), next.ID); err != nil {
		t.Error("a run that has ended is dropped:", err)
	}
}
