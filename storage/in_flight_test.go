package storage

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestForgottenRunInFlightStoresNoMore forgets a scope while a run is in flight. A run inside the
// scope loses what it has stored and stores no more, even at its end. A run outside the scope loses
// only its parting.
func TestForgottenRunInFlightStoresNoMore(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		scope  Scope
		model  string // of the run's text; empty if it has none yet
		forget bool
	}{
		{"its client", Scope{Client: "x"}, "m", true},
		{"another client", Scope{Client: "y"}, "m", false},
		{"its model", Scope{Model: "m"}, "m", true},
		{"another model", Scope{Model: "n"}, "m", false},
		{"a model while its own is unknown", Scope{Model: "n"}, "", true},
		{"its day", Scope{Day: "2026-11-21"}, "m", true},
		{"another day", Scope{Day: "2026-11-20"}, "m", false},
		{"its model, client and day", Scope{Model: "m", Client: "x", Day: "2026-11-21"}, "m", true},
		{"another client of its model", Scope{Model: "m", Client: "y"}, "m", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := mustOpen(t, "")
			r, err := db.Runs.Begin(ctx, Run{Client: "x",
				StartedAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			text := RunText{Run: r.ID, Model: c.model, Request: json.RawMessage(`{"a":1}`),
				Replay: json.RawMessage(`{}`)}
			store := func(name string) (errs []error) {
				if c.model != "" {
					errs = append(errs, db.Runs.SetText(ctx, text))
				}
				return append(errs,
					db.Responses.Add(ctx, Response{ID: name, Run: r.ID, Input: json.RawMessage(`[]`),
						Response: json.RawMessage(`{}`)}),
					db.Checkpoints.Add(ctx, Checkpoint{ID: name, Model: "m", Run: r.ID, ToToken: 9}))
			}
			for _, err := range store("before") {
				if err != nil {
					t.Fatal(err)
				}
			}
			said, _, err := db.WouldForget(ctx, c.scope)
			if err != nil {
				t.Fatal(err)
			}
			gone, err := db.Forget(ctx, c.scope, func([]string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if gone.Runs != 0 {
				t.Fatalf("gone.Runs = %v, want 0", gone.Runs)
			}
			if (gone.InFlight == 1) != c.forget {
				t.Fatalf("gone.InFlight = %v, want 1: %v", gone.InFlight, c.forget)
			}
			if said.InFlight != gone.InFlight {
				t.Fatalf("said.InFlight = %v, want %v", said.InFlight, gone.InFlight)
			}
			if said.Bytes != gone.Bytes {
				t.Fatalf("said.Bytes = %v, want %v", said.Bytes, gone.Bytes)
			}
			there := func(when string, want bool) {
				t.Helper()
				_, err := db.Runs.Text(ctx, r.ID)
				_, err2 := db.Responses.Get(ctx, "", when)
				_, err3 := db.Checkpoints.Get(ctx, when)
				if c.model == "" {
					err = err2
				}
				// A scope with a model deletes all checkpoints of that model and none of another.
				kept := want
				if when == "before" && c.scope.Model == "n" {
					kept = true
				}
				if (err == nil) != want || (err2 == nil) != want || (err3 == nil) != kept {
					t.Errorf("%s: text %v, response %v, checkpoint %v; want them stored: %t",
						when, err, err2, err3, want)
				}
			}
			there("before", !c.forget)
			errs := store("after")
			for i, err := range errs[len(errs)-2:] {
				if c.forget {
					wantCode(t, err, NotFound)
				} else if err != nil {
					t.Errorf("write %d is refused: %v", i, err)
				}
			}
			there("after", !c.forget)
			r.Model, r.Divergence = "m", json.RawMessage(`{"at":3}`)
			if err := db.Runs.Finish(ctx, r); err != nil {
				t.Fatal(err)
			}
			if c.model != "" {
				text.Request, text.Tail = nil, []byte{1, 0, 0, 0}
				if err := db.Runs.SetText(ctx, text); err != nil {
					t.Error(err)
				}
			}
			there("after", !c.forget)
			if got, err := db.Runs.Get(ctx, r.ID); err != nil || got.Divergence != nil ||
				got.EndedAt.IsZero() {
				t.Errorf("its row is %+v, %v; want an end and no parting", got, err)
			}
		})
	}
}

// TestFailedForgetKeepsEverything expects that runs in flight keep what they have stored after a
// failed Forget.
func TestFailedForgetKeepsEverything(t *testing.T) {
	db := mustOpen(t, "")
	r, err := db.Runs.Begin(t.Context(), Run{Client: "x"})
	if err == nil {
		err = db.Runs.SetText(t.Context(), RunText{Run: r.ID, Request: json.RawMessage(`{}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Forget(t.Context(), Scope{Client: "x"},
		func([]string) error { return fmt.Errorf("the disk is gone") }); err == nil {
		t.Error("no error although the files stay")
	}
	if _, err := db.Runs.Text(t.Context(), r.ID); err != nil {
		t.Error("the text is lost:", err)
	}
	if err := db.Checkpoints.Add(t.Context(), Checkpoint{ID: "a", Run: r.ID}); err != nil {
		t.Error("a checkpoint is refused:", err)
	}
}
