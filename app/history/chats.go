package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tandem/app/control"
	"tandem/storage"
)

// Writes here do not end with their client: a window sends the last words of an answer as it
// closes.

// settingChats names the setting that says whether chats are kept; they are
// unless it is keepNone.
const (
	settingChats = "chats"
	keepNone     = "none"
)

// keepsChats reports whether chats are kept.
func (h *History) keepsChats(ctx context.Context) (bool, error) {
	v, err := h.db.Setting(ctx, settingChats)
	if storage.IsNotFound(err) {
		return true, nil
	}
	return v != keepNone, err
}

// KeepChats sets whether new chats are kept. It implements server.Chats.
func (h *History) KeepChats(ctx context.Context, keep bool) error {
	value := "all"
	if !keep {
		value = keepNone
	}
	return h.db.SetSetting(context.WithoutCancel(ctx), settingChats, value)
}

// Chats returns a page of chats, and whether chats are kept. It implements server.Chats.
func (h *History) Chats(ctx context.Context, q control.ChatQuery) (control.ChatList, error) {
	var list control.ChatList
	keep, err := h.keepsChats(ctx)
	if err != nil {
		return list, err
	}
	rows, next, err := h.db.Chats.List(ctx, storage.ChatFilter{Search: q.Search, Before: q.Before,
		Limit: q.Limit})
	if err != nil {
		return list, chatError(err)
	}
	list = control.ChatList{Next: next, Keep: keep}
	for _, c := range rows {
		list.Chats = append(list.Chats, control.Chat(c))
		if q.Search == "" {
			continue
		}
		words, err := h.db.Chats.Words(ctx, c.ID, q.Search)
		if err != nil {
			return list, err
		}
		list.Words = append(list.Words, words)
	}
	list.Count, list.Bytes, err = h.db.Chats.Size(ctx)
	return list, err
}

// Chat returns a chat with its messages. It implements server.Chats.
func (h *History) Chat(ctx context.Context, id int64) (control.WholeChat, error) {
	var whole control.WholeChat
	c, err := h.db.Chats.Get(ctx, id)
	if err != nil {
		return whole, chatError(err)
	}
	rows, err := h.db.Chats.Messages(ctx, id)
	whole.Chat = control.Chat(c)
	for _, m := range rows {
		whole.Messages = append(whole.Messages, control.Message(m))
	}
	return whole, err
}

// AddChat stores a chat. Error: CodeNotKept if chats are not kept. It implements server.Chats.
func (h *History) AddChat(ctx context.Context, c control.Chat) (control.Chat, error) {
	keep, err := h.keepsChats(context.WithoutCancel(ctx))
	if err != nil {
		return c, err
	}
	if !keep {
		return c, control.Errorf(control.CodeNotKept,
			"Chats are not kept. Settings, History has the switch.")
	}
	row, err := h.db.Chats.Add(context.WithoutCancel(ctx), storage.Chat(c))
	return control.Chat(row), chatError(err)
}

// ChangeChat implements server.Chats.
func (h *History) ChangeChat(ctx context.Context, id int64,
	change control.ChatChange) (control.Chat, error) {
	row, err := h.db.Chats.Update(context.WithoutCancel(ctx), id, storage.ChatChange(change))
	return control.Chat(row), chatError(err)
}

// AddMessage adds a message to a chat, even if new chats are no longer kept. It implements
// server.Chats.
func (h *History) AddMessage(ctx context.Context, m control.Message) (control.Message, error) {
	row, err := h.db.Chats.AddMessage(context.WithoutCancel(ctx), storage.Message(m))
	return control.Message(row), chatError(err)
}

// ChangeMessage implements server.Chats.
func (h *History) ChangeMessage(ctx context.Context, chat, id int64,
	change control.MessageChange) (control.Message, error) {
	row, err := h.db.Chats.UpdateMessage(context.WithoutCancel(ctx), chat, id,
		storage.MessageChange(change))
	return control.Message(row), chatError(err)
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
