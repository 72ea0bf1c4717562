package history

import (
	"encoding/json"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/engine"
)

func TestInsightsNameWhatCostMost(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 9, 0, s, 0, time.UTC) }
	const tooLong = "context_length_exceeded: prompt"
	long := "This model's maximum context length is 8192 tokens. However, you requested 9031 tokens in the prompt. Please reduce the length of the prompt."
	for _, x := range []struct {
		name string
		runs []control.Run // the newest first
		want []control.Insight
	}{
		{"nothing", nil, nil},
		{"a queue", []control.Run{
			{ID: 2, Client: "a", QueueMS: 1_500, StartedAt: at(5), EndedAt: at(9)},
			{ID: 1, Client: "a", QueueMS: 1_500, StartedAt: at(0), EndedAt: at(4)},
		}, []control.Insight{{Kind: control.SlowQueued, CostMS: 3_000, Runs: 2, Latest: 2, Client: "a"}}},
		{"answers without drafts", []control.Run{
			{ID: 4, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: "off"},
			{ID: 3, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 4_001, EndedAt: at(9), NoDrafter: "off"},
			{ID: 2, Model: "m", CompletionTokens: 101, Rounds: 50, Accepted: 50, FirstTokenMS: 1, TotalMS: 1_001, EndedAt: at(9), Verifies: 50},
			{ID: 1, Model: "other", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 9_001, EndedAt: at(9), NoDrafter: "off"},
		}, []control.Insight{{Kind: control.SlowPlain, CostMS: 5_000, Runs: 2, Latest: 4, Models: []string{"m"}, Why: "off"}}},
		{"answers where plain decoding was right", []control.Run{
			{ID: 5, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: engine.PlainFaster},
			{ID: 4, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: engine.PlainFaster},
			{ID: 3, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: engine.PlainNoGuess},
			{ID: 2, Model: "m", CompletionTokens: 101, Rounds: 100, FirstTokenMS: 1, TotalMS: 3_001, EndedAt: at(9), NoDrafter: engine.PlainNoGuess},
			{ID: 1, Model: "m", CompletionTokens: 101, Rounds: 50, Accepted: 50, FirstTokenMS: 1, TotalMS: 1_001, EndedAt: at(9), Verifies: 50},
		}, nil},
		{"runs that were stopped before their first token", []control.Run{
			{ID: 3, Model: "m", TotalMS: 9_000, EndedAt: at(9), NoDrafter: "off", FinishReason: control.FinishCancel},
			{ID: 2, Model: "m", TotalMS: 9_000, EndedAt: at(9), NoDrafter: "off", FinishReason: control.FinishCancel},
			{ID: 1, Model: "m", CompletionTokens: 2, Rounds: 1, FirstTokenMS: 1, TotalMS: 5_001, EndedAt: at(9), Verifies: 1},
		}, nil},
		{"a short queue", []control.Run{{ID: 1, Client: "a", QueueMS: 1_500}}, nil},
		{"a long prompt", []control.Run{
			{ID: 2, Client: "a", Model: "m", FinishReason: control.FinishError, Error: tooLong, Message: long, PromptTokens: 9031},
			{ID: 1, Client: "a", Model: "m", FinishReason: control.FinishError, Error: tooLong, Message: long, PromptTokens: 9500},
		}, []control.Insight{{Kind: control.SlowTooLong, Runs: 2, Latest: 2, Client: "a", Models: []string{"m"}, Tokens: 9500}}},
		{"a long prompt of other words", []control.Run{
			{ID: 1, Client: "a", Model: "m", FinishReason: control.FinishError, Error: "context_length_exceeded", Message: "Too long."},
		}, []control.Insight{{Kind: control.SlowTooLong, Runs: 1, Latest: 1, Client: "a", Models: []string{"m"}}}},
		{"another failure", []control.Run{
			{ID: 1, Client: "a", Model: "m", FinishReason: control.FinishError, Error: "invalid_request", Message: long},
		}, nil},
		{"the dearest three", []control.Run{
			{ID: 5, Client: "e", EndedAt: at(0), FinishReason: control.FinishError, Error: tooLong, Message: long},
			{ID: 4, Client: "d", Model: "d", QueueMS: 4_000}, {ID: 3, Client: "c", Model: "c", QueueMS: 6_000},
			{ID: 2, Client: "b", Model: "b", QueueMS: 5_000}, {ID: 1, Client: "a", Model: "a", QueueMS: 3_000},
		}, []control.Insight{
			{Kind: control.SlowQueued, CostMS: 6_000, Runs: 1, Latest: 3, Client: "c"},
			{Kind: control.SlowQueued, CostMS: 5_000, Runs: 1, Latest: 2, Client: "b"},
			{Kind: control.SlowQueued, CostMS: 4_000, Runs: 1, Latest: 4, Client: "d"},
		}},
	} {
		wantInsights(t, x.name, insights(x.runs, at(0)), x.want)
	}
}

func wantInsights(t *testing.T, name string, got, want []control.Insight) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if got, want := mustJSON(t, got), mustJSON(t, want); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func mustJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
