package storage

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// FinishSaid is the finish of a message that a person wrote.
const FinishSaid = "said"

const messageColumns = "id, chat, parent, role, content, model, finish, run, facts, created_at"

// messageFields are the columns in the order of messageColumns, for reading and writing.
func messageFields(m *Message) []any {
	return []any{&m.ID, &m.Chat, &m.Parent, &m.Role, &m.Content, &m.Model, &m.Finish, &m.Run,
		(*text)(&m.Facts), (*stamp)(&m.CreatedAt)}
}

// Messages returns the messages of a chat, the oldest first. A chat that does not exist has none.
func (cs Chats) Messages(ctx context.Context, chat int64) ([]Message, error) {
	list, err := query(ctx, cs.db.r, messageFields,
		"SELECT "+messageColumns+" FROM chat_messages WHERE chat = ? ORDER BY id", chat)
	return list, cs.db.wrap(fmt.Sprintf("read chat %d", chat), err)
}

// AddMessage adds a message to a chat, after its parent, and returns it with ID and CreatedAt. The
// shown branch then ends with it, and a chat without a title takes one from it. A message of
// RoleUser gets [FinishSaid]. A message of a model may grow until it has a finish; see
// [Chats.UpdateMessage].
//
// Errors: [NotFound] if there is no such chat, [Invalid] for a parent of another chat or beyond the
// limits.
func (cs Chats) AddMessage(ctx context.Context, m Message) (Message, error) {
	op := fmt.Sprintf("add to chat %d", m.Chat)
	if m.Role == RoleUser {
		m.Finish = FinishSaid
	}
	if err := checkMessage(op, &m); err != nil {
		return Message{}, err
	}
	m.CreatedAt = cs.db.clock()
	err := cs.db.update(ctx, func(tx *sql.Tx) error {
		var kind, title string
		if err := tx.QueryRowContext(ctx, "SELECT kind, title FROM chats WHERE id = ?",
			m.Chat).Scan(&kind, &title); err != nil {
			return err
		}
		if err := checkParent(ctx, tx, op, m.Chat, m.Parent); err != nil {
			return err
		}
		var n, used int
		if err := tx.QueryRowContext(ctx,
			"SELECT count(*), coalesce(sum(octet_length(content)), 0) FROM chat_messages WHERE chat = ?",
			m.Chat).Scan(&n, &used); err != nil {
			return err
		}
		if n >= MaxChatMessages || used+len(m.Content) > MaxChatBytes {
			return invalid(op, "a chat holds %d messages and %d MiB at most: begin a new one",
				MaxChatMessages, MaxChatBytes>>20)
		}
		res, err := tx.ExecContext(ctx,
			"INSERT INTO chat_messages ("+messageColumns+") VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			messageFields(&m)[1:]...)
		if err != nil {
			return err
		}
		if m.ID, err = res.LastInsertId(); err != nil {
			return err
		}
		if title == "" {
			title = titleFor(kind, m.Content)
		}
		_, err = tx.ExecContext(ctx,
			"UPDATE chats SET leaf = ?, title = ?, used = (SELECT max(used) + 1 FROM chats), updated_at = ? WHERE id = ?",
			m.ID, title, stamp(m.CreatedAt), m.Chat)
		return err
	})
	return m, cs.wrap("add to", m.Chat, err)
}

func checkMessage(op string, m *Message) error {
	switch {
	case len(m.Content) > MaxMessageBytes:
		return invalid(op, "the message is longer than %d KiB", MaxMessageBytes>>10)
	case len(m.Facts) > MaxFactsBytes:
		return invalid(op, "the facts of the message are longer than %d KiB",
			MaxFactsBytes>>10)
	}
	return nil
}

// checkParent refuses a message that is not in the chat. 0 means no message and is accepted.
func checkParent(ctx context.Context, tx *sql.Tx, op string, chat, id int64) error {
	if id == 0 {
		return nil
	}
	var there bool
	if err := tx.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM chat_messages WHERE id = ? AND chat = ?)", id,
		chat).Scan(&there); err != nil {
		return err
	}
	if !there {
		return invalid(op, "chat %d has no message %d",
			chat, id)
	}
	return nil
}

// UpdateMessage changes a message that is still being generated, and returns it.
//
// Errors: [NotFound]; [Conflict] if the message has ended, or if the content does not begin with
// the stored content, so that nothing is lost; [Invalid] beyond the limits.
func (cs Chats) UpdateMessage(ctx context.Context, chat, id int64, change MessageChange) (
	Message, error) {
	op := fmt.Sprintf("change message %d", id)
	var m Message
	err := cs.db.update(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx,
			"SELECT "+messageColumns+" FROM chat_messages WHERE id = ? AND chat = ?", id,
			chat).Scan(messageFields(&m)...)
		switch {
		case err != nil:
			return err
		case m.Finish != "":
			return &Error{Code: Conflict, Op: op, Message: "it has ended and changes no more"}
		case change.Content != nil && !strings.HasPrefix(*change.Content, m.Content):
			return &Error{Code: Conflict, Op: op,
				Message: "what is kept of it already would be lost"}
		}
		set(&m.Content, change.Content)
		set(&m.Model, change.Model)
		set(&m.Finish, change.Finish)
		set(&m.Run, change.Run)
		if change.Facts != nil {
			m.Facts = change.Facts
		}
		if err := checkMessage(op, &m); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx,
			"UPDATE chat_messages SET ("+messageColumns+") = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?",
			append(messageFields(&m), id)...)
		return err
	})
	return m, cs.wrapMessage("change", chat, id, err)
}

// set sets a value, unless the new one is nil.
func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}
