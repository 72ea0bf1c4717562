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

	// runTexts are the columns that came later: matches, replays, the model's form, restored thoughts,
	// what was left out, the time of others.
	runTexts = "matched_tokens, parted, resumes, verdict, message, kv_bits, " +
		"kv_layout, kv_exact_bytes, kv_own_bytes, kv_restored_bytes, " +
		"put_back_thoughts, put_back_tokens, left_out, beside_ms"
)

// runFields are the columns in the order of runColumns, for reading and writing.
func runFields(r *Run) []any {
	return []any{&r.ID, (*stamp)(&r.StartedAt), (*stamp)(&r.EndedAt), &r.Client, &r.Endpoint,
		&r.Model, &r.Drafter,
		&r.PromptTokens, &r.CachedTokens, &r.CompletionTokens, &r.Drafted, &r.Accepted, &r.Rounds,
		&r.Syncs,
		&r.LoadMS, &r.RestoreMS, &r.PrefillMS, &r.FirstTokenMS, &r.DraftMS, &r.VerifyMS, &r.TotalMS,
		&r.PeakBytes,
		&r.FinishReason, &r.MissReason, &r.Error, &r.Seed,
		&r.QueueMS, &r.NoDrafter, &r.Verifies, &r.PredictionAccepted, &r.PredictionRejected,
		&r.Repeats, (*text)(&r.Speculation),
		&r.MatchedTokens, (*text)(&r.Divergence), &r.Resumes, (*text)(&r.Verdict), &r.Message,
		&r.KVBits, &r.KVLayout, &r.KVExactBytes, &r.KVOwnBytes, &r.KVRestoredBytes,
		&r.PutBackThoughts, &r.PutBackTokens, &r.LeftOut, &r.BesideMS}
}

// Begin records that a request arrived and returns its row with ID. It sets StartedAt if that is
// zero.
func (rs Runs) Begin(ctx context.Context, r Run) (Run, error) {
	if r.StartedAt.IsZero() {
		r.StartedAt = rs.db.now()
	}
	r.StartedAt, r.EndedAt = r.StartedAt.UTC().Truncate(time.Millisecond), time.Time{}
	marks := strings.Repeat(", ?", len(runFields(&r))-1)
	res, err := rs.db.exec(ctx, "INSERT INTO runs ("+runColumns+") VALUES (NULL"+marks+")",
		runFields(&r)[1:]...)
	if err == nil {
		r.ID, err = res.LastInsertId()
	}
	if err != nil {
		return Run{}, rs.db.wrap("begin run", err)
	}
	return r, nil
}

// Finish replaces the row of a run in flight by r, except for started_at. It sets EndedAt if
// that is zero. It does not store Divergence if any text was forgotten while the run was in flight.
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
			r.Divergence = nil
		}
		args := append(runFields(&r)[2:], r.ID)
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
	n, err := rs.db.execCount(ctx, `UPDATE runs SET ended_at = ?, finish_reason = ?, error = ?,
		model = coalesce((SELECT model FROM run_texts WHERE run = runs.id), model) WHERE ended_at IS NULL`,
		stamp(rs.db.clock()), FinishInterrupted, "Tandem ended before this run did")
	if n > 0 {
		rs.db.log.Warn("runs were in flight when the last process ended", "runs", n)
	}
	return rs.db.wrap("end interrupted runs", err)
}

// Get returns the run with this id. Error: [NotFound].
func (rs Runs) Get(ctx context.Context, id int64) (Run, error) {
	var r Run
	err := rs.db.r.QueryRowContext(ctx, "SELECT "+runColumns+" FROM runs WHERE id = ?", id).
		Scan(runFields(&r)...)
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
