package server

import (
	"cmp"
	"context"
	"time"

	"tandem/app/model"
	"tandem/engine"
)

// A reply is the answer to one generating request, whole or in chunks.
type reply struct {
	id      string
	created int64       // Unix seconds
	model   model.Model // nil until it is there, like release and the choices
	release func()      // of the model, before the client knows that it is answered: what it asks next may need the model idle
	run     *run
	params  *params
	form    form
	choices []*choice
}

// name is the model's, as the client has it until the model is there.
func (r *reply) name() string {
	if r.model == nil {
		return r.run.row.Model
	}
	return r.model.ID()
}

// send queues an event for a stream's client, which is cut if it is too far behind.
func (r *reply) send(out *eventStream, name string, data []byte) {
	if !out.sendEvent(name, data) {
		r.run.cancel(errSlowReader)
	}
}

// usage is OpenAI's.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`

	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`

	// Of a prediction those tokens count that were tried; all the drafters'
	// are in timings.
	CompletionTokensDetails struct {
		ReasoningTokens          int `json:"reasoning_tokens"`
		AcceptedPredictionTokens int `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func (r *reply) usage() usage {
	t := r.total()
	u := usage{PromptTokens: t.PromptTokens, CompletionTokens: t.CompletionTokens, TotalTokens: t.PromptTokens + t.CompletionTokens}
	u.PromptTokensDetails.CachedTokens = t.CachedTokens
	u.CompletionTokensDetails.ReasoningTokens = t.thoughts
	u.CompletionTokensDetails.AcceptedPredictionTokens = t.PredictionAccepted
	u.CompletionTokensDetails.RejectedPredictionTokens = t.PredictionRejected
	return u
}

// timings has llama.cpp's fields, then ours.
type timings struct {
	CacheN              int     `json:"cache_n"`
	PromptN             int     `json:"prompt_n"` // evaluated, so without cache_n
	PromptMS            float64 `json:"prompt_ms"`
	PromptPerTokenMS    float64 `json:"prompt_per_token_ms"`
	PromptPerSecond     float64 `json:"prompt_per_second"`
	PredictedN          int     `json:"predicted_n"`
	PredictedMS         float64 `json:"predicted_ms"` // first token until the last
	PredictedPerTokenMS float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond  float64 `json:"predicted_per_second"`
	DraftN              int     `json:"draft_n"`
	DraftNAccepted      int     `json:"draft_n_accepted"`

	Drafter         string  `json:"drafter"`           // that proposed, empty if none did
	NoDrafter       string  `json:"no_drafter"`        // why none did, or one no longer does
	Rounds          int     `json:"rounds"`            // forwards after the prompt's
	Verifies        int     `json:"verifies"`          // of these, with drafts
	TokensPerVerify float64 `json:"tokens_per_verify"` // that a round with drafts gave; the target's own counts where the text ended before it, too
	Syncs           int     `json:"syncs"`
	Repeats         int     `json:"repeats"` // tokens before the text looped, 0 if it did not
	QueueMS         float64 `json:"queue_ms"`
	FirstTokenMS    float64 `json:"first_token_ms"` // arrival in the engine until the first token
	DraftMS         float64 `json:"draft_ms"`       // of predicted_ms, until proposals were dispatched
	VerifyMS        float64 `json:"verify_ms"`      // and from there until their rounds were read
	RestoreMS       float64 `json:"restore_ms"`
	MatchedN        int     `json:"matched_n"`
	MissReason      string  `json:"miss_reason"`
	RunID           int64   `json:"run_id"`
	Stopped         bool    `json:"stopped,omitempty"` // by POST /app/runs/{id}/cancel; what had not ended has the finish_reason length
}

func (r *reply) timings() timings {
	t := r.total()
	out := timings{
		CacheN: t.CachedTokens, PromptN: t.PromptTokens - t.CachedTokens, PromptMS: ms(t.Prefill),
		PredictedN: t.CompletionTokens, PredictedMS: ms(t.Decode),
		DraftN: t.Drafted, DraftNAccepted: t.Accepted, Drafter: t.Drafter, NoDrafter: t.NoDrafter,
		Rounds: t.Rounds, Verifies: t.verifies, Syncs: t.Syncs, Repeats: t.Repeats, QueueMS: ms(t.Queue), FirstTokenMS: ms(t.FirstToken),
		DraftMS: ms(t.Draft), VerifyMS: ms(t.Verify),
		RestoreMS: ms(t.Restore), MatchedN: t.Matched, MissReason: t.Miss, RunID: r.run.row.ID,
		Stopped: context.Cause(r.run.ctx) == errRunCancelled,
	}
	if t.verifies > 0 {
		out.TokensPerVerify = 1 + float64(t.Accepted)/float64(t.verifies)
	}
	// Of a prompt that was not read to its end nobody knows how many tokens took that long.
	if read := !out.Stopped || t.FirstToken > 0; read && out.PromptN > 0 && t.Prefill > 0 {
		out.PromptPerTokenMS = out.PromptMS / float64(out.PromptN)
		out.PromptPerSecond = float64(out.PromptN) / t.Prefill.Seconds()
	}
	// Decode spans the gaps between tokens: one less than there are tokens,
	// in every choice. It is what the clock says, with the time that a process was
	// stopped: the client waited for it. What Now tells leaves such a gap out, see
	// pace. While a machine sleeps the clock stands still.
	if gaps := t.CompletionTokens - t.Given - len(r.choices); gaps > 0 && t.Decode > 0 {
		out.PredictedPerTokenMS = out.PredictedMS / float64(gaps)
		out.PredictedPerSecond = float64(gaps) / t.Decode.Seconds()
	}
	return out
}

// ms is d in milliseconds, with microseconds behind the point.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A total is the sum of a reply's choices.
type total struct {
	engine.Stats
	verifies int // rounds with drafts
	thoughts int // of CompletionTokens, those of reasoning
}

// total adds the choices up as control.Run says: counts are sums, a shared
// prompt counts once, durations are the longest, and the place where the text
// loops is the first choice's.
func (r *reply) total() total {
	t := total{Stats: engine.Stats{PromptTokens: countPrompts(r.choices)}}
	var last *prompt
	for i, c := range r.choices {
		st := c.stats
		if i == 0 {
			t.Seed, t.Finish = st.Seed, st.Finish
			t.Repeats = st.Repeats
		}
		if c.prompt != last {
			t.CachedTokens += st.CachedTokens
			t.Matched += st.Matched
			t.Miss = cmp.Or(t.Miss, st.Miss)
			last = c.prompt
		}
		t.CompletionTokens += st.CompletionTokens
		t.thoughts += c.thought.tokens
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
		t.Total = max(t.Total, st.Total)
		t.PeakBytes = max(t.PeakBytes, st.PeakBytes)
	}
	return t
}
