package api

import (
	"cmp"
	"context"
	"math"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// A Reply is the answer to one generating request, whole or in chunks.
type Reply struct {
	ID      string
	Created int64       // Unix seconds
	Model   model.Model // nil until it is in memory; then the choices come too
	Release func()      // of the model; called before the client gets the end of the answer
	Run     *Run
	Params  *Params
	format  ReplyFormat
	Choices []*Choice

	question Question          // the request that is answered
	body     []byte            // of the request, to resume it
	reserved *wire.Reservation // of the body's bytes
	made     []*Choice         // what free closes: Choices, or those that were made before an error
}

// Name returns the model's id, or the client's name for it until the model is in memory.
func (r *Reply) Name() string {
	if r.Model == nil {
		return cmp.Or(r.Run.Row.Model, control.Alias)
	}
	return r.Model.ID()
}

// Send queues an event for a stream's client. A client that is too far behind loses its connection.
func (r *Reply) Send(out *wire.EventStream, name string, data []byte) {
	if !out.SendEvent(name, data) {
		r.Run.cancel(wire.ErrSlowReader)
	}
}

// Usage has OpenAI's fields.
type Usage struct {
	_                struct{} `schema:"Usage"`
	PromptTokens     int      `json:"prompt_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	TotalTokens      int      `json:"total_tokens"`

	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens" doc:"Reused, not computed again."`
	} `json:"prompt_tokens_details"`

	// Only the tokens of a prediction that were tried count here. All drafters' tokens are in
	// timings.
	CompletionTokensDetails struct {
		ReasoningTokens          int `json:"reasoning_tokens"`
		AcceptedPredictionTokens int `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func (r *Reply) Usage() Usage {
	t := r.Total()
	u := Usage{PromptTokens: t.PromptTokens, CompletionTokens: t.CompletionTokens,
		TotalTokens: t.PromptTokens + t.CompletionTokens}
	u.PromptTokensDetails.CachedTokens = t.CachedTokens
	u.CompletionTokensDetails.ReasoningTokens = t.Thoughts
	u.CompletionTokensDetails.AcceptedPredictionTokens = t.PredictionAccepted
	u.CompletionTokensDetails.RejectedPredictionTokens = t.PredictionRejected
	return u
}

// Timings has llama.cpp's fields, then ours.
type Timings struct {
	_ struct{} `schema:"Timings" doc:"llama.cpp's, then ours."`

	CacheN              int     `json:"cache_n"`
	PromptN             int     `json:"prompt_n"` // evaluated, so without cache_n
	PromptMS            float64 `json:"prompt_ms"`
	PromptPerTokenMS    float64 `json:"prompt_per_token_ms"`
	PromptPerSecond     float64 `json:"prompt_per_second"`
	PredictedN          int     `json:"predicted_n"`
	PredictedMS         float64 `json:"predicted_ms"` // from the first token until the last
	PredictedPerTokenMS float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond  float64 `json:"predicted_per_second"`
	DraftN              int     `json:"draft_n"`
	DraftNAccepted      int     `json:"draft_n_accepted"`

	Drafter         string  `json:"drafter"` // whose drafts were tried; empty for none
	NoDrafter       string  `json:"no_drafter" doc:"Why none drafted, or one did not."`
	Rounds          int     `json:"rounds"`            // forward passes after the prompt's
	Verifies        int     `json:"verifies"`          // rounds with drafts
	TokensPerVerify float64 `json:"tokens_per_verify"` // that a round with drafts gave; counts the target's own even if the text ended before it
	Syncs           int     `json:"syncs"`             // blocking MLX calls after the prefill
	Repeats         int     `json:"repeats"`           // index of the token from which the text loops, 0 if it does not
	QueueMS         float64 `json:"queue_ms"`
	LoadMS          float64 `json:"load_ms,omitempty" doc:"Milliseconds until the model was in memory, left out below 1."`
	FirstTokenMS    float64 `json:"first_token_ms"` // from arrival in the engine until the first token
	DraftMS         float64 `json:"draft_ms"`       // of predicted_ms: until proposals were dispatched
	VerifyMS        float64 `json:"verify_ms"`      // of predicted_ms: from there until their rounds were read
	RestoreMS       float64 `json:"restore_ms"`
	MatchedN        int     `json:"matched_n"`
	MissReason      string  `json:"miss_reason"`
	PutBackN        int     `json:"put_back_n,omitempty" doc:"Tokens of thoughts that were put back into the prompt. The client had left them out."`
	LeftOut         string  `json:"left_out,omitempty" doc:"What of the request the model did not get."`
	RunID           int64   `json:"run_id"`
	Stopped         bool    `json:"stopped,omitempty"` // by POST /app/runs/{id}/cancel; unended choices have the finish_reason length
}

// Timings returns those of all choices together.
func (r *Reply) Timings() Timings { return r.timings(r.Total()) }

func (r *Reply) timings(t total) Timings {
	out := Timings{
		CacheN: t.CachedTokens, PromptN: t.PromptTokens - t.CachedTokens, PromptMS: ms(t.Prefill),
		PredictedN: t.CompletionTokens, PredictedMS: ms(t.Decode),
		DraftN: t.Drafted, DraftNAccepted: t.Accepted, Drafter: t.Drafter, NoDrafter: t.NoDrafter,
		Rounds: t.Rounds, Verifies: t.verifies, Syncs: t.Syncs, Repeats: t.Repeats,
		QueueMS: ms(t.Queue), LoadMS: math.Floor(r.Run.Row.LoadMS), FirstTokenMS: ms(t.FirstToken),
		DraftMS: ms(t.Draft), VerifyMS: ms(t.Verify),
		RestoreMS: ms(t.Restore), MatchedN: t.Matched, MissReason: t.Miss,
		PutBackN: t.putBack.Tokens, LeftOut: t.LeftOut, RunID: r.Run.Row.ID,
		Stopped: context.Cause(r.Run.Ctx) == wire.ErrRunCancelled,
	}
	if t.verifies > 0 {
		out.TokensPerVerify = 1 + float64(t.Accepted)/float64(t.verifies)
	}
	// If the prefill was cut off, the number of tokens that took this time is unknown.
	if read := !out.Stopped || t.FirstToken > 0; read && out.PromptN > 0 && t.Prefill > 0 {
		out.PromptPerTokenMS = out.PromptMS / float64(out.PromptN)
		out.PromptPerSecond = float64(out.PromptN) / t.Prefill.Seconds()
	}
	// Decode spans the gaps between tokens: in every choice one less than there are tokens. It is
	// time by the clock. It includes time in which the process was stopped, because the client
	// waited then. The pace in State.Active leaves such a gap out, see pace. While a machine sleeps,
	// the clock stands still.
	if gaps := t.CompletionTokens - t.Given - len(r.Choices); gaps > 0 && t.Decode > 0 {
		out.PredictedPerTokenMS = out.PredictedMS / float64(gaps)
		out.PredictedPerSecond = float64(gaps) / t.Decode.Seconds()
	}
	return out
}

// ms returns d in milliseconds, with microseconds after the point.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
