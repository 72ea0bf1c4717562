package roomtest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"tandem/app/control"
)

// chats keeps chats in memory. Ids count from 1, and ids of messages count across all chats.
// The zero value keeps chats.
type chats struct {
	mu       sync.Mutex
	none     bool
	ChatRows []control.Chat // the last one written comes last
	ids      int64
	Messages []control.Message
	presets  []control.Preset
}

// find returns the index of a chat. The caller holds mu.
func (f *chats) find(id int64) (int, error) {
	i := slices.IndexFunc(f.ChatRows, func(c control.Chat) bool { return c.ID == id })
	if i < 0 {
		return 0, control.Errorf(control.CodeNoChat, "There is no chat %d.", id)
	}
	return i, nil
}

func (f *chats) Chats(_ context.Context, q control.ChatQuery) (list control.ChatList,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list.Keep, list.Count = !f.none, len(f.ChatRows)
	for _, c := range slices.Backward(f.ChatRows) {
		if strings.Contains(c.Title, q.Search) && (q.Before == 0 || c.Used < q.Before) &&
			(q.Limit == 0 || len(list.Chats) < q.Limit) {
			list.Chats = append(list.Chats, c)
		}
	}
	return list, nil
}

func (f *chats) Chat(_ context.Context, id int64) (whole control.WholeChat, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.find(id)
	if err != nil {
		return whole, err
	}
	whole.Chat = f.ChatRows[i]
	for _, m := range f.Messages {
		if m.Chat == id {
			whole.Messages = append(whole.Messages, m)
		}
	}
	return whole, nil
}

func (f *chats) AddChat(_ context.Context, c control.Chat) (control.Chat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.none {
		return c, control.Errorf(control.CodeNotKept, "Chats are not kept.")
	}
	f.ids++
	c.ID, c.Used = f.ids, f.ids
	f.ChatRows = append(f.ChatRows, c)
	return c, nil
}

func (f *chats) ChangeChat(_ context.Context, change control.ChatUpdate) (control.Chat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.find(change.ID)
	if err != nil {
		return control.Chat{}, err
	}
	c := &f.ChatRows[i]
	if change.Title != nil {
		c.Title = *change.Title
	}
	if change.System != nil {
		c.System = *change.System
	}
	if change.Options != nil {
		c.Options = change.Options
	}
	if change.Leaf != nil {
		c.Leaf = *change.Leaf
	}
	if change.Pinned != nil {
		c.Pinned = *change.Pinned
	}
	return *c, nil
}

func (f *chats) AddMessage(_ context.Context, m control.Message) (control.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.find(m.Chat)
	if err != nil {
		return m, err
	}
	m.ID = int64(len(f.Messages) + 1)
	f.Messages = append(f.Messages, m)
	f.ChatRows[i].Leaf = m.ID
	return m, nil
}

func (f *chats) ChangeMessage(_ context.Context,
	change control.MessageUpdate) (m control.Message, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.findMessage(change.MessageID)
	if err != nil {
		return m, err
	}
	old := &f.Messages[i]
	if old.Finish != "" || change.Content != nil &&
		!strings.HasPrefix(*change.Content, old.Content) {
		return m, control.Errorf(control.CodeInvalid, "It has ended.")
	}
	for to, from := range map[*string]*string{&old.Content: change.Content,
		&old.Finish: change.Finish, &old.Model: change.Model} {
		if from != nil {
			*to = *from
		}
	}
	if change.Run != nil {
		old.Run = *change.Run
	}
	if change.Facts != nil {
		old.Facts = change.Facts
	}
	return *old, nil
}

// WouldDeleteChats counts a checkpoint of 100 bytes for each chat.
func (f *chats) WouldDeleteChats(_ context.Context, id int64) (gone control.DeletedChats,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.ChatRows)
	if id != 0 {
		n = 1
		_, err = f.find(id)
	}
	return control.DeletedChats{Chats: n, Checkpoints: n, Bytes: 100 * int64(n)}, err
}

func (f *chats) DeleteChats(ctx context.Context, id int64) (control.DeletedChats, error) {
	gone, err := f.WouldDeleteChats(ctx, id)
	if err != nil {
		return control.DeletedChats{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ChatRows = slices.DeleteFunc(f.ChatRows, func(c control.Chat) bool { return id == 0 || c.ID == id })
	return gone, nil
}

func (f *chats) findMessage(of control.MessageID) (int, error) {
	i := slices.IndexFunc(f.Messages, func(m control.Message) bool {
		return m.ID == of.ID && m.Chat == of.Chat
	})
	if i < 0 {
		return 0, control.Errorf(control.CodeNoChat, "Chat %d has no message %d.", of.Chat, of.ID)
	}
	return i, nil
}

// WouldDeleteMessage counts a checkpoint of 100 bytes.
func (f *chats) WouldDeleteMessage(_ context.Context,
	of control.MessageID) (control.DeletedChats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.findMessage(of)
	return control.DeletedChats{Checkpoints: 1, Bytes: 100}, err
}

// DeleteMessage deletes one message alone.
func (f *chats) DeleteMessage(_ context.Context,
	of control.MessageID) (control.DeletedChats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := f.findMessage(of)
	if err != nil {
		return control.DeletedChats{}, err
	}
	f.Messages = slices.Delete(f.Messages, i, i+1)
	return control.DeletedChats{Checkpoints: 1, Bytes: 100}, nil
}

func (f *chats) Presets(context.Context) (control.Presets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return control.Presets{Presets: f.presets}, nil
}

func (f *chats) SetPreset(_ context.Context, p control.Preset) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.presets = append(f.presets, p)
	return nil
}

func (f *chats) DeletePreset(_ context.Context, name string) (control.Presets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.presets)
	f.presets = slices.DeleteFunc(f.presets,
		func(p control.Preset) bool { return p.Name == name })
	if len(f.presets) == before {
		return control.Presets{}, control.Errorf(control.CodeInvalid, "There is no such preset.")
	}
	return control.Presets{Presets: f.presets}, nil
}

func (f *chats) KeepChats(_ context.Context, keep bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.none = !keep
	return nil
}
