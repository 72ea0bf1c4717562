package history

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"tandem/app/control"
)

// parted returns where a prompt parts from an earlier one.
func parted(at int, answer bool) json.RawMessage {
	text, err := json.Marshal(control.Parted{At: at, Kept: "4", Given: "5", Answer: answer})
	if err != nil {
		panic(err)
	}
	return text
}

func TestInsightsNameWhatCostMost(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 9, 0, s, 0, time.UTC) }
	long := "This model's maximum context length is 8192 tokens. However, you requested 9031 tokens in the prompt. Please reduce the length of the prompt."
	for _, x := range []struct {
		name string
		runs []control.Run // the newest first
		want []control.Insight
	}{
		{"nothing", nil, nil},
		{"a client that changes its prompts", []control.Run{
			{ID: 3, Client: "claude", Model: "m", PrefillMS: 40_000, Parted: parted(20, false)},
			{ID: 2, Client: "zed", Model: "m", PrefillMS: 50_000, Parted: parted(20, false)},
			{ID: 1, Client: "claude", Model: "m", PrefillMS: 7_000, Parted: parted(20, false)},
		}, []control.Insight{{Kind: control.SlowChanged, CostMS: 47_000, Runs: 2, Latest: 3, Client: "claude",
			Models: []string{"m"}, Parted: &control.Parted{At: 20, Kept: "4", Given: "5"}}}},
		{"an edited answer is no habit", []control.Run{
			{ID: 2, Client: "a", PrefillMS: 9_000, Parted: parted(20, true)},
			{ID: 1, Client: "a", PrefillMS: 9_000, Parted: parted(20, true)},
		}, nil},
		{"two new chats", []control.Run{
			{ID: 2, Client: "a", PrefillMS: 9_000, Parted: json.RawMessage(`{"at":20,"new":true}`)},
			{ID: 1, Client: "a", PrefillMS: 9_000, Parted: json.RawMessage(`{"at":20,"new":true}`)},
		}, nil},
		{"other places", []control.Run{
			{ID: 2, Client: "a", PrefillMS: 9_000, Parted: parted(20, false)},
			{ID: 1, Client: "a", PrefillMS: 9_000, Parted: parted(21, false)},
		}, nil},
		{"two models in turn", []control.Run{
			{ID: 3, Model: "b", LoadMS: 3_000}, {ID: 2, Model: "a", LoadMS: 4_000}, {ID: 1, Model: "b", LoadMS: 3_000},
		}, []control.Insight{{Kind: control.SlowSwapped, CostMS: 10_000, Runs: 3, Latest: 3, Models: []string{"a", "b"}}}},
		{"each model once", []control.Run{{ID: 2, Model: "b", LoadMS: 3_000}, {ID: 1, Model: "a", LoadMS: 4_000}}, nil},
		{"one model again", []control.Run{{ID: 2, Model: "b", LoadMS: 3_000}, {ID: 1, Model: "b", LoadMS: 4_000}}, nil},
		{"a queue", []control.Run{{ID: 2, Client: "a", QueueMS: 1_500}, {ID: 1, Client: "a", QueueMS: 1_500}},
			[]control.Insight{{Kind: control.SlowQueued, CostMS: 3_000, Runs: 2, Latest: 2, Client: "a"}}},
		{"a queue behind another client", []control.Run{
			{ID: 4, Client: "a", QueueMS: 3_000, StartedAt: at(10), EndedAt: at(20)},
			{ID: 3, Client: "zed", Model: "other", StartedAt: at(0), EndedAt: at(60)},
			{ID: 2, Client: "b", StartedAt: at(5), EndedAt: at(12)},
			{ID: 1, Client: "c", StartedAt: at(5), EndedAt: at(11)},
		}, []control.Insight{{Kind: control.SlowQueued, CostMS: 3_000, Runs: 1, Latest: 4, Client: "a", Behind: "b"}}},
		{"answers without drafts", []control.Run{
			{ID: 4, Model: "m", CompletionTokens: 101, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: "off"},
			{ID: 3, Model: "m", CompletionTokens: 101, FirstTokenMS: 1, TotalMS: 4_001, EndedAt: at(9), NoDrafter: "off"},
			{ID: 2, Model: "m", CompletionTokens: 101, FirstTokenMS: 1, TotalMS: 1_001, EndedAt: at(9), Verifies: 9},
			{ID: 1, Model: "other", CompletionTokens: 101, FirstTokenMS: 1, TotalMS: 9_001, EndedAt: at(9), NoDrafter: "off"},
		}, []control.Insight{{Kind: control.SlowPlain, CostMS: 5_000, Runs: 2, Latest: 4, Models: []string{"m"}, Why: "off"}}},
		{"a short queue", []control.Run{{ID: 1, Client: "a", QueueMS: 1_500}}, nil},
		{"a long prompt", []control.Run{
			{ID: 2, Client: "a", Model: "m", FinishReason: control.FinishError, Message: long, PromptTokens: 9031},
			{ID: 1, Client: "a", Model: "m", FinishReason: control.FinishError, Message: long, PromptTokens: 9500},
		}, []control.Insight{{Kind: control.SlowTooLong, Runs: 2, Latest: 2, Client: "a", Models: []string{"m"}, Tokens: 9500}}},
		{"a long prompt that was not counted", []control.Run{{ID: 1, Client: "a", Model: "m", FinishReason: control.FinishError, Message: long}},
			[]control.Insight{{Kind: control.SlowTooLong, Runs: 1, Latest: 1, Client: "a", Models: []string{"m"}, Tokens: 9031}}},
		{"the dearest three", []control.Run{
			{ID: 5, Client: "e", FinishReason: control.FinishError, Message: long},
			{ID: 4, Client: "d", QueueMS: 4_000}, {ID: 3, Client: "c", QueueMS: 6_000},
			{ID: 2, Client: "b", QueueMS: 5_000}, {ID: 1, Client: "a", QueueMS: 3_000},
		}, []control.Insight{
			{Kind: control.SlowQueued, CostMS: 6_000, Runs: 1, Latest: 3, Client: "c"},
			{Kind: control.SlowQueued, CostMS: 5_000, Runs: 1, Latest: 2, Client: "b"},
			{Kind: control.SlowQueued, CostMS: 4_000, Runs: 1, Latest: 4, Client: "d"},
		}},
	} {
		got, want := mustJSON(t, insights(x.runs)), mustJSON(t, x.want)
		if len(x.want) == 0 && got == "[]" {
			continue
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", x.name, got, want)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTodaySumsUpWhatWasSaved(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	runs := []control.Run{
		// It reads 1,000 tokens in 2 s, and writes 101 tokens by 100 plain rounds in 5 s.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 1000, PrefillMS: 2000, FirstTokenMS: 2000,
			TotalMS: 7000, CompletionTokens: 101, Rounds: 100, FinishReason: "stop"},
		// It restores 900 of 1,000 tokens in 100 ms, and writes 101 tokens by 50 verifies in 3 s.
		{Model: "m", StartedAt: at, EndedAt: at, PromptTokens: 1000, CachedTokens: 900, RestoreMS: 100,
			PrefillMS: 200, FirstTokenMS: 300, TotalMS: 3300, CompletionTokens: 101, Rounds: 50, Verifies: 50,
			FinishReason: "length"},
		{Model: "m", StartedAt: at, EndedAt: at, FinishReason: control.FinishError},
		{Model: "m", StartedAt: at, EndedAt: at, FinishReason: control.FinishCancel},
		{Model: "other", StartedAt: at}, // in flight
	}
	got := today(slices.Clone(runs))
	want := control.Today{Requests: 5, Failed: 1, Stopped: 1, PromptTokens: 2000, RestoredTokens: 900,
		PerSecond: (20. + 100./3) / 2, CheckpointsMS: 900*2 - 100, DraftsMS: 100*50 - 3000}
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
