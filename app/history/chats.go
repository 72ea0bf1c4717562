package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/pool"
	"tandem/storage"
)

// Chats keeps the window's own chats and its presets. It implements server.Chats, and is safe for use
// by several goroutines.
type Chats struct {
	db   *storage.DB
	home *home.Home
	pool *pool.Pool

	presets sync.Mutex // held while they change
}

// NewChats returns the chats in a database.
func NewChats(db *storage.DB, dir *home.Home, pool *pool.Pool) *Chats {
	return &Chats{db: db, home: dir, pool: pool}
}

// Writes here do not end with their client: a window sends the last words of an answer as it
// closes.

// settingChats names the setting that says whether chats are kept; they are
// unless it is keepNone.
const (
	settingChats = "chats"
	keepNone     = "none"
)

// keepsChats reports whether chats are kept.
func (cs *Chats) keepsChats(ctx context.Context) (bool, error) {
	v, err := cs.db.Setting(ctx, settingChats)
	return v != keepNone, err
}

// KeepChats sets whether new chats are kept.
func (cs *Chats) KeepChats(ctx context.Context, keep bool) error {
	value := "all"
	if !keep {
		value = keepNone
	}
	return cs.db.SetSetting(context.WithoutCancel(ctx), settingChats, value)
}

// Chats returns a page of chats, and whether chats are kept.
func (cs *Chats) Chats(ctx context.Context, q control.ChatQuery) (control.ChatList, error) {
	var list control.ChatList
	keep, err := cs.keepsChats(ctx)
	if err != nil {
		return list, err
	}
	list.Keep = keep
	if list.Chats, list.Next, err = cs.db.Chats.List(ctx, q); err != nil {
		return list, chatError(err)
	}
	for _, c := range list.Chats {
		if q.Search == "" {
			break
		}
		words, err := cs.db.Chats.Words(ctx, c.ID, q.Search)
		if err != nil {
			return list, err
		}
		list.Words = append(list.Words, words)
	}
	list.Count, list.Bytes, err = cs.db.Chats.Size(ctx)
	return list, err
}

// Chat returns a chat with its messages.
func (cs *Chats) Chat(ctx context.Context, id int64) (control.WholeChat, error) {
	c, err := cs.db.Chats.Get(ctx, id)
	if err != nil {
		return control.WholeChat{}, chatError(err)
	}
	messages, err := cs.db.Chats.Messages(ctx, id)
	return control.WholeChat{Chat: c, Messages: messages}, err
}

// AddChat stores a chat. Error: CodeNotKept if chats are not kept.
func (cs *Chats) AddChat(ctx context.Context, c control.Chat) (control.Chat, error) {
	keep, err := cs.keepsChats(context.WithoutCancel(ctx))
	if err != nil {
		return c, err
	}
	if !keep {
		return c, control.Errorf(control.CodeNotKept,
			"Chats are not kept. Settings, History has the switch.")
	}
	c, err = cs.db.Chats.Add(context.WithoutCancel(ctx), c)
	return c, chatError(err)
}

// ChangeChat changes a chat.
func (cs *Chats) ChangeChat(ctx context.Context, u control.ChatUpdate) (control.Chat, error) {
	c, err := cs.db.Chats.Update(context.WithoutCancel(ctx), u.ID, u.ChatChange)
	return c, chatError(err)
}

// AddMessage adds a message to a chat, even if new chats are no longer kept.
func (cs *Chats) AddMessage(ctx context.Context, m control.Message) (control.Message, error) {
	m, err := cs.db.Chats.AddMessage(context.WithoutCancel(ctx), m)
	return m, chatError(err)
}

// ChangeMessage changes a message that is still being generated.
func (cs *Chats) ChangeMessage(ctx context.Context,
	u control.MessageUpdate) (control.Message, error) {
	m, err := cs.db.Chats.UpdateMessage(context.WithoutCancel(ctx), u.Chat, u.ID, u.MessageChange)
	return m, chatError(err)
}

// chatError returns an error of the database as a client is told of it.
func chatError(err error) error {
	e, ok := errors.AsType[*storage.Error](err)
	if !ok {
		return err
	}
	if e.Code == storage.ReadOnly {
		return readOnlyError(err)
	}
	code := map[storage.Code]control.Code{storage.NotFound: control.CodeNoChat,
		storage.Invalid: control.CodeInvalid, storage.Conflict: control.CodeInvalid}[e.Code]
	if code == "" {
		return err
	}
	message := fmt.Sprintf("It cannot %s: %s.", e.Op, e.Message)
	if e.Code == storage.NotFound {
		message = strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
	}
	return &control.Error{Code: code, Message: message, Err: err}
}
