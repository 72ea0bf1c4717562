package control

import (
	"encoding/json"
	"time"
)

// A Chat is a conversation of the window, field for field that of package storage. Its messages are
// a tree: a message that is edited, or answered again, gets a sibling.
type Chat struct {
	ID        int64           `json:"id"`
	Kind      string          `json:"kind"`    // chat or code
	Title     string          `json:"title"`   // given by a person, or made from the first message
	System    string          `json:"system"`  // what the model is told first
	Options   json.RawMessage `json:"options"` // an object of the page's, how to sample; null = none
	Leaf      int64           `json:"leaf"`    // the last message of the branch that is shown; 0 while there is none
	Used      int64           `json:"used"`    // counts up with each write: the greater, the later
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	Pinned    bool            `json:"pinned"` // it stands before all others
}

// ChatRequest is the body of POST /app/chats: a chat to begin.
type ChatRequest struct {
	Kind    string          `json:"kind,omitempty" either:"chat,code"` // empty = chat
	Title   string          `json:"title"`
	System  string          `json:"system"`
	Options json.RawMessage `json:"options"`
}

// A Message is one of a chat, field for field that of package storage.
type Message struct {
	ID        int64           `json:"id"`
	Chat      int64           `json:"chat"`
	Parent    int64           `json:"parent"` // the message before it; 0 = it begins the chat
	Role      string          `json:"role"`   // user or assistant
	Content   string          `json:"content"`
	Model     string          `json:"model"`  // the model that answered
	Finish    string          `json:"finish"` // why it ended; empty while it grows, or if its end was not seen
	Run       int64           `json:"run"`    // the run that generated it; 0 = unknown, or a person wrote it
	Facts     json.RawMessage `json:"facts"`  // an object of the page's, timings and what was drafted; null = none
	CreatedAt time.Time       `json:"created_at"`
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

// ChatQuery narrows GET /app/chats. The zero value means the latest 50.
type ChatQuery struct {
	Search string // in titles, system prompts and messages
	Before int64  // only chats with a smaller Used
	Limit  int    // at most 200; 0 = 50
}

func (q *ChatQuery) params(p *params) {
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

// ChatChange is the body of POST /app/chats/{id}. A nil field stays.
type ChatChange struct {
	Title   *string         `json:"title,omitempty"` // empty = of the first message
	System  *string         `json:"system,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
	Leaf    *int64          `json:"leaf,omitempty"`
	Pinned  *bool           `json:"pinned,omitempty"`
}

// A ChatUpdate is a change of one chat.
type ChatUpdate struct {
	ID int64 `json:"-"`
	ChatChange
}

func (u *ChatUpdate) params(p *params) { chatID(&u.ID, p) }

// MessageChange is the body of POST /app/chats/{id}/messages/{message}. A nil field stays.
type MessageChange struct {
	Content *string         `json:"content,omitempty"` // begins with what it was
	Model   *string         `json:"model,omitempty"`
	Finish  *string         `json:"finish,omitempty"`
	Run     *int64          `json:"run,omitempty"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}

// A MessageID names a message of a chat.
type MessageID struct {
	Chat int64 `json:"-"`
	ID   int64 `json:"-"`
}

func (m *MessageID) params(p *params) {
	chatID(&m.Chat, p)
	p.pathID("message", &m.ID, anyID, CodeNoChat, "There is no message %q.")
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
