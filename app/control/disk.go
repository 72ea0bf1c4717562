package control

import (
	"time"
)

// Removal is the answer of GET /app/removal: what removing a model or a drafter would do. DELETE
// /app/models/{id} answers the same: what it did.
type Removal struct {
	ID       string `json:"id"`
	Deletes  bool   `json:"deletes"`             // its files are deleted, because Tandem downloaded them; otherwise they stay
	Bytes    int64  `json:"bytes"`               // what this frees on disk: files that no other model has
	InMemory bool   `json:"in_memory,omitempty"` // it leaves the memory first
}

// Storage is the answer of GET /app/storage: what Tandem takes of the disk, by model, client and
// day. Files of other programs are not counted.
type Storage struct {
	Home string `json:"home"` // the folder of everything but models
	Free int64  `json:"free"` // bytes, on the disk of that folder

	Models          []StoredModel `json:"models"`
	Checkpoints     int           `json:"checkpoints"`
	CheckpointBytes int64         `json:"checkpoint_bytes"`
	PinnedBytes     int64         `json:"pinned_bytes"`  // the pinned ones among these
	WrittenToday    int64         `json:"written_today"` // of checkpoints begun on this day of this machine's clock, with those evicted since; forgotten ones do not count
	MostADay        int64         `json:"most_a_day"`    // bytes of checkpoints written in 24 hours at most
	Runs            int           `json:"runs"`
	HistoryBytes    int64         `json:"history_bytes"` // of the database: runs, chats and all else

	Texts []RememberedTexts `json:"texts"` // the memory of texts, by client

	ByModel  []Usage `json:"by_model"`  // the one with the most bytes first
	ByClient []Usage `json:"by_client"` // the one with the most bytes first
	ByDay    []Usage `json:"by_day"`    // of this machine's clock, the latest first
}

// RememberedTexts is what is remembered of one client's prompts and answers, as token ids, to guess
// how similar ones go on. DELETE /app/texts/{key_id}, or /app/texts/none, removes all of it, POST
// /app/forget what is of a scope.
type RememberedTexts struct {
	KeyID  int64  `json:"key_id"` // the client's; 0 for all clients without a key
	Key    string `json:"key"`    // its name
	Texts  int    `json:"texts"`  // prompts with their answers
	Tokens int    `json:"tokens"` // about a million at most for each tokenizer, the newest ones
	Bytes  int64  `json:"bytes"`  // of the files

	UsedAt time.Time `json:"used_at,omitzero"` // when the last of the requests came that left them
}

// WelcomeRequest is the body of POST /app/welcome.
type WelcomeRequest struct {
	Done bool `json:"done" need:"say true or false"` // a person has gone through the first steps, or skipped them; false shows them again
}

// StoredModel is a model, or a drafter, on the disk.
type StoredModel struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`             // what removing it would free, if it is Ours; otherwise its weights
	Ours    bool   `json:"ours"`              // Tandem downloaded it
	Drafter bool   `json:"drafter,omitempty"` // it only drafts for another model
}
