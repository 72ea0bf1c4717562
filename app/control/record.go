package control

import (
	"errors"

	"tandem/storage/record"
)

// What clients get as it is stored.
type (
	Run            = record.Run            // a row of the history, the answer of GET /app/runs/{id}
	RunQuery       = record.RunQuery       // narrows GET /app/runs
	RunValues      = record.RunValues      // the answer of GET /app/runs/values
	RunText        = record.RunText        // not sent
	SeenClient     = record.SeenClient     // who asked, as it calls itself
	Usage          = record.Usage          // what the runs of one model, client or day left
	Model          = record.Model          // a row of the registry
	Chat           = record.Chat           // see WholeChat
	ChatQuery      = record.ChatQuery      // narrows GET /app/chats
	ChatChange     = record.ChatChange     // the body of POST /app/chats/{id}
	Message        = record.Message        // of a chat
	MessageChange  = record.MessageChange  // the body of POST /app/chats/{id}/messages/{message}
	CheckpointFile = record.CheckpointFile // see Checkpoint

	CheckpointQuery = record.CheckpointQuery // narrows GET /app/checkpoints

	KeptResponse = record.Response // a stored response of /v1/responses, with the input that it answers
	KeptThought  = record.Thought  // what a model thought before an earlier answer
)

// ErrNoResponse is returned for a response that is not kept, or not for this owner.
var ErrNoResponse = errors.New("there is no such response")
