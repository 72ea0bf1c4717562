package storage

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestSweepKeepsTextsInFlight expects that texts past their time are deleted and that texts of runs
// in flight stay.
func TestSweepKeepsTextsInFlight(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	start := now
	db, err := Open("", Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	// Each day has a run that ended and one that was cut off. The last run is in flight.
	for day := range 5 {
		now = start.AddDate(0, 0, day)
		for _, request := range []string{"", `{"prompt":"x"}`} {
			r, err := db.Runs.Begin(ctx, Run{Model: "m",
				Divergence: json.RawMessage(`{"at":3,"kept":"a","given":"b"}`)})
			if err != nil {
				t.Fatal(err)
			}
			text := RunText{Run: r.ID, Model: "m", Tail: []byte{1, 0, 0, 0},
				Replay: json.RawMessage("{}")}
			if request != "" {
				text.Request = json.RawMessage(request)
			}
			if err := db.Runs.SetText(ctx, text); err != nil {
				t.Fatal(err)
			}
			if r.ID != 10 {
				if err := db.Runs.Finish(ctx, r); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Runs.SetVerdict(ctx, r.ID,
				json.RawMessage(`{"tokens":2,"same":1,"answered":"a","now":"b"}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func() (ids []int64) {
		for id := range int64(10) {
			if _, err := db.Runs.Text(ctx, id+1); err == nil {
				ids = append(ids, id+1)
			} else if e, ok := errors.AsType[*Error](err); !ok || e.Code != NotFound {
				t.Fatal(err)
			}
		}
		return ids
	}
	// named returns the runs with tokens in their verdicts.
	named := func() (ids []int64) {
		for id := range int64(10) {
			r, err := db.Runs.Get(ctx, id+1)
			if err != nil {
				t.Fatal(err)
			}
			switch string(r.Verdict) {
			case `{"tokens":2,"same":1,"answered":"a","now":"b"}`:
				ids = append(ids, id+1)
			case `{"tokens":2,"same":1,"forgotten":true}`:
			default:
				t.Errorf("the verdict on run %d is %s", id+1, r.Verdict)
			}
		}
		return ids
	}
	// parted returns the runs that still have the tokens at which they parted from a text.
	parted := func() (ids []int64) {
		for id := range int64(10) {
			r, err := db.Runs.Get(ctx, id+1)
			if err != nil {
				t.Fatal(err)
			}
			if r.Divergence != nil {
				ids = append(ids, id+1)
			}
		}
		return ids
	}
	if n, err := db.Runs.SweepTexts(ctx, start.AddDate(0, 0, 2),
		start.AddDate(0, 0, 1)); err != nil || n != 3 {
		t.Errorf("%d swept, %v; want 3", n, err)
	}
	if got, want := parted(), []int64{5, 6, 7, 8, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("partings are left of %v, want %v", got, want)
	}
	if got, want := left(), []int64{4, 5, 6, 7, 8, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("texts are left of %v, want %v", got, want)
	}
	if got, want := named(), left(); !slices.Equal(got, want) {
		t.Errorf("verdicts name tokens of %v, texts are left of %v", got, want)
	}
	if _, err := db.Runs.SweepTexts(ctx, now.Add(time.Hour), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []int64{10}) {
		t.Errorf("texts are left of %v, want 10, which is in flight", got)
	}
	if got := named(); !slices.Equal(got, []int64{10}) {
		t.Errorf("verdicts name tokens of %v, want 10", got)
	}
	if got := parted(); !slices.Equal(got, []int64{10}) {
		t.Errorf("partings are left of %v, want 10", got)
	}
}
