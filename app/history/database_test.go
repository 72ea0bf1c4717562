package history

import (
	"math"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

// ended stores a run that has ended.
func (o *opened) ended(t *testing.T, r control.Run) {
	t.Helper()
	id, err := o.history.BeginRun(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = id
	if err := o.history.FinishRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// Today begins at midnight where the person is.
func TestInsightsAreOfTheLocalDay(t *testing.T) {
	o := open(t, t.TempDir())
	zone := time.FixedZone("ahead", 9*60*60)
	for i, at := range []time.Time{
		time.Date(2026, 11, 26, 23, 59, 0, 0, zone), time.Date(2026, 11, 27, 0, 1, 0, 0, zone),
		time.Date(2026, 11, 27, 23, 59, 0, 0, zone), time.Date(2026, 11, 28, 0, 1, 0, 0, zone),
	} {
		o.ended(t, control.Run{Client: "zed", Model: "m", StartedAt: at, EndedAt: at.Add(10 * time.Second), QueueMS: 3000,
			PromptTokens: 1 << i, FinishReason: control.FinishInterrupted})
	}
	for now, want := range map[time.Time][2]int{ // prompt tokens, and the newest run
		time.Date(2026, 11, 26, 23, 59, 30, 0, zone): {15, 4}, // a clock that was put back
		time.Date(2026, 11, 27, 0, 2, 0, 0, zone):    {14, 4},
		time.Date(2026, 11, 28, 0, 2, 0, 0, zone):    {8, 4},
		time.Date(2026, 11, 29, 0, 2, 0, 0, zone):    {0, 0},
	} {
		o.history.now = func() time.Time { return now }
		got, err := o.history.Insights(t.Context())
		if err != nil || got.Today.PromptTokens != want[0] {
			t.Errorf("at %s: %+v, %v, want %v tokens", now, got.Today, err, want[0])
		}
		if want[1] == 0 && len(got.Slow) == 0 {
			continue
		}
		if len(got.Slow) != 1 || got.Slow[0].Kind != control.SlowQueued || got.Slow[0].Latest != int64(want[1]) {
			t.Errorf("at %s: %+v", now, got.Slow)
		}
	}
}

// The figures of today count as failed what the list of failed runs has.
func TestFailedRunsOfTodayAreThoseOfTheList(t *testing.T) {
	o := open(t, t.TempDir())
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	o.history.now = func() time.Time { return now }
	for _, finish := range []string{"stop", control.FinishError, control.FinishInterrupted, control.FinishCancel} {
		o.ended(t, control.Run{StartedAt: now.Add(-time.Minute), EndedAt: now, FinishReason: finish})
	}
	listed, _, err := o.db.Runs(t.Context(), storage.RunFilter{Failed: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.history.Insights(t.Context()); err != nil || got.Today.Failed != len(listed) || len(listed) != 2 {
		t.Errorf("%+v, %v, the list has %d", got.Today, err, len(listed))
	}
}

// A run that began before the chart's time is in it for as long as it went on. What a stopped one read
// is known by the others.
func TestActivityHasRunsThatBeganBefore(t *testing.T) {
	o := open(t, t.TempDir())
	now := time.Date(2026, 11, 27, 0, 1, 0, 0, time.FixedZone("ahead", 9*60*60))
	o.history.now = func() time.Time { return now }
	begin := now.Add(-10 * time.Minute)
	o.ended(t, control.Run{Model: "m", StartedAt: begin, EndedAt: begin.Add(9 * time.Minute), PromptTokens: 1000,
		PrefillMS: 10_000, FirstTokenMS: 60_000, TotalMS: 9 * 60_000, CompletionTokens: 800, Rounds: 799})
	o.ended(t, control.Run{Model: "m", StartedAt: now.Add(-30 * time.Second), EndedAt: now.Add(-10 * time.Second),
		PromptTokens: 9000, PrefillMS: 20_000, TotalMS: 20_000, FinishReason: control.FinishCancel})
	a, err := o.history.Activity(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var read, written float64
	for i := range a.Read {
		read, written = read+2*a.Read[i], written+2*a.Written[i]
	}
	// The chart ends at the end of an interval, two seconds after now. Four of the eight minutes of
	// writing are in it, less those two seconds.
	if math.Abs(read-2000) > 1e-6 || math.Abs(written-800.*(4*60-2)/(8*60)) > 1e-6 {
		t.Errorf("%v tokens were read, %v written", read, written)
	}
}
