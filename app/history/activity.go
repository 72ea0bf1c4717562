package history

import (
	"context"
	"time"

	"tandem/app/control"
)

// longestRun is how long a run takes at most, as far as it counts here. It bounds how far back runs
// are looked at that ended in the time.
const longestRun = time.Hour

// Activity tells what was read and written in the last minutes. It implements server.Runs.
func (h *History) Activity(ctx context.Context, minutes int, active []control.Active) (control.Activity, error) {
	now := h.now()
	a := newActivity(now, time.Duration(minutes)*time.Minute)
	var runs []control.Run
	err := h.db.Runs.Since(ctx, a.From.Add(-longestRun),
		func(r control.Run) {
			r.Message, r.Divergence = "", nil // a day may have many runs
			runs = append(runs, r)
		})
	reading, ended := readingMS(runs), map[int64]bool{}
	for _, r := range runs {
		addActivity(&a, r, reading[r.Model])
		ended[r.ID] = !r.EndedAt.IsZero()
	}
	for _, r := range active {
		if !ended[r.RunID] {
			addActive(&a, r, now)
		}
	}
	return a, err
}

// newActivity returns intervals up to now without any tokens. There are 150 to 300 of them.
func newActivity(now time.Time, length time.Duration) control.Activity {
	step := 2 * time.Second
	switch {
	case length > 2*time.Hour:
		step = 5 * time.Minute
	case length > 10*time.Minute:
		step = 15 * time.Second
	}
	// Intervals begin at whole multiples of their length, so that a bar does not change as time goes
	// on.
	end := now.Truncate(step).Add(step)
	n := int(length / step)
	return control.Activity{From: end.Add(-time.Duration(n) * step), Seconds: int(step / time.Second),
		Read: make([]float64, n), Written: make([]float64, n)}
}

// addActivity adds the tokens of a run that has ended, spread over the time in which they were read
// and written. reading is what its model takes to read a token, 0 if that is not known.
func addActivity(a *control.Activity, r control.Run, reading float64) {
	if r.EndedAt.IsZero() {
		return
	}
	read := max(0, float64(r.PromptTokens-r.CachedTokens))
	if r.FirstTokenMS <= 0 { // it was stopped, and its row has the whole prompt
		if reading > 0 {
			begin := taken(&r).Add(milliseconds(r.RestoreMS))
			spread(a, a.Read, min(read, readMS(r)/reading), begin, begin.Add(milliseconds(readMS(r))))
		}
		return
	}
	first := r.StartedAt.Add(milliseconds(r.FirstTokenMS))
	spread(a, a.Read, read, first.Add(-milliseconds(readMS(r))), first)
	written := r.CompletionTokens
	if r.Resumes > 0 { // an earlier run wrote the beginning
		written = min(written, 1+r.Rounds+r.Accepted)
	}
	spread(a, a.Written, float64(written), first, r.StartedAt.Add(milliseconds(r.TotalMS)))
}

// addActive adds what a run in flight has read and written so far.
func addActive(a *control.Activity, r control.Active, now time.Time) {
	if r.ReadingSince.IsZero() {
		return
	}
	end := now
	if !r.WritingSince.IsZero() {
		end = r.WritingSince
		spread(a, a.Written, float64(r.CompletionTokens), end, now)
	}
	done, _ := r.Reading()
	spread(a, a.Read, float64(done), r.ReadingSince, end)
}

// spread adds tokens evenly from begin to end, in tokens a second.
func spread(a *control.Activity, to []float64, tokens float64, begin, end time.Time) {
	step := time.Duration(a.Seconds) * time.Second
	length := max(end.Sub(begin), time.Millisecond)
	for i := max(0, int(begin.Sub(a.From)/step)); i < len(to); i++ {
		from := a.From.Add(time.Duration(i) * step)
		if !from.Before(begin.Add(length)) {
			return
		}
		part := later(from, begin)
		share := earlier(from.Add(step), begin.Add(length)).Sub(part)
		if share > 0 {
			to[i] += tokens * float64(share) / float64(length) / float64(a.Seconds)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
