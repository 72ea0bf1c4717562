package record

import (
	"encoding/json"
	"time"
)

// A Chat is a conversation of the window. Its messages are a tree: a message that is edited, or
// answered again, gets a sibling.
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
	Pinned    bool            `json:"pinned"` // it comes before all others
}

// ChatChange changes a chat. A nil field stays.
type ChatChange struct {
	Title   *string         `json:"title,omitempty"` // empty = of the first message
	System  *string         `json:"system,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
	Leaf    *int64          `json:"leaf,omitempty"`
	Pinned  *bool           `json:"pinned,omitempty"`
}

// ChatQuery selects chats. The zero value means the latest 50.
type ChatQuery struct {
	Search string // in titles, system prompts and messages, without regard to the case of ASCII letters
	Before int64  // only chats that are not pinned and have a smaller Used; 0 = the first page
	Limit  int    // at most 200; 0 = 50
}

// A Message is a message of a chat.
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

// MessageChange changes an answer that is still being generated. A nil field stays.
type MessageChange struct {
	Content *string         `json:"content,omitempty"` // begins with what it was
	Model   *string         `json:"model,omitempty"`
	Finish  *string         `json:"finish,omitempty"`
	Run     *int64          `json:"run,omitempty"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}
