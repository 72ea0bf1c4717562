package control

import (
	"encoding/json"
	"fmt"
	"time"
)

// Replayed is the answer of POST /app/runs/{id}/verify. It compares the answer of a run with what
// the model says when nothing is restored and nothing is drafted. The run keeps the latest.
type Replayed struct {
	Run    int64     `json:"run"`
	At     time.Time `json:"at"`     // when they were compared
	Tokens int       `json:"tokens"` // of the answer
	Same   int       `json:"same"`   // how many of them are the same, from the first on

	// Where they differ: the token that was answered, and the one that comes now. Forget empties
	// both.
	Answered  string `json:"answered,omitempty"`
	Now       string `json:"now,omitempty"`
	Forgotten bool   `json:"forgotten,omitempty"`

	// Tie says that the model finds both tokens equally likely, so that rounding decides. It is
	// known of greedy answers without penalties.
	Tie bool `json:"tie,omitempty"`
}

// VerifyRequest is the body of POST /app/runs/{id}/verify.
type VerifyRequest struct {
	Progress bool `json:"progress,omitempty"` // answer with events, see VerifyProgress, not with the verdict alone
}

// A RunVerification is a VerifyRequest for one run.
type RunVerification struct {
	Run int64 `json:"-"`
	VerifyRequest
}

func (v *RunVerification) params(p *params) { runID(&v.Run, p) }

// VerifyProgress is one event of a verification. The last event has Verdict set, or is an error
// event.
type VerifyProgress struct {
	Same    int       `json:"same"`   // tokens that came again so far
	Tokens  int       `json:"tokens"` // of the answer
	Verdict *Replayed `json:"verdict,omitempty"`
}

// String returns the verdict in plain words.
func (r Replayed) String() string {
	text := fmt.Sprintf("the first %d of %s are the same", r.Same, Plural(r.Tokens, "token"))
	switch {
	case r.Same == r.Tokens:
		return fmt.Sprintf("all %s are the same without drafts and checkpoints",
			Plural(r.Tokens, "token"))
	case r.Forgotten && r.Tie:
		return text + "; the model takes the next token and another for equally likely, so that rounding decides"
	case r.Forgotten:
		return text + "; the next token is another"
	case r.Now == "" && r.Answered == "":
		return text + "; then it ends"
	case r.Tie:
		return fmt.Sprintf("%s; then the answer had %q, and now comes %q: the model takes both for equally likely, so that rounding decides",
			text, r.Answered, r.Now)
	}
	return fmt.Sprintf("%s; then the answer had %q, and now comes %q", text, r.Answered, r.Now)
}

// Word returns the verdict in one word: same, tie or differs.
func (r Replayed) Word() string {
	switch {
	case r.Same == r.Tokens:
		return "same"
	case r.Tie:
		return "tie"
	}
	return "differs"
}

// Forget drops the tokens that the verdict names.
func (r *Replayed) Forget() {
	r.Forgotten = r.Forgotten || r.Answered != "" || r.Now != ""
	r.Answered, r.Now = "", ""
}

// VerdictOf returns the verdict that a run keeps, or nil if the run was never computed again.
func VerdictOf(r Run) (*Replayed, error) {
	if r.Verdict == nil {
		return nil, nil
	}
	v := new(Replayed)
	if err := json.Unmarshal(r.Verdict, v); err != nil {
		return nil, fmt.Errorf("the verdict on run %d: %w", r.ID, err)
	}
	return v, nil
}
