package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Runs is the history of runs, with their texts.
type Runs struct{ db *DB }

// A Run is the record of one request. Durations are in milliseconds; fields that do not apply are
// zero.
type Run struct {
	ID               int64     `json:"id"`
	StartedAt        time.Time `json:"started_at"`
	EndedAt          time.Time `json:"ended_at,omitzero"` // zero while in flight
	Client           string    `json:"client"`
	Endpoint         string    `json:"endpoint"`
	Model            string    `json:"model"`
	Drafter          string    `json:"drafter"`
	PromptTokens     int       `json:"prompt_tokens"`
	CachedTokens     int       `json:"cached_tokens"` // of the prompt, restored from checkpoints
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
	// stop, length, ..., or one of the Finish constants
	FinishReason string  `json:"finish_reason"`
	MissReason   string  `json:"miss_reason"` // why fewer tokens were restored than matched
	Error        string  `json:"error"`
	Seed         int64   `json:"seed"`
	QueueMS      float64 `json:"queue_ms"`
	NoDrafter    string  `json:"no_drafter"` // why drafting did not begin, or ended
	Verifies     int     `json:"verifies"`   // rounds with drafts, included in Rounds

	// These count the drafted tokens of the client's prediction.
	PredictionAccepted int `json:"prediction_accepted"`
	PredictionRejected int `json:"prediction_rejected"`

	// tokens generated before the answer begins to loop; 0 if it does not
	Repeats int `json:"repeats"`
	// round by round; nil in flight, in lists and beyond KeepRounds
	Speculation json.RawMessage `json:"speculation,omitempty"`
	// tokens of the prompt that match a cached sequence, in memory or on disk
	MatchedTokens int `json:"matched_tokens"`
	// where and how the prompt differs from that sequence, or nil
	Parted json.RawMessage `json:"parted,omitempty"`
	// id of the run whose answer this one completes, or 0
	Resumes int64 `json:"resumes"`
	// how the answer compared when it was last replayed, or nil
	Verdict json.RawMessage `json:"verdict,omitempty"`
	// the message of the error without content of the request; may be empty
	Message string `json:"message,omitempty"`
	// float32 or quantized: how quantized weights were held in memory; empty if the model had none
	Held string `json:"held,omitempty"`
	// bits per element of the KV cache; 0 = as computed
	KVBits int `json:"kv_bits,omitempty"`
	// bounded or full; empty = a ring for each layer with a window
	KVLayout string `json:"kv_layout,omitempty"`
	// bytes of the caches at the end, measured: of exact layers, own rows of bounded layers, and
	// rows restored for these
	KVExactBytes    int64 `json:"kv_exact_bytes,omitempty"`
	KVOwnBytes      int64 `json:"kv_own_bytes,omitempty"`
	KVRestoredBytes int64 `json:"kv_restored_bytes,omitempty"`
	// thoughts that the client left out of its prompt and Tandem put back, and their tokens
	PutBackThoughts int `json:"put_back_thoughts,omitempty"`
	PutBackTokens   int `json:"put_back_tokens,omitempty"`
}

// FinishInterrupted is the finish reason of a run whose process ended first, or whose client left and may
// resume it. If the process ended, ended_at is the time of the next start.
const FinishInterrupted = "interrupted"

// KeepRounds is the number of newest runs that keep Speculation and their [RunText], which can be a hundred
// times as large as the rest.
const KeepRounds = 1000

const (
	runColumns = "id, started_at, " + runOutcome

	// runOutcome are the columns that Finish writes.
	runOutcome = runFigures + ", speculation, " + runTexts

	// runFigures are the columns that statistics are made of. Lists have runTexts too.
	runFigures = `ended_at, client, endpoint, model, drafter, prompt_tokens, cached_tokens, completion_tokens,
	drafted, accepted, rounds, syncs, load_ms, restore_ms, prefill_ms, first_token_ms, draft_ms,
	verify_ms, total_ms, peak_bytes, finish_reason, miss_reason, error, seed, queue_ms, no_drafter,
	verifies, prediction_accepted, prediction_rejected, repeats`

	// runTexts are the columns that came later: matches, replays, the model's form, restored thoughts.
	runTexts = "matched_tokens, parted, resumes, verdict, message, held, kv_bits, " +
		"kv_layout, kv_exact_bytes, kv_own_bytes, kv_restored_bytes, " +
		"put_back_thoughts, put_back_tokens"
)

// fields are the columns in the order of runColumns, for reading and writing.
func (r *Run) fields() []any {
	return []any{&r.ID, (*stamp)(&r.StartedAt), (*stamp)(&r.EndedAt), &r.Client, &r.Endpoint,
		&r.Model, &r.Drafter,
		&r.PromptTokens, &r.CachedTokens, &r.CompletionTokens, &r.Drafted, &r.Accepted, &r.Rounds,
		&r.Syncs,
		&r.LoadMS, &r.RestoreMS, &r.PrefillMS, &r.FirstTokenMS, &r.DraftMS, &r.VerifyMS, &r.TotalMS,
		&r.PeakBytes,
		&r.FinishReason, &r.MissReason, &r.Error, &r.Seed,
		&r.QueueMS, &r.NoDrafter, &r.Verifies, &r.PredictionAccepted, &r.PredictionRejected,
		&r.Repeats, (*text)(&r.Speculation),
		&r.MatchedTokens, (*text)(&r.Parted), &r.Resumes, (*text)(&r.Verdict), &r.Message,
		&r.Held, &r.KVBits, &r.KVLayout, &r.KVExactBytes, &r.KVOwnBytes, &r.KVRestoredBytes,
		&r.PutBackThoughts, &r.PutBackTokens}
}

// Begin records that a request arrived and returns its row with ID. It sets StartedAt if that is
// zero.
func (rs Runs) Begin(ctx context.Context, r Run) (Run, error) {
	if r.StartedAt.IsZero() {
		r.StartedAt = rs.db.now()
	}
	r.StartedAt, r.EndedAt = r.StartedAt.UTC().Truncate(time.Millisecond), time.Time{}
	marks := strings.Repeat(", ?", len(r.fields())-1)
	res, err := rs.db.exec(ctx, "INSERT INTO runs ("+runColumns+") VALUES (NULL"+marks+")",
		r.fields()[1:]...)
	if err == nil {
		r.ID, err = res.LastInsertId()
	}
	if err != nil {
		return Run{}, rs.db.wrap("begin run", err)
	}
	return r, nil
}

// Finish replaces the row of a run in flight by r, except for started_at. It sets EndedAt if
// that is zero. It does not store Parted if any text was forgotten while the run was in flight.
// Every run is finished, so after a client has left, pass a context that was not cancelled with the
// request.
//
// Errors: [NotFound]; [Conflict] if the run has ended before.
func (rs Runs) Finish(ctx context.Context, r Run) error {
	op := fmt.Sprintf("finish run %d", r.ID)
	if r.EndedAt.IsZero() {
		r.EndedAt = rs.db.clock()
	}
	ended := false
	err := rs.db.update(ctx, func(tx *sql.Tx) error {
		if some, _, err := forgotten(ctx, tx, r.ID); err != nil {
			return err
		} else if some {
			r.Parted = nil
		}
		args := append(r.fields()[2:], r.ID)
		res, err := tx.ExecContext(ctx,
			"UPDATE runs SET ("+runOutcome+") = (?"+strings.Repeat(", ?",
				len(args)-2)+") WHERE id = ? AND ended_at IS NULL", args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		ended = true
		if _, err := tx.ExecContext(ctx, "UPDATE runs SET speculation = '' WHERE id = ?",
			r.ID-KeepRounds); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM run_texts WHERE run <= ?", r.ID-KeepRounds)
		return err
	})
	if err != nil || ended {
		return rs.db.wrap(op, err)
	}
	if _, err := rs.Get(ctx, r.ID); err != nil {
		return err
	}
	return &Error{Code: Conflict, Op: op, Message: "the run has ended before"}
}

// Drop deletes a run in flight and its text. Error: [NotFound], also if the run has ended.
func (rs Runs) Drop(ctx context.Context, id int64) error {
	err := rs.db.execOne(ctx, "DELETE FROM runs WHERE id = ? AND ended_at IS NULL", id)
	return rs.db.wrapRow(fmt.Sprintf("drop run %d", id), "no such run is in flight", err)
}

// interrupt ends the runs that an earlier process left in flight.
func (rs Runs) interrupt(ctx context.Context) error {
	res, err := rs.db.exec(ctx, `UPDATE runs SET ended_at = ?, finish_reason = ?, error = ?,
		model = coalesce((SELECT model FROM run_texts WHERE run = runs.id), model) WHERE ended_at IS NULL`,
		stamp(rs.db.clock()), FinishInterrupted, "Tandem ended before this run did")
	if err != nil {
		return err
	}
	if n, _ := res.RowsAffected(); n > 0 {
		rs.db.log.Warn("runs were in flight when the last process ended", "runs", n)
	}
	return nil
}

// Get returns the run with this id. Error: [NotFound].
func (rs Runs) Get(ctx context.Context, id int64) (Run, error) {
	var r Run
	err := rs.db.r.QueryRowContext(ctx, "SELECT "+runColumns+" FROM runs WHERE id = ?", id).
		Scan(r.fields()...)
	return r, rs.wrap("find", id, err)
}

// SetVerdict stores how a run's answer compared when it was computed again, in place of the
// verdict before. Error: [NotFound].
func (rs Runs) SetVerdict(ctx context.Context, id int64, verdict json.RawMessage) error {
	err := rs.db.execOne(ctx, "UPDATE runs SET verdict = ? WHERE id = ?", text(verdict), id)
	return rs.wrap("keep the verdict on", id, err)
}

func (rs Runs) wrap(verb string, id int64, err error) error {
	return rs.db.wrapRow(fmt.Sprintf("%s run %d", verb, id), "there is no such run", err)
}
