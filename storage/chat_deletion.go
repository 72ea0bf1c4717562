package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// DeletedChats says what was deleted with chats, or would be.
type DeletedChats struct {
	Chats int
	Runs  int // that answered in the chats; they stay in the history

	// Checkpoints are the ids of the files of these runs that nothing else needs. A file is needed
	// if
	//   - it has a name or a pin, or another run computed it
	//   - the text of another run begins in it
	//   - a checkpoint that is needed goes on from it
	Checkpoints []string
	Bytes       int64 // of these files
}

// WouldDeleteChats returns what [DB.DeleteChats] would remove. Error: [NotFound].
func (db *DB) WouldDeleteChats(ctx context.Context, id int64) (out DeletedChats, err error) {
	out, _, err = findChats(ctx, db.r, id)
	return out, db.chatError("look at", id, err)
}

// DeleteChats deletes a chat, or all chats if id is 0. With it go its messages, the checkpoints
// that nothing else needs, the other texts of its runs, and the copies of the database. The copies
// go first, then remove deletes the files of the checkpoints and whatever else is kept of the runs.
// A run that still answers in the chat stores nothing from then on.
//
// Errors: [NotFound]; [ReadOnly] if a copy cannot be removed; the error of remove. After an error
// nothing is deleted.
func (db *DB) DeleteChats(ctx context.Context, id int64,
	remove func(checkpoints []string, runs []int64) error) (DeletedChats, error) {
	op := fmt.Sprintf("delete chat %d", id)
	if id == 0 {
		op = "delete all chats"
	}
	var out DeletedChats
	err := db.update(ctx, func(tx *sql.Tx) error {
		found, runs, err := findChats(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := db.removeCopies(op); err != nil {
			return err
		}
		var ids []int64
		if err := json.Unmarshal([]byte(runs), &ids); err != nil {
			return err
		}
		if err := remove(found.Checkpoints, ids); err != nil {
			return err
		}
		for _, gone := range found.Checkpoints {
			if _, err := tx.ExecContext(ctx, "DELETE FROM checkpoints WHERE id = ?",
				gone); err != nil {
				return err
			}
		}
		const mine = " IN (SELECT value FROM json_each(?))"
		for _, statement := range []string{
			// they have a digest of the text
			"DELETE FROM checkpoints WHERE gone <> '' AND run" + mine,
			"DELETE FROM run_texts WHERE run" + mine,
			"UPDATE runs SET forgotten = " + ownForgotten + " WHERE ended_at IS NULL AND id" + mine,
			"UPDATE runs SET parted = '' WHERE parted <> '' AND id" + mine,
			"UPDATE runs SET verdict = " + verdictWithoutText + " WHERE " + verdictHasText +
				" AND id" + mine,
		} {
			if _, err := tx.ExecContext(ctx, statement, runs); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM chats WHERE id = ? OR ? = 0", id,
			id); err != nil {
			return err
		}
		out = found
		return nil
	})
	if err == nil {
		db.purge()
	}
	if id == 0 {
		return out, db.wrap(op, err)
	}
	return out, db.chatError("delete", id, err)
}

// A querier is the database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// findChats returns what goes with a chat, or with all chats if id is 0. runs is a JSON list of the
// runs that answered in it, completed such an answer, or began one. A run that another chat names
// too is not in the list. Error: sql.ErrNoRows if there is no such chat.
func findChats(ctx context.Context, q querier, id int64) (
	out DeletedChats, runs string, err error) {
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM chats WHERE id = ? OR ? = 0", id,
		id).Scan(&out.Chats); err != nil {
		return out, "", err
	}
	if out.Chats == 0 && id != 0 {
		return out, "", sql.ErrNoRows
	}
	err = q.QueryRowContext(ctx, `WITH RECURSIVE
		resumed (id, resumes) AS MATERIALIZED (SELECT id, resumes FROM runs WHERE resumes <> 0),
		mine (run) AS (
			SELECT run FROM (SELECT run FROM chat_messages WHERE run > 0 AND (chat = ? OR ? = 0) EXCEPT SELECT run FROM chat_messages WHERE chat <> ? AND ? <> 0)
			UNION SELECT iif(resumed.id = mine.run, resumed.resumes, resumed.id) FROM resumed JOIN mine ON mine.run IN (resumed.id, resumed.resumes))
		SELECT count(*), json_group_array(run) FROM mine`, id, id, id, id).Scan(&out.Runs, &runs)
	if err != nil || out.Runs == 0 {
		return out, runs, err
	}
	rows, err := q.QueryContext(ctx, `WITH RECURSIVE
		mine (run) AS MATERIALIZED (SELECT value FROM json_each(?)),
		needed (id) AS (
			SELECT id FROM checkpoints WHERE gone = '' AND (pinned <> 0 OR name <> '' OR run NOT IN (SELECT run FROM mine))
			UNION SELECT file FROM run_texts WHERE file <> '' AND run NOT IN (SELECT run FROM mine)
			UNION SELECT c.parent FROM checkpoints c JOIN needed ON c.id = needed.id WHERE c.parent <> '')
		SELECT id, bytes FROM checkpoints WHERE gone = '' AND run IN (SELECT run FROM mine) AND id NOT IN (SELECT id FROM needed) ORDER BY id`, runs)
	if err != nil {
		return out, runs, err
	}
	defer rows.Close()
	for rows.Next() {
		var file string
		var bytes int64
		if err := rows.Scan(&file, &bytes); err != nil {
			return out, runs, err
		}
		out.Checkpoints = append(out.Checkpoints, file)
		out.Bytes += bytes
	}
	return out, runs, rows.Err()
}
