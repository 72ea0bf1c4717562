package control

import (
	"encoding/json"
)

// ChatRequest is the body of POST /app/chats: a chat to begin.
type ChatRequest struct {
	Kind    string          `json:"kind,omitempty" either:"chat,code"` // empty = chat
	Title   string          `json:"title"`
	System  string          `json:"system"`
	Options json.RawMessage `json:"options"`
}

// MessageRequest is the body of POST /app/chats/{id}/messages: a message to append.
type MessageRequest struct {
	Parent  int64           `json:"parent"`
	Role    string          `json:"role" either:"user,assistant"`
	Content string          `json:"content"`
	Model   string          `json:"model"`
	Finish  string          `json:"finish"`
	Run     int64           `json:"run"`
	Facts   json.RawMessage `json:"facts"`
}

// A NewMessage is a message for a chat.
type NewMessage struct {
	Chat int64 `json:"-"`
	MessageRequest
}

func (m *NewMessage) params(p *params) { chatID(&m.Chat, p) }

// WholeChat is the answer of GET /app/chats/{id}.
type WholeChat struct {
	Chat     Chat      `json:"chat"`
	Messages []Message `json:"messages"` // oldest first
}

func chatQuery(q *ChatQuery, p *params) {
	p.query("search", &q.Search)
	queryNumber(p, "limit", &q.Limit, 200)
	queryNumber(p, "before", &q.Before, 1<<62)
}

// ChatList is the answer of GET /app/chats.
type ChatList struct {
	Chats []Chat `json:"chats"` // the last written to first; the first page begins with all pinned ones

	// Words are those around what was searched for, in the last message of each chat that has it.
	// They are empty for a chat where only the title or the system prompt has it.
	Words []string `json:"words,omitempty"`

	Next  int64 `json:"next"`  // Before of the next page; 0 at the end
	Keep  bool  `json:"keep"`  // chats are kept
	Count int   `json:"count"` // of all chats, whatever was searched for
	Bytes int64 `json:"bytes"` // of all their messages
}

// A ChatUpdate is a change of one chat.
type ChatUpdate struct {
	ID int64 `json:"-"`
	ChatChange
}

func (u *ChatUpdate) params(p *params) { chatID(&u.ID, p) }

// A MessageID names a message of a chat.
type MessageID struct {
	Chat int64 `json:"-"`
	ID   int64 `json:"-"`
}

func (m *MessageID) params(p *params) {
	chatID(&m.Chat, p)
	p.pathID("message", &m.ID, 1, CodeNoChat, "There is no message %q.")
}

// A MessageUpdate is a change of one message.
type MessageUpdate struct {
	MessageID
	MessageChange
}

func (u *MessageUpdate) params(p *params) { u.MessageID.params(p) }

// KeepChats is the body of POST /app/chats/keep, and its answer.
type KeepChats struct {
	Keep bool `json:"keep" need:"say true or false"`
}

// DeletedChats is the answer of DELETE /app/chats and /app/chats/{id}: what was deleted. GET
// /app/chats/deletion and /app/chats/{id}/deletion answer the same: what would be deleted. They
// delete nothing. The routes of a message, /app/chats/{id}/messages/{message}, answer it too. Their
// Chats is 0: the message goes with all that follow it.
type DeletedChats struct {
	Chats int `json:"chats"`

	// Checkpoints counts the checkpoints of these chats that nothing else goes on from. Those with
	// a name or a pin stay and do not count.
	Checkpoints int   `json:"checkpoints"`
	Bytes       int64 `json:"bytes"` // of their files
}
