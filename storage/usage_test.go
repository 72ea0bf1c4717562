package storage

import (
	"context"
	"reflect"
	"testing"
	"time"
)

// TestUsageSumsUpRunsAndCheckpoints expects the sums over runs and checkpoints, and what would be
// forgotten with them.
func TestUsageSumsUpRunsAndCheckpoints(t *testing.T) {
	now := noon
	db := mustOpen(t, "")
	db.now = func() time.Time { return now }
	add := func(model, client string, ended bool, files ...Checkpoint) {
		t.Helper()
		r, err := db.Runs.Begin(t.Context(), Run{Model: model, Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if r.FinishReason = "stop"; ended {
			if err := db.Runs.Finish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range files {
			c.Model, c.Kind = model, "prompt"
			if c.Run == 0 {
				c.Run = r.ID
			}
			if err := db.Checkpoints.Add(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Run 99 is no longer in the history.
	add("a", "zed", true, Checkpoint{ID: "a1", Bytes: 100},
		Checkpoint{ID: "a2", Parent: "a1", Bytes: 10, Run: 99, Pinned: true})
	add("b", "zed", true, Checkpoint{ID: "b1", Bytes: 1000})
	now = now.Add(24 * time.Hour)
	add("a", "curl", true, Checkpoint{ID: "a3", Bytes: 5}, Checkpoint{ID: "a4", Bytes: 7})
	add("a", "curl", false)
	if err := db.Checkpoints.SetPinned(t.Context(), "a2", true); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoints.MarkGone(t.Context(), []string{"a4"}, "was deleted"); err != nil {
		t.Fatal(err)
	}
	for by, want := range map[UsageBy][]Usage{
		ByModel:  {{Name: "b", Runs: 1, Checkpoints: 1, Bytes: 1000}, {Name: "a", Runs: 3, Checkpoints: 3, Bytes: 115}},
		ByClient: {{Name: "zed", Runs: 2, Checkpoints: 2, Bytes: 1100}, {Name: "curl", Runs: 2, Checkpoints: 1, Bytes: 5}},
		ByDay:    {{Name: "2026-11-22", Runs: 2, Checkpoints: 1, Bytes: 5}, {Name: "2026-11-21", Runs: 2, Checkpoints: 2, Bytes: 1100}},
	} {
		if got, err := db.Usage(t.Context(), by); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("by %s: %+v, %v; want %+v", by, got, err, want)
		}
	}
	all, err := db.Totals(t.Context())
	if err != nil || all != (Totals{Runs: 4, Checkpoints: 4, Bytes: 1115, Pinned: 10, Today: 12}) {
		t.Errorf("in total %+v, %v; want 4 runs, 4 checkpoints, 1115 bytes, 10 pinned, 12 today", all, err)
	}
	// Forget deletes as much as WouldForget announces.
	for _, s := range []Scope{{Client: "curl"}, {Day: "2026-11-21", Client: "zed", Model: "b"},
		{Model: "a"}} {
		said, checkpoints, err := db.WouldForget(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		gone, err := db.Forget(t.Context(), s, func([]string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if gone.Bytes != said.Bytes {
			t.Errorf("%+v: gone.Bytes = %v, want %v", s, gone.Bytes, said.Bytes)
		}
		if gone.Runs != said.Runs {
			t.Errorf("%+v: gone.Runs = %v, want %v", s, gone.Runs, said.Runs)
		}
		if gone.InFlight != said.InFlight {
			t.Errorf("%+v: gone.InFlight = %v, want %v", s, gone.InFlight, said.InFlight)
		}
		if len(gone.Checkpoints) != checkpoints {
			t.Errorf("%+v: len(gone.Checkpoints) = %v, want %v", s, len(gone.Checkpoints), checkpoints)
		}
		if gone.Bytes == 0 {
			t.Errorf("%+v: gone.Bytes is 0", s)
		}
	}
	_, _, err = db.WouldForget(context.Background(), Scope{})
	wantCode(t, err, Invalid)
}
