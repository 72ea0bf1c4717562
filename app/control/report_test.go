package control

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// Restoring counts once, and the phases add up to the total time. No phase is negative, even if
// clocks disagree.
func TestReportPhasesAddUp(t *testing.T) {
	for _, c := range []struct {
		name string
		run  Run
		want []float64
	}{
		{"all", Run{QueueMS: 1, LoadMS: 20, RestoreMS: 5, PrefillMS: 35, TotalMS: 100}, []float64{1, 20, 5, 30, 44}},
		{"nothing restored", Run{PrefillMS: 35, TotalMS: 100}, []float64{0, 0, 0, 35, 65}},
		{"ended while it waited", Run{QueueMS: 3, TotalMS: 3}, []float64{3, 0, 0, 0, 0}},
		{"failed before its first token", Run{QueueMS: 1, TotalMS: 8, FinishReason: FinishError}, []float64{1, 0, 0, 0, 0}},
		{"failed after it", Run{QueueMS: 1, TotalMS: 8, CompletionTokens: 2, FinishReason: FinishError}, []float64{1, 0, 0, 0, 7}},
		{"stopped while its prompt was read", Run{QueueMS: 1, PrefillMS: 6, TotalMS: 8, FinishReason: FinishCancel}, []float64{1, 0, 0, 6, 0}},
		{"stopped after it", Run{QueueMS: 1, PrefillMS: 6, TotalMS: 8, CompletionTokens: 2, FinishReason: FinishCancel}, []float64{1, 0, 0, 6, 1}},
		{"an empty answer", Run{QueueMS: 1, PrefillMS: 6, TotalMS: 8, FinishReason: "stop"}, []float64{1, 0, 0, 6, 1}},
		{"more than the whole", Run{PrefillMS: 12, TotalMS: 10}, []float64{0, 0, 0, 12, 0}},
	} {
		c.run.EndedAt = time.Unix(1, 0)
		r, err := NewReport(c.run)
		if err != nil || len(r.Phases) != len(c.want) {
			t.Fatalf("%s: %+v, %v", c.name, r.Phases, err)
		}
		for i, p := range r.Phases {
			if math.Abs(p.MS-c.want[i]) > 1e-9 {
				t.Errorf("%s: %s takes %v ms, want %v", c.name, p.Name, p.MS, c.want[i])
			}
		}
	}
}

func TestReportFactsAreWords(t *testing.T) {
	end := time.Unix(1, 0)
	for _, c := range []struct {
		name       string
		run        Run
		fact, text string // name and text of the fact; an empty text: the report lacks it
	}{
		{"an error", Run{EndedAt: end, FinishReason: FinishError, Error: "queue_full"}, "finish", "error: queue_full"},
		{"a refusal", Run{EndedAt: end, FinishReason: FinishError, Error: "invalid_request: n", Message: "n must be at least 1, not 0."}, "told", "n must be at least 1, not 0."},
		{"no refusal", Run{EndedAt: end, FinishReason: "stop"}, "told", ""},
		{"cut off", Run{EndedAt: end, FinishReason: FinishInterrupted}, "tokens", ""},
		{"left by its client", Run{EndedAt: end, FinishReason: FinishInterrupted, TotalMS: 5, CompletionTokens: 3}, "tokens", "prompt 0, completion 3"},
		{"in flight", Run{}, "finish", ""},
		{"prompt", Run{EndedAt: end, PromptTokens: 10, MatchedTokens: 8, CachedTokens: 6}, "prompt", "matched 8, restored 6, computed 4"},
		{"half of a prompt", Run{EndedAt: end, FinishReason: FinishCancel, PromptTokens: 10, MatchedTokens: 8, CachedTokens: 6}, "prompt", "matched 8, restored 6, not read to its end"},
		{"a long prompt", Run{EndedAt: end, PromptTokens: 2149, MatchedTokens: 2138, CachedTokens: 1138}, "prompt", "matched 2,138, restored 1,138, computed 1,011"},
		{"tokens of a long one", Run{EndedAt: end, PromptTokens: 2149, CompletionTokens: 1000}, "tokens", "prompt 2,149, completion 1,000"},
		{"refused: nothing was sampled", Run{EndedAt: end, FinishReason: FinishError, TotalMS: 1}, "seed", ""},
		{"refused: nothing was drafted", Run{EndedAt: end, FinishReason: FinishError, TotalMS: 1}, "drafter", ""},
		{"refused: nothing was read", Run{EndedAt: end, FinishReason: FinishError, TotalMS: 1}, "tokens", ""},
		{"failed while it answered", Run{EndedAt: end, FinishReason: FinishError, PromptTokens: 3, Seed: 7}, "seed", "7"},
		{"miss", Run{EndedAt: end, MissReason: "checkpoints are off"}, "cache", "checkpoints are off"},
		{"a thought", Run{EndedAt: end, PutBackThoughts: 1, PutBackTokens: 312}, "thoughts", "a thought of 312 tokens was put back, which the client had left out"},
		{"thoughts", Run{EndedAt: end, PutBackThoughts: 2, PutBackTokens: 1}, "thoughts", "2 thoughts of 1 token together were put back, which the client had left out"},
		{"tools left out", Run{EndedAt: end, LeftOut: "tools of Anthropic's servers: mcp_toolset"}, "left out", "tools of Anthropic's servers: mcp_toolset"},
		{"parting", Run{EndedAt: end, Divergence: json.RawMessage(`{"at":3,"kept":"a","given":"b"}`)}, "parts", `at token 3 from a cached text: that goes on with "a", this prompt with "b"`},
		{"new messages", Run{EndedAt: end, Divergence: json.RawMessage(`{"at":3,"kept":"a","given":"b","new":true}`)}, "parts", `at token 3 from a cached text: that goes on with "a", this prompt with "b"; nothing before the new messages differs`},
		{"drafts", Run{EndedAt: end, Drafted: 8, Accepted: 6, Rounds: 3, Verifies: 2}, "rounds", "3 forwards after the prompt's, 2 with drafts: 4.00 tokens per verify; 0 syncs"},
		{"a pace", Run{EndedAt: end, CompletionTokens: 11, FirstTokenMS: 500, TotalMS: 1000}, "tokens/s", "20.0 after the first"},
		{"none", Run{EndedAt: end, CompletionTokens: 1, FirstTokenMS: 500, TotalMS: 1000}, "tokens/s", ""},
		{"a verdict", Run{EndedAt: end, Verdict: json.RawMessage(`{"run":1,"tokens":3,"same":1,"answered":"x","now":"y"}`)}, "verified", `the first 1 of 3 tokens are the same; then the answer had "x", and now comes "y"`},
		{"none", Run{EndedAt: end}, "verified", ""},
	} {
		r, err := NewReport(c.run)
		got := ""
		for _, f := range r.Facts {
			if f.Name == c.fact {
				got = f.Text
			}
		}
		if err != nil || got != c.text {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.text)
		}
	}
	for _, bad := range []Run{{EndedAt: end, Divergence: json.RawMessage(`[]`)},
		{Speculation: json.RawMessage(`"x"`)}, {EndedAt: end, Verdict: json.RawMessage(`3`)}} {
		if _, err := NewReport(bad); err == nil || !strings.Contains(err.Error(), "run 0") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestReplayedWordTellsTheVerdict(t *testing.T) {
	for want, v := range map[string]Replayed{
		"same":    {Tokens: 2, Same: 2},
		"tie":     {Tokens: 2, Same: 1, Tie: true, Answered: "a", Now: "b"},
		"differs": {Tokens: 2, Same: 1},
	} {
		if got := v.Word(); got != want {
			t.Errorf("%+v: %s, want %s", v, got, want)
		}
	}
}
