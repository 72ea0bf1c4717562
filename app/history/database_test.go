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
	listed, _, err := o.db.Runs.List(t.Context(), storage.RunQuery{Failed: true})
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
	a, err := o.history.Activity(t.Context(), 5, nil)
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

// A run in flight has what it took so far. One that has ended since counts by its row alone.
func TestActivityHasRunsInFlight(t *testing.T) {
	o := open(t, t.TempDir())
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	o.history.now = func() time.Time { return now }
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	o.ended(t, control.Run{Model: "m", StartedAt: ago(100), EndedAt: ago(90), PromptTokens: 10, PrefillMS: 1000, FirstTokenMS: 1000, TotalMS: 10_000})
	a, err := o.history.Activity(t.Context(), 5, []control.Active{
		{RunID: 1, StartedAt: ago(100), ReadingSince: ago(100), PromptDone: 999, PromptTokens: 999},
		{RunID: 2, StartedAt: ago(80), ReadingSince: ago(70), PromptDone: 700, PromptRestored: 100, PromptTokens: 9000},
		{RunID: 3, StartedAt: ago(80), ReadingSince: ago(20), WritingSince: ago(10), PromptDone: 50, PromptTokens: 50, CompletionTokens: 40},
		{RunID: 4, StartedAt: ago(80), PromptTokens: 9000},
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := func(list []float64, from, to int) (tokens float64) {
		for i := range list {
			if at := a.From.Add(time.Duration(2*i) * time.Second); !at.Before(ago(from)) && at.Before(ago(to)) {
				tokens += 2 * list[i]
			}
		}
		return math.Round(tokens)
	}
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"all that was read", sum(a.Read, 300, 0), 10 + 600 + 50},
		{"what the first one read", sum(a.Read, 110, 90), 10},
		{"nothing while they waited", sum(a.Read, 80, 70), 0},
		{"the long prompt alone", sum(a.Read, 70, 20), 600 * 50 / 70},
		{"all that was written", sum(a.Written, 300, 0), 40},
		{"what was written last", sum(a.Written, 10, 0), 40},
	} {
		if math.Abs(x.got-x.want) > 1 {
			t.Errorf("%s: %v tokens, want %v", x.name, x.got, x.want)
		}
	}
}
