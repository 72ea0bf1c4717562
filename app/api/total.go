package api

import (
	"cmp"
	"strings"

	"tandem/app/control"
	"tandem/engine"
)

// A total is the sum of a reply's choices. total_test.go fails for a figure of engine.Stats that
// Total leaves out, and for a column of the history that keep leaves out.
type total struct {
	engine.Stats
	verifies int // rounds with drafts
	Thoughts int // tokens of reasoning, out of CompletionTokens
	putBack  putBack
	LeftOut  string // see Conversation.LeftOut
}

// Total adds the choices up as control.Run says. Counts are sums, and a shared prompt counts once.
// Durations are the longest. The place where the text loops is the first choice's.
func (r *Reply) Total() total {
	t := total{Stats: engine.Stats{PromptTokens: countPrompts(r.Choices)}}
	var last *Prompt
	for i, c := range r.Choices {
		st := c.Stats
		if i == 0 {
			t.Seed, t.Finish = st.Seed, st.Finish
			t.Repeats = st.Repeats
		}
		if c.Prompt != last {
			t.CachedTokens += st.CachedTokens
			t.Matched += st.Matched
			t.Miss = cmp.Or(t.Miss, st.Miss)
			if talk := c.Prompt.conversation; talk != nil {
				t.putBack.Thoughts += talk.putBack.Thoughts
				t.putBack.Tokens += talk.putBack.Tokens
				t.LeftOut = cmp.Or(t.LeftOut, strings.Join(talk.LeftOut, "; "))
			}
			last = c.Prompt
		}
		t.CompletionTokens += st.CompletionTokens
		t.Thoughts += c.thought.tokens
		t.Given += st.Given
		t.Drafted += st.Drafted
		t.Accepted += st.Accepted
		t.PredictionAccepted += st.PredictionAccepted
		t.PredictionRejected += st.PredictionRejected
		for _, n := range st.Depths {
			if n > 0 {
				t.verifies++
			}
		}
		t.Drafter = cmp.Or(t.Drafter, st.Drafter)
		t.NoDrafter = cmp.Or(t.NoDrafter, st.NoDrafter)
		t.Rounds += st.Rounds
		t.Syncs += st.Syncs
		t.Restore = max(t.Restore, st.Restore)
		t.Queue = max(t.Queue, st.Queue)
		t.Prefill = max(t.Prefill, st.Prefill)
		t.FirstToken = max(t.FirstToken, st.FirstToken)
		t.Decode = max(t.Decode, st.Decode)
		t.Draft = max(t.Draft, st.Draft)
		t.Verify = max(t.Verify, st.Verify)
		t.Beside = max(t.Beside, st.Beside)
		t.Total = max(t.Total, st.Total)
		t.PeakBytes = max(t.PeakBytes, st.PeakBytes)
		t.KVExact += st.KVExact
		t.KVWindow += st.KVWindow
		t.KVRestored += st.KVRestored
	}
	return t
}

// keep writes the figures into the row of a run.
func (t *total) keep(row *control.Run) {
	row.PromptTokens, row.CachedTokens = t.PromptTokens, t.CachedTokens
	row.CompletionTokens = t.CompletionTokens
	row.Drafter, row.NoDrafter = t.Drafter, t.NoDrafter
	row.Drafted, row.Accepted, row.Rounds, row.Syncs = t.Drafted, t.Accepted, t.Rounds, t.Syncs
	row.Verifies, row.Repeats = t.verifies, t.Repeats
	row.PredictionAccepted, row.PredictionRejected = t.PredictionAccepted, t.PredictionRejected
	row.QueueMS, row.RestoreMS, row.PrefillMS = ms(t.Queue), ms(t.Restore), ms(t.Prefill)
	row.MissReason, row.MatchedTokens = t.Miss, t.Matched
	row.DraftMS, row.VerifyMS = ms(t.Draft), ms(t.Verify)
	row.PeakBytes, row.Seed = t.PeakBytes, int64(t.Seed)
	row.PutBackThoughts, row.PutBackTokens = t.putBack.Thoughts, t.putBack.Tokens
	row.LeftOut, row.BesideMS = t.LeftOut, ms(t.Beside)
	row.KVExactBytes, row.KVOwnBytes, row.KVRestoredBytes = t.KVExact, t.KVWindow, t.KVRestored
}
