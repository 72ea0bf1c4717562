package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Run is the record of one request. Times are in milliseconds; what does not apply is zero.
type Run struct {
	ID               int64     `json:"id"`
	StartedAt        time.Time `json:"started_at"`
	EndedAt          time.Time `json:"ended_at,omitzero"` // zero while in flight
	Client           string    `json:"client"`
	Endpoint         string    `json:"endpoint"`
	Model            string    `json:"model"`
	Drafter          string    `json:"drafter"`
	PromptTokens     int       `json:"prompt_tokens"`
	CachedTokens     int       `json:"cached_tokens"` // of the prompt, not computed again
	CompletionTokens int       `json:"completion_tokens"`
	Drafted          int       `json:"drafted"`
	Accepted         int       `json:"accepted"`
	Rounds           int       `json:"rounds"` // verify rounds and plain steps
	Syncs            int       `json:"syncs"`  // calls that waited for the device
	LoadMS           float64   `json:"load_ms"`
	RestoreMS        float64   `json:"restore_ms"`
	PrefillMS        float64   `json:"prefill_ms"`
	FirstTokenMS     float64   `json:"first_token_ms"` // since arrival
	DraftMS          float64   `json:"draft_ms"`
	VerifyMS         float64   `json:"verify_ms"`
	TotalMS          float64   `json:"total_ms"`
	PeakBytes        int64     `json:"peak_bytes"`
	FinishReason     string    `json:"finish_reason"` // stop, length, ..., or one of the Finish constants
	MissReason       string    `json:"miss_reason"`   // why less was restored than matched
	Error            string    `json:"error"`
	Seed             int64     `json:"seed"`
	QueueMS          float64   `json:"queue_ms"`
	NoDrafter        string    `json:"no_drafter"` // why there were no drafts, or no more
	Verifies         int       `json:"verifies"`   // of Rounds, those with drafts

	// Tokens of the client's prediction that were drafted, by whether they stood.
	PredictionAccepted int `json:"prediction_accepted"`
	PredictionRejected int `json:"prediction_rejected"`

	Repeats       int             `json:"repeats"`               // generated tokens before the text loops; 0 if it does not
	Speculation   json.RawMessage `json:"speculation,omitempty"` // round by round; nil in flight, in lists and behind KeepRounds
	MatchedTokens int             `json:"matched_tokens"`        // of the prompt, that some text in memory or on disk begins with
	Parted        json.RawMessage `json:"parted,omitempty"`      // where the prompt parts from that text, and how; nil if it does not
	Resumes       int64           `json:"resumes"`               // id of the run whose answer this one completes; 0 = of none
	Verdict       json.RawMessage `json:"verdict,omitempty"`     // how the answer compared when it was last computed again; nil if it never was
	Message       string          `json:"message,omitempty"`     // what the client was told where Error is set, without what it had sent; may be empty
}

// FinishInterrupted is the finish reason of a run whose process ended before it did, or whose client left that may come
// back. Where the process ended, its ended_at is the time at which that was noticed.
const FinishInterrupted = "interrupted"

// KeepRounds is of how many runs, the newest, Speculation and the [RunText] are kept: they can be a hundred times as large
// as the rest.
const KeepRounds = 1000

const (
	runColumns = "id, started_at, " + runOutcome

	// runOutcome are the columns that FinishRun writes.
	runOutcome = runFigures + ", speculation, " + runTexts

	// runFigures are all but those that only one run by itself is asked for.
	runFigures = `ended_at, client, endpoint, model, drafter, prompt_tokens, cached_tokens, completion_tokens,
	drafted, accepted, rounds, syncs, load_ms, restore_ms, prefill_ms, first_token_ms, draft_ms, verify_ms, total_ms, peak_bytes,
	finish_reason, miss_reason, error, seed, queue_ms, no_drafter, verifies, prediction_accepted, prediction_rejected, repeats`

	// runTexts are those of what the prompt and the answer were compared with.
	runTexts = "matched_tokens, parted, resumes, verdict, message"
)

// fields are the columns in the order of runColumns, for reading and for writing.
func (r *Run) fields() []any {
	return []any{&r.ID, (*stamp)(&r.StartedAt), (*stamp)(&r.EndedAt), &r.Client, &r.Endpoint, &r.Model, &r.Drafter,
		&r.PromptTokens, &r.CachedTokens, &r.CompletionTokens, &r.Drafted, &r.Accepted, &r.Rounds, &r.Syncs,
		&r.LoadMS, &r.RestoreMS, &r.PrefillMS, &r.FirstTokenMS, &r.DraftMS, &r.VerifyMS, &r.TotalMS, &r.PeakBytes,
		&r.FinishReason, &r.MissReason, &r.Error, &r.Seed,
		&r.QueueMS, &r.NoDrafter, &r.Verifies, &r.PredictionAccepted, &r.PredictionRejected, &r.Repeats, (*text)(&r.Speculation),
		&r.MatchedTokens, (*text)(&r.Parted), &r.Resumes, (*text)(&r.Verdict), &r.Message}
}

// BeginRun records that a request arrived and returns its row, with ID and, unless the caller set it, StartedAt.
func (db *DB) BeginRun(ctx context.Context, r Run) (Run, error) {
	if r.StartedAt.IsZero() {
		r.StartedAt = db.now()
	}
	r.StartedAt, r.EndedAt = r.StartedAt.UTC().Truncate(time.Millisecond), time.Time{}
	marks := strings.Repeat(", ?", len(r.fields())-1)
	res, err := db.w.ExecContext(ctx, "INSERT INTO runs ("+runColumns+") VALUES (NULL"+marks+")", r.fields()[1:]...)
	if err == nil {
		r.ID, err = res.LastInsertId()
	}
	if err != nil {
		return Run{}, db.wrap("begin run", err)
	}
	return r, nil
}

// FinishRun replaces the row of a run in flight by r, except for its started_at, and sets its end, unless the caller did.
// Where it parted from others is not stored if some text was forgotten meanwhile. It is called for every run, however it
// ended, so after a client left pass a context that is not cancelled with the request.
//
// Errors: [NotFound], [Conflict] if the run ended before.
func (db *DB) FinishRun(ctx context.Context, r Run) error {
	op := fmt.Sprintf("finish run %d", r.ID)
	if r.EndedAt.IsZero() {
		r.EndedAt = db.clock()
	}
	ended := false
	err := db.update(ctx, func(tx *sql.Tx) error {
		if some, _, err := forgotten(ctx, tx, r.ID); err != nil {
			return err
		} else if some {
			r.Parted = nil
		}
		args := append(r.fields()[2:], r.ID)
		res, err := tx.ExecContext(ctx, "UPDATE runs SET ("+runOutcome+") = (?"+strings.Repeat(", ?", len(args)-2)+") WHERE id = ? AND ended_at IS NULL", args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		ended = true
		if _, err := tx.ExecContext(ctx, "UPDATE runs SET speculation = '' WHERE id = ?", r.ID-KeepRounds); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM run_texts WHERE run <= ?", r.ID-KeepRounds)
		return err
	})
	if err != nil || ended {
		return db.wrap(op, err)
	}
	if _, err := db.Run(ctx, r.ID); err != nil {
		return err
	}
	return &Error{Code: Conflict, Op: op, Message: "the run has ended before"}
}

// DropRun removes a run in flight that is to leave nothing, with its text. Errors: [NotFound], also if it has ended.
func (db *DB) DropRun(ctx context.Context, id int64) error {
	op := fmt.Sprintf("drop run %d", id)
	res, err := db.w.ExecContext(ctx, "DELETE FROM runs WHERE id = ? AND ended_at IS NULL", id)
	if err != nil {
		return db.wrap(op, err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return &Error{Code: NotFound, Op: op, Message: "no such run is in flight"}
	}
	return nil
}

// interruptRuns ends the runs that an earlier process left in flight.
func (db *DB) interruptRuns(ctx context.Context) error {
	res, err := db.w.ExecContext(ctx, `UPDATE runs SET ended_at = ?, finish_reason = ?, error = ?,
		model = coalesce((SELECT model FROM run_texts WHERE run = runs.id), model) WHERE ended_at IS NULL`,
		stamp(db.clock()), FinishInterrupted, "Tandem ended before this run did")
	if err != nil {
		return err
	}
	if n, _ := res.RowsAffected(); n > 0 {
		db.log.Warn("runs were in flight when the last process ended", "runs", n)
	}
	return nil
}

func scanRun(rw row) (Run, error) {
	var r Run
	err := rw.Scan(r.fields()...)
	return r, err
}

// Run returns the run of that id, or [NotFound].
func (db *DB) Run(ctx context.Context, id int64) (Run, error) {
	op := fmt.Sprintf("find run %d", id)
	r, err := scanRun(db.r.QueryRowContext(ctx, "SELECT "+runColumns+" FROM runs WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, &Error{Code: NotFound, Op: op, Message: "there is no such run", Err: err}
	}
	return r, db.wrap(op, err)
}

// SetRunVerdict keeps how a run's answer compared when it was computed again, in place of what was kept before, or returns
// [NotFound].
func (db *DB) SetRunVerdict(ctx context.Context, id int64, verdict json.RawMessage) error {
	op := fmt.Sprintf("keep the verdict on run %d", id)
	res, err := db.w.ExecContext(ctx, "UPDATE runs SET verdict = ? WHERE id = ?", text(verdict), id)
	if err != nil {
		return db.wrap(op, err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return &Error{Code: NotFound, Op: op, Message: "there is no such run"}
	}
	return nil
}
