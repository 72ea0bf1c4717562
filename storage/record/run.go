package record

import (
	"encoding/json"
	"fmt"
	"time"
)

// Run is one row of the history: what one request took. It holds no text but the tokens in
// Divergence and Verdict. If a request has several choices, counts are sums and durations are the
// longest choice's. A prompt that choices share counts once.
type Run struct {
	ID               int64     `json:"id"`
	StartedAt        time.Time `json:"started_at"`
	EndedAt          time.Time `json:"ended_at,omitzero"` // zero while in flight
	Client           string    `json:"client"`            // name of its key, X-Tandem-Client or User-Agent, shortened
	Endpoint         string    `json:"endpoint"`          // e.g. /v1/completions
	Model            string    `json:"model"`             // real id; as asked if it is unknown
	Drafter          string    `json:"drafter"`
	PromptTokens     int       `json:"prompt_tokens"`
	CachedTokens     int       `json:"cached_tokens"`
	CompletionTokens int       `json:"completion_tokens"`
	Drafted          int       `json:"drafted"`
	Accepted         int       `json:"accepted"`
	Rounds           int       `json:"rounds"`
	Syncs            int       `json:"syncs"`   // blocking MLX calls after the prefill
	LoadMS           float64   `json:"load_ms"` // until the model was in memory
	RestoreMS        float64   `json:"restore_ms"`
	PrefillMS        float64   `json:"prefill_ms"`
	FirstTokenMS     float64   `json:"first_token_ms"` // since arrival
	DraftMS          float64   `json:"draft_ms"`
	VerifyMS         float64   `json:"verify_ms"`
	TotalMS          float64   `json:"total_ms"`      // since arrival
	PeakBytes        int64     `json:"peak_bytes"`    // MLX's peak since the engine was last idle
	FinishReason     string    `json:"finish_reason"` // stop, length, or one of the Finish constants
	MissReason       string    `json:"miss_reason"`   // why less was restored than matched, or matched than once kept
	Error            string    `json:"error"`
	Seed             int64     `json:"seed"` // of the first choice
	QueueMS          float64   `json:"queue_ms"`
	NoDrafter        string    `json:"no_drafter"` // a sentence: why there were no drafts, or no more
	Verifies         int       `json:"verifies"`   // of Rounds, those that verified drafts

	// Tokens of the client's prediction that were drafted, by whether they were accepted.
	PredictionAccepted int `json:"prediction_accepted"`
	PredictionRejected int `json:"prediction_rejected"`

	// Repeats is the index of the first choice's token from which its text loops; 0 if it does not.
	Repeats int `json:"repeats"`

	// Speculation is a control.Speculation. It is nil while the run is in flight, in lists, and for runs
	// that are no longer among the latest.
	Speculation json.RawMessage `json:"speculation,omitempty"`

	MatchedTokens int `json:"matched_tokens"` // tokens of the prompt that some text in memory or on disk begins with

	// Divergence is a control.Divergence: where the prompt differs from the text that MatchedTokens
	// counts, or nil.
	Divergence json.RawMessage `json:"parted,omitempty"`

	Resumes int64 `json:"resumes"` // ID of the run whose answer this one completes; 0 = none

	// Verdict is a control.Replayed: the result of the latest verification; nil if there was none.
	Verdict json.RawMessage `json:"verdict,omitempty"`

	// Message is the sentence that the client was told where Error is set, with a sign in place of
	// what the request brought. It may be empty.
	Message string `json:"message,omitempty"`

	KVBits   int    `json:"kv_bits,omitempty"`   // as in control.Loaded
	KVLayout string `json:"kv_layout,omitempty"` // likewise

	// Bytes that the caches held at the end, measured: everything in layers whose rows are all kept or
	// are a sliding window (exact), the window of layers that a bounded layout cuts (own), and the
	// rows restored for these with the caches that they are restored from.
	KVExactBytes    int64 `json:"kv_exact_bytes,omitempty"`
	KVOwnBytes      int64 `json:"kv_own_bytes,omitempty"`
	KVRestoredBytes int64 `json:"kv_restored_bytes,omitempty"`

	// Thoughts of earlier answers that the client had left out of its prompt. They were put back
	// before the prompt was read.
	PutBackThoughts int `json:"put_back_thoughts,omitempty"`
	PutBackTokens   int `json:"put_back_tokens,omitempty"`

	// LeftOut says what of the request the model did not get, such as tools that the vendor's servers
	// would run. It may be empty.
	LeftOut string `json:"left_out,omitempty"`

	// BesideMS is the time since the first chunk of the prompt in which the device was not at work for the
	// run, or for one of its choices, if others had work for it meanwhile. It is 0 for a run that was alone.
	BesideMS float64 `json:"beside_ms,omitempty"`
}

// TokensPerVerify returns how many tokens a round with drafts gave: the accepted drafts, and the
// model's own token after them. Without such rounds it is 0.
func (r Run) TokensPerVerify() float64 {
	if r.Verifies == 0 {
		return 0
	}
	return 1 + float64(r.Accepted)/float64(r.Verifies)
}

// Pace returns the tokens per second after the first token, or "-" if they are not known.
func (r Run) Pace() string {
	decode := r.TotalMS - r.FirstTokenMS
	// which tokens of a resumed answer were new is not known
	if r.CompletionTokens < 2 || decode <= 0 || r.Resumes > 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(r.CompletionTokens-1)/decode*1000)
}
