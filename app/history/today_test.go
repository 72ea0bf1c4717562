package history

import (
	"math"
	"slices"
	"testing"
	"time"

	"tandem/app/control"
)

func TestTodaySumsUpWhatWasSaved(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	runs := []control.Run{
		// It reads 1,000 tokens in 2 s, and writes 101 tokens by 100 plain rounds in 5 s.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 1000, PrefillMS: 2000, FirstTokenMS: 2000,
			TotalMS: 7000, CompletionTokens: 101, Rounds: 100, FinishReason: "stop"},
		// It restores 900 of 1,000 tokens in 100 ms and reads the rest in 200, and writes 101 tokens by
		// 50 verifies in 3 s.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 1000, CachedTokens: 900, RestoreMS: 100,
			PrefillMS: 300, FirstTokenMS: 300, TotalMS: 3300, CompletionTokens: 101, Rounds: 50, Verifies: 50,
			Accepted: 50, FinishReason: "length"},
		// Its answer loops from the tenth token on, so drafts had nothing to guess.
		{Model: "m", StartedAt: at, EndedAt: at, FirstTokenMS: 1, TotalMS: 1001, CompletionTokens: 501, Rounds: 50,
			Verifies: 50, Accepted: 450, Repeats: 10, FinishReason: "length"},
		// Its rounds of 20 ms are cheaper than the plain ones of the first run.
		{Model: "m", StartedAt: at, EndedAt: at, FirstTokenMS: 1, TotalMS: 1001, CompletionTokens: 101, Rounds: 50,
			Verifies: 50, Accepted: 50, FinishReason: "length"},
		// It restores all of a long prompt, which takes long and reads nothing.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 1000, CachedTokens: 999, RestoreMS: 998,
			PrefillMS: 1000, FirstTokenMS: 1000, TotalMS: 1000, CompletionTokens: 1, FinishReason: "length"},
		// An earlier run wrote 900 tokens of its answer.
		{Model: "m", StartedAt: at, EndedAt: at, FirstTokenMS: 1, TotalMS: 1001, CompletionTokens: 1000,
			Rounds: 99, Resumes: 1, FinishReason: "stop"},
		// It wrote ten answers at once.
		{Model: "m", StartedAt: at, EndedAt: at, FirstTokenMS: 1, TotalMS: 1001, CompletionTokens: 1000,
			Rounds: 990, FinishReason: "stop"},
		// It was stopped while it read.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 9000, PrefillMS: 100, TotalMS: 100,
			FinishReason: control.FinishCancel},
		{Model: "m", StartedAt: at, EndedAt: at, FinishReason: control.FinishError},
		{Model: "m", StartedAt: at, EndedAt: at, FinishReason: control.FinishInterrupted},
		{Model: "m", StartedAt: at, EndedAt: at, FinishReason: control.FinishCancel},
		{Model: "other", StartedAt: at}, // in flight
	}
	got := today(slices.Clone(runs))
	want := control.Today{Requests: 12, Failed: 2, Stopped: 2, PromptTokens: 12000, RestoredTokens: 1899,
		PerSecond: (100./3 + 100) / 2, CheckpointsMS: 1899*2 - 1098, DraftsMS: 100*50 - 3000 + 100*20 - 1000}
	if math.Abs(got.PerSecond-want.PerSecond) > 1e-9 || math.Abs(got.CheckpointsMS-want.CheckpointsMS) > 1e-6 {
		t.Errorf("%+v, want %+v", got, want)
	}
	got.PerSecond, got.CheckpointsMS = want.PerSecond, want.CheckpointsMS
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if empty := today(nil); empty != (control.Today{}) {
		t.Errorf("no requests: %+v", empty)
	}
}
