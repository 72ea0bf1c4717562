package history

import (
	"tandem/app/control"
	"tandem/app/figures"
)

// minRounds are the plain rounds that tell what a step takes.
const minRounds = 4

// today sums up runs.
func today(runs []control.Run) (t control.Today) {
	var speeds []float64
	reading, steps := readingMS(runs), stepMS(runs)
	for _, r := range runs {
		t.Requests++
		switch r.FinishReason {
		case control.FinishError, control.FinishInterrupted: // as the list of failed runs has them
			t.Failed++
		case control.FinishCancel:
			t.Stopped++
		}
		t.PromptTokens += r.PromptTokens
		t.RestoredTokens += r.CachedTokens
		t.CheckpointsMS += reading[r.Model]*float64(r.CachedTokens) - r.RestoreMS
		ms := writingMS(r)
		if ms <= 0 || r.CompletionTokens < 2 || !single(r) {
			continue
		}
		speeds = append(speeds, 1000*float64(r.CompletionTokens-1)/ms)
		if step := steps[r.Model]; step > 0 && r.Verifies > 0 && r.Repeats == 0 {
			// A step is no dearer than a block of the same run, even if other runs were slow.
			step = min(step, ms/float64(r.Rounds))
			t.DraftsMS += step*float64(r.CompletionTokens-1) - ms
		}
	}
	t.CheckpointsMS, t.DraftsMS = max(0, t.CheckpointsMS), max(0, t.DraftsMS)
	t.PerSecond = figures.Median(speeds)
	return t
}

// single reports whether the rounds of a run wrote all of one answer after its first token. An
// earlier run wrote the beginning of a resumed answer, and several choices are written at once.
func single(r control.Run) bool {
	return r.CompletionTokens-1 <= r.Rounds+r.Accepted
}

// writingMS returns the time from a run's first token to its end, or 0.
func writingMS(r control.Run) float64 {
	if r.FirstTokenMS <= 0 || r.EndedAt.IsZero() {
		return 0
	}
	return max(0, r.TotalMS-r.FirstTokenMS)
}

// readMS returns what a run took to read what was not restored of its prompt. The engine counts
// restoring as a part of the prefill.
func readMS(r control.Run) float64 { return max(0, r.PrefillMS-r.RestoreMS) }

// readingMS returns what each model takes for a token of a prompt, by the runs that read one to its
// end. A resumed run reads the answer so far as well, which its prompt does not count.
func readingMS(runs []control.Run) map[string]float64 {
	ms, tokens := map[string]float64{}, map[string]float64{}
	for _, r := range runs {
		n := r.PromptTokens - r.CachedTokens
		if n > 0 && readMS(r) > 0 && r.FirstTokenMS > 0 && r.Resumes == 0 {
			ms[r.Model] += readMS(r)
			tokens[r.Model] += float64(n)
		}
	}
	for model, n := range tokens {
		ms[model] /= n
	}
	return ms
}

// stepMS returns what each model takes for a round without drafts, by the runs that have some.
func stepMS(runs []control.Run) map[string]float64 {
	steps := map[string][]float64{}
	for _, r := range runs {
		if n := r.Rounds - r.Verifies; n >= minRounds && single(r) {
			if ms := writingMS(r) - r.DraftMS - r.VerifyMS; ms > 0 {
				steps[r.Model] = append(steps[r.Model], ms/float64(n))
			}
		}
	}
	out := map[string]float64{}
	for model, list := range steps {
		out[model] = figures.Median(list)
	}
	return out
}
