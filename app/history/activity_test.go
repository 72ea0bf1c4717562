package history

import (
	"math"
	"testing"
	"time"

	"tandem/app/control"
)

func TestActivitySpreadsTokensOverTheirTime(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 1, 0, time.UTC)
	a := newActivity(now, 5*time.Minute)
	if a.Seconds != 2 || len(a.Read) != 150 || len(a.Written) != 150 || !a.From.Equal(now.Add(-299*time.Second)) {
		t.Fatalf("%d intervals of %d s from %s", len(a.Read), a.Seconds, a.From)
	}
	// It arrives 10 s before the end of the chart's time, reads for 2 s and writes for 4.
	start := a.From.Add(290 * time.Second)
	addActivity(&a, control.Run{StartedAt: start, EndedAt: start.Add(7 * time.Second), PromptTokens: 300,
		CachedTokens: 100, PrefillMS: 2000, FirstTokenMS: 3000, TotalMS: 7000, CompletionTokens: 40})
	for i, want := range map[int][2]float64{144: {0, 0}, 145: {50, 0}, 146: {50, 5}, 147: {0, 10}, 148: {0, 5}, 149: {0, 0}} {
		if got := [2]float64{a.Read[i], a.Written[i]}; math.Abs(got[0]-want[0])+math.Abs(got[1]-want[1]) > 1e-9 {
			t.Errorf("interval %d has %v, want %v", i, got, want)
		}
	}
}

func TestActivityKeepsToItsTime(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, minutes := range []int{5, 60, 24 * 60} {
		a := newActivity(now, time.Duration(minutes)*time.Minute)
		sum := func(list []float64) (tokens float64) {
			for _, v := range list {
				tokens += v * float64(a.Seconds)
			}
			return tokens
		}
		run := func(start time.Time, total time.Duration) control.Run {
			return control.Run{StartedAt: start, EndedAt: start.Add(total), PromptTokens: 10,
				PrefillMS: 1, FirstTokenMS: 1, TotalMS: float64(total.Milliseconds()), CompletionTokens: 100}
		}
		addActivity(&a, run(a.From.Add(-time.Hour), time.Minute))     // before
		addActivity(&a, run(now.Add(time.Hour), time.Minute))         // a clock that was put back
		addActivity(&a, control.Run{StartedAt: now, FirstTokenMS: 1}) // in flight
		addActivity(&a, control.Run{StartedAt: now, EndedAt: now})    // it ended before its first token
		if sum(a.Read) != 0 || sum(a.Written) != 0 {
			t.Errorf("%d minutes have %v and %v", minutes, sum(a.Read), sum(a.Written))
		}
		half := run(a.From.Add(-time.Minute), 2*time.Minute)
		addActivity(&a, half)
		if got := sum(a.Written); math.Abs(got-50) > 0.1 {
			t.Errorf("%d minutes have %v tokens of an answer that is half inside", minutes, got)
		}
	}
}
