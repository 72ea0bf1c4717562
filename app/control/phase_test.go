package control

import (
	"encoding/json"
	"testing"
	"time"
)

// A run that ended well is named by its longest phase, as in the window; another one by how it ended.
func TestMostlyIsTheLongestPhase(t *testing.T) {
	parted := json.RawMessage(`{"at": 20, "run": 7}`)
	long := func(change func(*Run)) Run {
		r := Run{ID: 9, Client: "claude-cli/2", EndedAt: time.Unix(1, 0), FinishReason: "stop", PromptTokens: 2741,
			CachedTokens: 20, CompletionTokens: 60, PrefillMS: 47_000, FirstTokenMS: 47_000, TotalMS: 53_000}
		change(&r)
		return r
	}
	for _, c := range []struct {
		want string
		run  Run
	}{
		{"reading", long(func(*Run) {})},
		{"re-reading", long(func(r *Run) { r.Divergence = parted })},
		{"reading", long(func(r *Run) { r.Divergence, r.Client = parted, "curl/8" })}, // run 7 is another program's
		{"reading", long(func(r *Run) { r.Divergence, r.CachedTokens = parted, 2000 })},
		{"reading", long(func(r *Run) { r.Divergence = json.RawMessage(`{"at": 20, "new": true}`) })},
		{"reading", long(func(r *Run) { r.Divergence = json.RawMessage(`[`) })},
		{"writing", long(func(r *Run) { r.PrefillMS = 400 })},
		{"waiting", long(func(r *Run) { r.PrefillMS, r.QueueMS = 1000, 50_000 })},
		{"loading", long(func(r *Run) { r.PrefillMS, r.LoadMS = 1000, 50_000 })},
		{"restoring", long(func(r *Run) { r.RestoreMS = 46_000 })},
		{"running", long(func(r *Run) { r.EndedAt = time.Time{} })},
		{"failed", long(func(r *Run) { r.FinishReason = FinishError })},
		{"stopped", long(func(r *Run) { r.FinishReason = FinishCancel })},
		{"interrupted", long(func(r *Run) { r.FinishReason = FinishInterrupted })},
	} {
		if got := Mostly(c.run, []Run{{ID: 7, Client: "claude-cli/1"}}); got != c.want {
			t.Errorf("%+v was mostly %s, want %s", c.run, got, c.want)
		}
	}
}

func TestDurationsAreThoseOfTheWindow(t *testing.T) {
	for ms, want := range map[float64]string{0: "0 ms", 850: "850 ms", 2600: "2.6 s", 47_000: "47 s", 89_000: "89 s",
		100_000: "2 min", 5_300_000: "88 min", 5_460_000: "1 h 31 min"} {
		if got := Duration(ms); got != want {
			t.Errorf("%g ms is %q, want %q", ms, got, want)
		}
	}
}
