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
		CachedTokens: 100, PrefillMS: 2000, FirstTokenMS: 3000, TotalMS: 7000, CompletionTokens: 40}, 0)
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
		addActivity(&a, run(a.From.Add(-time.Hour), time.Minute), 1)     // before
		addActivity(&a, run(now.Add(time.Hour), time.Minute), 1)         // a clock that was put back
		addActivity(&a, control.Run{StartedAt: now, FirstTokenMS: 1}, 1) // in flight
		addActivity(&a, control.Run{StartedAt: now, EndedAt: now}, 1)    // it ended before it was read
		if sum(a.Read) != 0 || sum(a.Written) != 0 {
			t.Errorf("%d minutes have %v and %v", minutes, sum(a.Read), sum(a.Written))
		}
		half := run(a.From.Add(-time.Minute), 2*time.Minute)
		addActivity(&a, half, 1)
		if got := sum(a.Written); math.Abs(got-50) > 0.1 {
			t.Errorf("%d minutes have %v tokens of an answer that is half inside", minutes, got)
		}
	}
}

// What was read of a stopped run's prompt is known by what its model takes for a token.
func TestActivityHasWhatAStoppedRunRead(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 1, 0, time.UTC)
	start := now.Add(-9 * time.Second) // the last five intervals end a second after now
	stopped := control.Run{StartedAt: start, EndedAt: start.Add(8 * time.Second), LoadMS: 1000, QueueMS: 500,
		RestoreMS: 500, PrefillMS: 4500, TotalMS: 8000, PromptTokens: 5000, CachedTokens: 1000}
	short := stopped
	short.PromptTokens = 1080
	for _, x := range []struct {
		run     control.Run
		reading float64
		want    [5]float64
	}{
		{stopped, 10, [5]float64{0, 100, 100, 0, 0}},
		{short, 10, [5]float64{0, 20, 20, 0, 0}}, // its prompt has no more
		{stopped, 0, [5]float64{}},
	} {
		a := newActivity(now, 5*time.Minute)
		addActivity(&a, x.run, x.reading)
		for i, want := range x.want {
			if got := a.Read[145+i]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%d tokens, %v ms each: interval %d has %v, want %v", x.run.PromptTokens, x.reading, i, got, want)
			}
		}
	}
}

func TestActivityHasWhatAResumedRunWrote(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 1, 0, time.UTC)
	a := newActivity(now, 5*time.Minute)
	start := now.Add(-9 * time.Second)
	addActivity(&a, control.Run{StartedAt: start, EndedAt: start.Add(2 * time.Second), FirstTokenMS: 1, TotalMS: 2000,
		CompletionTokens: 1000, Rounds: 49, Accepted: 10, Resumes: 7}, 0)
	if got := 2 * (a.Written[145] + a.Written[146]); math.Abs(got-60) > 1e-9 {
		t.Errorf("it wrote %v tokens, want 60", got)
	}
}
