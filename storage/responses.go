package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Responses is what a later request of a conversation needs: earlier responses, and the thoughts
// before earlier answers.
type Responses struct{ db *DB }

// Limits of responses.
const (
	ResponsesKept = 24 * time.Hour // after UsedAt: a conversation that goes on keeps its beginning
	MaxResponses  = 128 << 20      // bytes of all; those unused for longest are deleted
	MaxChain      = 1000           // responses in one conversation
	MaxChainBytes = 32 << 20       // bytes of their inputs and outputs
)

const (
	responseColumns = "id, owner, run, previous, created_at, used_at"
	readable        = "owner = ? AND used_at >= ?" // takes the owner, and the time of unusedSince
)

// responseFields are the columns in the order of responseColumns.
func responseFields(r *Response) []any {
	return []any{&r.ID, &r.Owner, &r.Run, &r.Previous, (*stamp)(&r.CreatedAt), (*stamp)(&r.UsedAt)}
}

// responseTexts are the fields of the texts that a conversation goes on with.
func responseTexts(r *Response) []any { return []any{(*text)(&r.Input), (*text)(&r.Output)} }

// unusedSince is the earliest last use of a response that is kept.
func (rs Responses) unusedSince() stamp { return stamp(rs.db.clock().Add(-ResponsesKept)) }

// chain selects a response and the ones that it continues, at most one more than MaxChain: the id,
// and how far back it is, from 0. Its arguments are the id and those of readable.
var chain = fmt.Sprintf(`WITH RECURSIVE chain (id, back) AS (SELECT ?, 0
	UNION ALL SELECT previous, back + 1 FROM chain JOIN responses USING (id) WHERE previous <> '' AND %s LIMIT %d) `,
	readable, MaxChain+1)

// These statements change other responses when one is stored. They read no texts.
var (
	// useChain marks a chain as used. Its arguments are those of chain, the time, and the owner.
	useChain = chain + "UPDATE responses SET used_at = ? WHERE id IN (SELECT id FROM chain) AND owner = ?"
	// trimResponses deletes the responses unused for longest, beyond a number of bytes.
	trimResponses = `DELETE FROM responses WHERE rowid IN (SELECT rowid FROM
		(SELECT rowid, sum(bytes) OVER (ORDER BY used_at DESC, created_at DESC, rowid DESC) AS newer FROM responses) WHERE newer > ?)`
)

// Add stores a response with the current time, and marks the ones that it continues as
// used. The ones unused for longest are deleted beyond MaxResponses. Error: [NotFound] if the key
// of its owner was deleted, because a later key may get that name, or if its run was forgotten.
func (rs Responses) Add(ctx context.Context, r Response) error {
	r.CreatedAt = rs.db.clock()
	r.UsedAt = r.CreatedAt
	err := rs.db.update(ctx, func(tx *sql.Tx) error {
		if err := refuseForgotten(ctx, tx, "keep a response", r.Run); err != nil {
			return err
		}
		var owned bool
		if err := tx.QueryRowContext(ctx,
			"SELECT ? = '' OR EXISTS (SELECT 1 FROM keys WHERE name = ?)", r.Owner,
			r.Owner).Scan(&owned); err != nil {
			return err
		}
		if !owned {
			return &Error{Code: NotFound, Op: "keep a response", Message: "its key was deleted"}
		}
		if _, err := tx.ExecContext(ctx,
			"INSERT INTO responses ("+responseColumns+", bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
			append(responseFields(&r), len(r.Input)+len(r.Output)+len(r.Response))...); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			"INSERT INTO response_texts (input, output, response, id) VALUES (?, ?, ?, ?)",
			append(responseTexts(&r), (*text)(&r.Response), r.ID)...); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, useChain, r.ID, r.Owner, rs.unusedSince(), stamp(r.UsedAt),
			r.Owner); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, trimResponses, MaxResponses)
		return err
	})
	return rs.db.wrap("keep a response", err)
}

// Get returns the owner's response with this id. Error: [NotFound].
func (rs Responses) Get(ctx context.Context, owner, id string) (Response, error) {
	var r Response
	err := rs.db.r.QueryRowContext(ctx,
		"SELECT "+responseColumns+", input, output, response FROM responses JOIN response_texts USING (id) WHERE id = ? AND "+readable,
		id, owner, rs.unusedSince()).
		Scan(append(append(responseFields(&r), responseTexts(&r)...), (*text)(&r.Response))...)
	return r, rs.wrap("find", id, err)
}

func (rs Responses) wrap(verb, id string, err error) error {
	return rs.db.wrapRow(fmt.Sprintf("%s response %s", verb, id), "there is no such response", err)
}

// Chain returns the owner's response and all that it continues, the earliest first, with
// Response left out. Errors: [NotFound], also if one of them is gone; [Invalid] beyond MaxChain or
// MaxChainBytes.
func (rs Responses) Chain(ctx context.Context, owner, id string) ([]Response, error) {
	rows, err := rs.db.r.QueryContext(ctx,
		chain+"SELECT "+responseColumns+", input, output FROM chain JOIN responses USING (id) JOIN response_texts USING (id) WHERE "+readable+" ORDER BY back DESC",
		id, owner, rs.unusedSince(), owner, rs.unusedSince())
	if err != nil {
		return nil, rs.wrap("go back from", id, err)
	}
	defer rows.Close()
	var list []Response
	bytes := 0
	for rows.Next() {
		var r Response
		if err := rows.Scan(append(responseFields(&r), responseTexts(&r)...)...); err != nil {
			return nil, rs.wrap("go back from", id, err)
		}
		list = append(list, r)
		if bytes += len(r.Input) + len(r.Output); bytes > MaxChainBytes || len(list) > MaxChain {
			return nil, &Error{Code: Invalid, Op: "go back from response " + id,
				Message: fmt.Sprintf("what it goes on from is more than %d responses, or than %d MiB",
					MaxChain, MaxChainBytes>>20)}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, rs.wrap("go back from", id, err)
	}
	if len(list) == 0 || list[0].Previous != "" {
		return nil, rs.wrap("go back from", id, sql.ErrNoRows)
	}
	return list, nil
}

// Delete deletes the owner's response, and the copies of the database. Errors: [NotFound];
// [ReadOnly] if a copy cannot be removed, and then nothing is deleted.
func (rs Responses) Delete(ctx context.Context, owner, id string) error {
	err := rs.db.update(ctx, func(tx *sql.Tx) error {
		if err := changedOne(tx.ExecContext(ctx, "DELETE FROM responses WHERE id = ? AND "+readable, id,
			owner, rs.unusedSince())); err != nil {
			return err
		}
		return rs.db.removeCopies("delete a response")
	})
	if err == nil {
		rs.db.purge()
	}
	return rs.wrap("delete", id, err)
}

// Sweep deletes the responses that were not used for ResponsesKept, and returns how many.
func (rs Responses) Sweep(ctx context.Context) (int64, error) {
	n, err := rs.db.execCount(ctx, "DELETE FROM responses WHERE used_at < ?", rs.unusedSince())
	return n, rs.db.wrap("sweep responses", err)
}
