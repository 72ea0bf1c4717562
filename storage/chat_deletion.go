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

// WouldDelete returns what [Chats.Delete] would remove. Error: [NotFound].
func (cs Chats) WouldDelete(ctx context.Context, chat, message int64) (out DeletedChats, err error) {
	out, _, err = findChats(ctx, cs.db.r, chat, message)
	return out, cs.wrapDeletion("look at", chat, message, err)
}

func (cs Chats) wrapDeletion(verb string, chat, message int64, err error) error {
	switch {
	case message != 0:
		return cs.wrapMessage(verb, chat, message, err)
	case chat == 0:
		return cs.db.wrap(verb+" all chats", err)
	}
	return cs.wrap(verb, chat, err)
}

// wrapMessage is wrap for a message.
func (cs Chats) wrapMessage(verb string, chat, id int64, err error) error {
	return cs.db.wrapRow(fmt.Sprintf("%s message %d", verb, id),
		fmt.Sprintf("chat %d has no message %d", chat, id), err)
}

// Delete deletes a chat, or all chats if chat is 0. If message is not 0, it deletes that message of the
// chat with all that follow it; a shown branch that held it then ends before it.
//
// With them go the checkpoints that nothing else needs, the other texts of their runs, and the copies
// of the database. The copies go first, then remove deletes the files of the checkpoints and whatever
// else is kept of the runs. A run that still answers there stores nothing from then on.
//
// Errors: [NotFound]; [ReadOnly] if a copy cannot be removed; the error of remove. After an error
// nothing is deleted.
func (cs Chats) Delete(ctx context.Context, chat, message int64,
	remove func(checkpoints []string, runs []int64) error) (out DeletedChats, err error) {
	err = cs.db.update(ctx, func(tx *sql.Tx) error {
		var runs string
		if out, runs, err = findChats(ctx, tx, chat, message); err != nil {
			return err
		}
		if err := cs.dropRuns(ctx, tx, out, runs, remove); err != nil {
			return err
		}
		if message == 0 {
			_, err := tx.ExecContext(ctx, "DELETE FROM chats WHERE id = ? OR ? = 0", chat, chat)
			return err
		}
		var parent int64
		if err := tx.QueryRowContext(ctx, "SELECT parent FROM chat_messages WHERE id = ?",
			message).Scan(&parent); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, goes+"DELETE FROM chat_messages WHERE id IN goes",
			chat, message); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE chats SET leaf = ? WHERE id = ? AND leaf <> 0
			AND leaf NOT IN (SELECT id FROM chat_messages WHERE chat = ?)`, parent, chat, chat)
		return err
	})
	if err != nil {
		return DeletedChats{}, cs.wrapDeletion("delete", chat, message, err)
	}
	cs.db.purge()
	return out, nil
}

// dropRuns deletes what is kept of the runs that answered in chats or messages which go.
func (cs Chats) dropRuns(ctx context.Context, tx *sql.Tx, found DeletedChats, runs string,
	remove func(checkpoints []string, runs []int64) error) error {
	if err := cs.db.removeCopies("delete chats"); err != nil {
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
		"DELETE FROM thoughts WHERE run" + mine,
		"UPDATE runs SET forgotten = " + textForgotten + " WHERE ended_at IS NULL AND id" + mine,
		"UPDATE runs SET parted = '' WHERE parted <> '' AND id" + mine,
		// it has a token of the text that the prompt parted from
		"UPDATE runs SET parted = '' WHERE parted <> '' AND iif(json_valid(parted), parted ->> '$.run', 0)" + mine,
		"UPDATE runs SET verdict = " + verdictWithoutText + " WHERE " + verdictHasText +
			" AND id" + mine,
	} {
		if _, err := tx.ExecContext(ctx, statement, runs); err != nil {
			return err
		}
	}
	return nil
}

// goes selects the messages that go: those of a chat, or of all chats for 0. With a message it is
// that one and all that follow it. Its arguments are the chat and the message. The cross join and the
// chat in it have the index find what follows each message.
const goes = `WITH RECURSIVE
	goes (id) AS (
		SELECT id FROM chat_messages WHERE (chat = ?1 OR ?1 = 0) AND (id = ?2 OR ?2 = 0)
		UNION SELECT m.id FROM goes CROSS JOIN chat_messages m ON m.chat = ?1 AND m.parent = goes.id WHERE ?2 <> 0)
	`

// findChats returns what goes with a chat, or with all chats if id is 0, or with a message of a chat
// if that is not 0. runs is a JSON list of the runs that answered in it, completed such an answer, or
// began one. A run that a message names which stays is not in the list. Error: sql.ErrNoRows if there
// is no such chat or message.
func findChats(ctx context.Context, q querier, id, message int64) (
	out DeletedChats, runs string, err error) {
	count, args := "SELECT count(*) FROM chats WHERE id = ? OR ? = 0", []any{id, id}
	if message != 0 {
		count, args = "SELECT count(*) FROM chat_messages WHERE chat = ? AND id = ?",
			[]any{id, message}
	}
	if err := q.QueryRowContext(ctx, count, args...).Scan(&out.Chats); err != nil {
		return out, "", err
	}
	if out.Chats == 0 && id != 0 {
		return out, "", sql.ErrNoRows
	}
	if message != 0 {
		out.Chats = 0
	}
	err = q.QueryRowContext(ctx, goes+`,
		resumed (id, resumes) AS MATERIALIZED (SELECT id, resumes FROM runs WHERE resumes <> 0),
		mine (run) AS (
			SELECT run FROM (SELECT run FROM chat_messages WHERE run > 0 AND id IN goes
			EXCEPT SELECT run FROM chat_messages WHERE id NOT IN goes)
			UNION SELECT iif(resumed.id = mine.run, resumed.resumes, resumed.id)
			FROM resumed JOIN mine ON mine.run IN (resumed.id, resumed.resumes))
		SELECT count(*), json_group_array(run) FROM mine`, id, message).Scan(&out.Runs, &runs)
	if err != nil || out.Runs == 0 {
		return out, runs, err
	}
	type file struct {
		id    string
		bytes int64
	}
	err = each(ctx, q, func(f *file) []any { return []any{&f.id, &f.bytes} }, func(f file) {
		out.Checkpoints = append(out.Checkpoints, f.id)
		out.Bytes += f.bytes
	}, `WITH RECURSIVE
		mine (run) AS MATERIALIZED (SELECT value FROM json_each(?)),
		needed (id) AS (
			SELECT id FROM checkpoints
			WHERE gone = '' AND (pinned <> 0 OR name <> '' OR run NOT IN (SELECT run FROM mine))
			UNION SELECT file FROM run_texts WHERE file <> '' AND run NOT IN (SELECT run FROM mine)
			UNION SELECT c.parent FROM checkpoints c JOIN needed ON c.id = needed.id WHERE c.parent <> '')
		SELECT id, bytes FROM checkpoints WHERE gone = '' AND run IN (SELECT run FROM mine) AND id NOT IN (SELECT id FROM needed) ORDER BY id`, runs)
	return out, runs, err
}
