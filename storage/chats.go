package storage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Chats is the window's chats and their messages.
type Chats struct{ db *DB }

// The kinds of a chat.
const (
	ChatTalk = "chat"
	ChatCode = "code" // messages are code, and its continuations by the model
)

// The roles of a message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Limits of chats. They are low because chats are read whole.
const (
	MaxChats        = 10_000
	MaxChatMessages = 2000
	// of all messages of a chat, checked when one is added; a growing answer may pass it
	MaxChatBytes    = 16 << 20
	MaxMessageBytes = 1 << 20
	MaxFactsBytes   = 256 << 10 // of a message's facts, or a chat's options
	MaxSystemBytes  = 64 << 10
	MaxTitleRunes   = 100
	MaxSearchBytes  = 1000
)

const (
	DefaultChatsLimit = 50
	MaxChatsLimit     = 200
)

const chatColumns = "id, kind, title, system, options, leaf, used, created_at, updated_at, pinned"

// chatFields are the columns in the order of chatColumns, for reading and writing.
func chatFields(c *Chat) []any {
	return []any{&c.ID, &c.Kind, &c.Title, &c.System, (*text)(&c.Options), &c.Leaf, &c.Used,
		(*stamp)(&c.CreatedAt), (*stamp)(&c.UpdatedAt), &c.Pinned}
}

// Add begins a chat with the kind, title, system prompt and options of c, and returns its row.
// Error: [Invalid] beyond the limits.
func (cs Chats) Add(ctx context.Context, c Chat) (Chat, error) {
	const op = "begin a chat"
	if err := checkChat(op, &c); err != nil {
		return Chat{}, err
	}
	c.Leaf, c.Pinned, c.CreatedAt = 0, false, cs.db.clock()
	c.UpdatedAt = c.CreatedAt
	err := cs.db.update(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx,
			"SELECT count(*), coalesce(max(used), 0) + 1 FROM chats").Scan(&n,
			&c.Used); err != nil {
			return err
		}
		if n >= MaxChats {
			return invalid(op, "there are %d chats, and no more are kept: delete some", n)
		}
		res, err := tx.ExecContext(ctx,
			"INSERT INTO chats ("+chatColumns+") VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			chatFields(&c)[1:]...)
		if err != nil {
			return err
		}
		c.ID, err = res.LastInsertId()
		return err
	})
	return c, cs.db.wrap(op, err)
}

// checkChat refuses a chat beyond the limits, and cleans its title.
func checkChat(op string, c *Chat) error {
	c.Title = titleOf(c.Title)
	switch {
	case len(c.System) > MaxSystemBytes:
		return invalid(op, "the system prompt is longer than %d KiB", MaxSystemBytes>>10)
	case len(c.Options) > MaxFactsBytes:
		return invalid(op, "the options are longer than %d KiB", MaxFactsBytes>>10)
	}
	return nil
}

// titleFor makes the title of a chat from a message. For code it takes the last line, which says
// more than a package clause.
func titleFor(kind, content string) string {
	if kind != ChatCode {
		return titleOf(content)
	}
	lines := slices.Collect(strings.Lines(content))
	slices.Reverse(lines)
	return titleOf(strings.Join(lines, "\n"))
}

// titleOf makes a title of a text: its first line that is not blank, cut to MaxTitleRunes.
func titleOf(s string) string {
	for line := range strings.Lines(s) {
		line = strings.Join(strings.FieldsFunc(line,
			func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > MaxTitleRunes {
			line = string([]rune(line)[:MaxTitleRunes-1]) + "…"
		}
		return line
	}
	return ""
}

// Get returns the chat with this id. Error: [NotFound].
func (cs Chats) Get(ctx context.Context, id int64) (Chat, error) {
	var c Chat
	err := cs.db.r.QueryRowContext(ctx, "SELECT "+chatColumns+" FROM chats WHERE id = ?",
		id).Scan(chatFields(&c)...)
	return c, cs.wrap("find", id, err)
}

func (cs Chats) wrap(verb string, id int64, err error) error {
	return cs.db.wrapRow(fmt.Sprintf("%s chat %d", verb, id), "there is no such chat", err)
}

// List returns the selected chats, the last written to first, and the cursor to pass as Before for
// the next page, 0 at the end. The first page begins with all pinned chats, beyond its limit. A search
// reads all messages: for ten megabytes it takes about 10 ms. Error: [Invalid] for a negative limit
// or cursor, or a search longer than MaxSearchBytes.
func (cs Chats) List(ctx context.Context, f ChatQuery) (list []Chat, next int64, err error) {
	const op = "list chats"
	if f.Limit < 0 || f.Before < 0 {
		return nil, 0, invalid(op, "limit and cursor may not be negative")
	}
	if len(f.Search) > MaxSearchBytes {
		return nil, 0, invalid(op, "the text to search for is longer than %d bytes", MaxSearchBytes)
	}
	limit := min(cmp.Or(f.Limit, DefaultChatsLimit), MaxChatsLimit)
	where, args := []string{"1"}, []any{}
	if f.Search != "" {
		like := having(f.Search)
		where = append(where, `(title LIKE ? ESCAPE '\' OR system LIKE ? ESCAPE '\' OR
			EXISTS (SELECT 1 FROM chat_messages m WHERE m.chat = chats.id AND m.content LIKE ? ESCAPE '\'))`)
		args = append(args, like, like, like)
	}
	var pinned []Chat
	if f.Before == 0 {
		pinned, err = cs.query(ctx, append(where, "pinned"), append(args, MaxChats))
	} else {
		where, args = append(where, "used < ?"), append(args, f.Before)
	}
	if err == nil {
		// The query asks for one row more, to know whether there is a next page.
		list, err = cs.query(ctx, append(where, "NOT pinned"), append(args, limit+1))
	}
	if err != nil {
		return nil, 0, cs.db.wrap(op, err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Used
	}
	return append(pinned, list...), next, nil
}

// query returns the chats for which all conditions hold, the last written to first. The last
// argument is the most rows.
func (cs Chats) query(ctx context.Context, where []string, args []any) ([]Chat, error) {
	return query(ctx, cs.db.r, chatFields, "SELECT "+chatColumns+" FROM chats WHERE "+
		strings.Join(where, " AND ")+" ORDER BY used DESC LIMIT ?", args...)
}

// having returns the LIKE pattern of texts that have a search in them.
func having(search string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(search) + "%"
}

// The characters that Words returns before a match, and in all.
const (
	wordsBefore = 40
	wordsInAll  = 160
)

// Words returns the words around a search in the last message of a chat that has it, without
// regard to the case of ASCII letters. It returns "" if no message has it.
func (cs Chats) Words(ctx context.Context, chat int64, search string) (words string, err error) {
	err = cs.db.r.QueryRowContext(ctx, `SELECT substr(content, max(1, instr(lower(content), lower(?)) - ?), ?)
		FROM chat_messages WHERE chat = ? AND content LIKE ? ESCAPE '\' ORDER BY id DESC LIMIT 1`,
		search, wordsBefore, wordsInAll, chat, having(search)).Scan(&words)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return words, cs.db.wrap("find words in a chat", err)
}

// Size returns the number of chats and the bytes of their messages.
func (cs Chats) Size(ctx context.Context) (chats int, bytes int64, err error) {
	err = cs.db.r.QueryRowContext(ctx,
		`SELECT (SELECT count(*) FROM chats), (SELECT coalesce(sum(octet_length(content)), 0) FROM chat_messages)`).Scan(&chats,
		&bytes)
	return chats, bytes, cs.db.wrap("measure chats", err)
}

// Update changes a chat and returns it. Errors: [NotFound]; [Invalid] beyond the limits, or for
// a leaf that is not a message of the chat.
func (cs Chats) Update(ctx context.Context, id int64, change ChatChange) (Chat, error) {
	op := fmt.Sprintf("change chat %d", id)
	var c Chat
	err := cs.db.update(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "SELECT "+chatColumns+" FROM chats WHERE id = ?",
			id).Scan(chatFields(&c)...); err != nil {
			return err
		}
		set(&c.System, change.System)
		set(&c.Pinned, change.Pinned)
		set(&c.Leaf, change.Leaf)
		if change.Options != nil {
			c.Options = change.Options
		}
		if change.Leaf != nil {
			if err := checkParent(ctx, tx, op, id, c.Leaf); err != nil {
				return err
			}
		}
		if change.Title != nil {
			if c.Title = titleOf(*change.Title); c.Title == "" {
				var first string
				err := tx.QueryRowContext(ctx,
					"SELECT content FROM chat_messages WHERE chat = ? ORDER BY id LIMIT 1",
					id).Scan(&first)
				if err != nil && !errors.Is(err, sql.ErrNoRows) {
					return err
				}
				c.Title = titleFor(c.Kind, first)
			}
		}
		if err := checkChat(op, &c); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx,
			"UPDATE chats SET ("+chatColumns+") = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?",
			append(chatFields(&c), id)...)
		return err
	})
	return c, cs.wrap("change", id, err)
}
