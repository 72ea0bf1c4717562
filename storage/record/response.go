package record

import (
	"encoding/json"
	"time"
)

// A Response is an answer that its program may ask for again, or continue.
type Response struct {
	ID       string
	Owner    string          // name of the key of the request; empty = none
	Run      int64           // that generated it; the response is deleted with it
	Previous string          // id of the response that it continues; empty = none
	Input    json.RawMessage // input of the request, without that of Previous
	Output   json.RawMessage // the output of the model
	// the rest of the body: tools and instructions, which each response of a conversation repeats
	Response  json.RawMessage
	CreatedAt time.Time
	UsedAt    time.Time // when this response, or the last one that continues it, was stored
}

// A Thought is what a model thought before an answer. It is sealed with a key that is made of the
// conversation.
type Thought struct {
	Owner   int64  // id of the key of the request; 0 = none
	Model   string // that thought it
	History string // hash of the conversation up to the answer, with it
	Run     int64  // that generated it; the thought is deleted with it
	Tokens  int    // of the thought
	Sealed  []byte // only who knows the conversation can open it
}
